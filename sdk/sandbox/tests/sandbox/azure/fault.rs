//! Faults, in the shape of each service of Azure.

use std::time::Duration;

use gatepass_sandbox::Fault;

use super::{TOKEN, assert_entra_error, assertion, exchange};
use crate::world::World;

const MANAGER: &str = "https://management.azure.com/subscriptions?api-version=2022-12-01";
const DOOR: &str = "https://tenanta.azurecr.io/v2/";

async fn get(world: &World, url: &str) -> crate::world::Reply {
    world
        .send(http::Request::get(url).body(String::new()).unwrap())
        .await
}

#[tokio::test]
async fn throttling_has_the_shape_of_the_service() {
    let world = World::demo().await;
    let fault = Fault::Throttle(Duration::from_secs(7));
    world.sandbox.faults().set("*", "", fault);
    let entra = world.form(TOKEN, &exchange("token", "scope")).await;
    assert_entra_error(&entra, 429, "temporarily_unavailable", 90_055);
    let manager = get(&world, MANAGER).await;
    assert_eq!(manager.json()["error"]["code"], "TooManyRequests");
    let registry = get(&world, DOOR).await;
    assert_eq!(registry.json()["errors"][0]["code"], "TOOMANYREQUESTS");
    let url = format!(
        "{}/metadata/identity/oauth2/token",
        world.sandbox.azure().metadata_url()
    );
    let metadata = get(&world, &url).await;
    assert_eq!(metadata.json()["error"], "TooManyRequests");
    for reply in [entra, manager, registry, metadata] {
        assert_eq!((reply.status, reply.header("retry-after")), (429, "7"));
    }
}

#[tokio::test]
async fn an_error_takes_the_services_shape() {
    let world = World::demo().await;
    let faults = world.sandbox.faults();
    let fault = |status, code: &str| Fault::Error {
        status,
        code: code.to_owned(),
        message: "because".to_owned(),
    };
    for (status, error) in [
        (400, "invalid_request"),
        (401, "invalid_client"),
        (500, "server_error"),
        (503, "temporarily_unavailable"),
    ] {
        faults.set(
            "login.microsoftonline.com",
            "",
            fault(status, "AADSTS90033"),
        );
        let reply = world.form(TOKEN, &exchange("token", "scope")).await;
        assert_entra_error(&reply, status, error, 90_033);
    }
    faults.set(
        "login.microsoftonline.com",
        "",
        fault(400, "interaction_required"),
    );
    let reply = world.form(TOKEN, &exchange("token", "scope")).await;
    assert_eq!(reply.json()["error"], "interaction_required");
    faults.set(
        "management.azure.com",
        "",
        fault(500, "InternalServerError"),
    );
    let reply = get(&world, MANAGER).await;
    assert_eq!(
        (reply.status, &reply.json()["error"]["message"]),
        (500, &"because".into())
    );
    faults.set("*.azurecr.io", "/v2/", fault(503, "UNAVAILABLE"));
    let reply = get(&world, DOOR).await;
    assert_eq!(
        (reply.status, &reply.json()["errors"][0]["code"]),
        (503, &"UNAVAILABLE".into())
    );
}

#[tokio::test]
async fn a_fault_ends_after_its_number_of_times() {
    let world = World::demo().await;
    let fault = Fault::Times(1, Box::new(Fault::Body(b"{".to_vec())));
    let path = "/11111111-1111-1111-1111-111111111111/oauth2/";
    world
        .sandbox
        .faults()
        .set("login.microsoftonline.com", path, fault);
    let assertion = assertion(&world).await;
    let fields = exchange(&assertion, super::MANAGEMENT);
    let reply = world.form(TOKEN, &fields).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "{"));
    let reply = world.form(TOKEN, &fields).await;
    assert!(reply.json()["access_token"].is_string());
}
