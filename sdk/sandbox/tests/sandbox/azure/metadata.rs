//! Tokens of managed identities.

use gatepass_sandbox::MetadataPhase;

use super::{DIRECTORY, MACHINE, claims, text};
use crate::world::{Reply, World};

const GOOD: &str = "api-version=2018-02-01&resource=https://management.azure.com/";
const RESOURCE: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo";

async fn send(world: &World, method: &str, query: &str, headers: &[(&str, &str)]) -> Reply {
    let base = world.sandbox.azure().metadata_url();
    let request = http::Request::builder()
        .method(method)
        .uri(format!("{base}/metadata/identity/oauth2/token?{query}"));
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    world.send(request.body(String::new()).unwrap()).await
}

async fn get(world: &World, query: &str) -> Reply {
    send(world, "GET", query, &[("metadata", "true")]).await
}

#[track_caller]
fn assert_error(reply: &Reply, status: u16, error: &str, description: &str) {
    let body = reply.json();
    assert_eq!(
        (reply.status, &body["error"]),
        (status, &error.into()),
        "{}",
        reply.body
    );
    assert!(
        text(&body, "error_description").contains(description),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn a_machine_gets_a_token_of_its_identity_in_strings() {
    let world = World::demo().await;
    let body = get(&world, GOOD).await.json();
    assert_eq!(
        (&body["token_type"], &body["client_id"], &body["expires_in"]),
        (&"Bearer".into(), &MACHINE.into(), &"86400".into())
    );
    assert_eq!(body["resource"], "https://management.azure.com/");
    let claims = claims(&text(&body, "access_token"));
    assert_eq!(
        (&claims["aud"], &claims["appid"], &claims["tid"]),
        (
            &"https://management.azure.com/".into(),
            &MACHINE.into(),
            &DIRECTORY.into()
        )
    );
    assert_eq!(text(&body, "expires_on"), claims["exp"].to_string());
    assert_eq!(text(&body, "not_before"), claims["nbf"].to_string());
}

#[tokio::test]
async fn a_request_that_could_be_forged_or_is_incomplete_is_refused() {
    let world = World::demo().await;
    let metadata = ("metadata", "true");
    for (method, query, headers, status, error) in [
        ("GET", GOOD, &[] as &[_], 400, "bad_request_102"),
        ("GET", GOOD, &[("metadata", "True")], 400, "bad_request_102"),
        (
            "GET",
            GOOD,
            &[metadata, ("x-forwarded-for", "10.0.0.1")],
            400,
            "invalid_request",
        ),
        ("POST", GOOD, &[metadata], 405, "method_not_allowed"),
        (
            "GET",
            "resource=https://vault.azure.net",
            &[metadata],
            400,
            "invalid_request",
        ),
        (
            "GET",
            "api-version=2018-02-01",
            &[metadata],
            400,
            "invalid_request",
        ),
        (
            "GET",
            "api-version=2017-01-01&resource=https://vault.azure.net",
            &[metadata],
            400,
            "invalid_request",
        ),
        (
            "GET",
            "api-version=latest-one&resource=https://vault.azure.net",
            &[metadata],
            400,
            "invalid_request",
        ),
        (
            "GET",
            "api-version=2018-02-01&resource=https://vault.azure.net/.default",
            &[metadata],
            400,
            "invalid_resource",
        ),
    ] {
        let reply = send(&world, method, query, headers).await;
        assert_error(&reply, status, error, "");
    }
    let elsewhere = format!("{}/metadata/nothing", world.sandbox.azure().metadata_url());
    let request = http::Request::get(elsewhere).header("metadata", "true");
    let reply = world.send(request.body(String::new()).unwrap()).await;
    assert_error(&reply, 404, "not_found", "");
}

#[tokio::test]
async fn an_identity_is_chosen_by_any_of_its_names() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let second = "99999999-9999-9999-9999-999999999999";
    let resource = RESOURCE.replace("/demo/", "/second/");
    let object = azure
        .managed_identity(DIRECTORY, second, Some(&resource))
        .unwrap();
    let reply = get(&world, GOOD).await;
    assert_error(
        &reply,
        400,
        "invalid_request",
        "Multiple user assigned identities exist",
    );
    for (selector, expected) in [
        (format!("client_id={MACHINE}"), MACHINE),
        (format!("client_id={second}"), second),
        (format!("object_id={object}"), second),
        (format!("msi_res_id={RESOURCE}"), MACHINE),
        (format!("mi_res_id={}", resource.to_uppercase()), second),
    ] {
        let reply = get(&world, &format!("{GOOD}&{selector}")).await;
        assert_eq!(
            reply.json()["client_id"],
            expected,
            "{selector}: {}",
            reply.body
        );
    }
    for selector in [
        "client_id=00000000-0000-0000-0000-00000000000a".to_owned(),
        format!("object_id={second}"),
        "msi_res_id=/subscriptions".to_owned(),
    ] {
        let reply = get(&world, &format!("{GOOD}&{selector}")).await;
        assert_error(&reply, 400, "invalid_request", "Identity not found");
    }
    let both = format!("{GOOD}&client_id={second}&object_id={object}");
    assert_error(
        &get(&world, &both).await,
        400,
        "invalid_request",
        "Only one",
    );
    let system = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa";
    azure.managed_identity(DIRECTORY, system, None).unwrap();
    assert_eq!(get(&world, GOOD).await.json()["client_id"], system);
}

#[tokio::test]
async fn a_machine_without_identity_gets_none() {
    let world = World::bare().await;
    let reply = get(&world, GOOD).await;
    assert_error(&reply, 400, "invalid_request", "Identity not found");
}

#[tokio::test]
async fn a_phase_lasts_for_as_many_calls_as_it_is_told() {
    let world = World::demo().await;
    for (phase, status) in [
        (MetadataPhase::Starting, 404),
        (MetadataPhase::Updating, 410),
        (MetadataPhase::Throttled, 429),
    ] {
        world.sandbox.azure().set_metadata_phase(phase, 2);
        for expected in [status, status, 200] {
            assert_eq!(get(&world, GOOD).await.status, expected, "{phase:?}");
        }
    }
}

#[tokio::test]
async fn one_address_serves_the_metadata_of_every_cloud() {
    let world = World::demo().await;
    let address = format!("http://{}", world.sandbox.metadata_address());
    assert_eq!(world.sandbox.azure().metadata_url(), address);
    assert_eq!(world.sandbox.aws().metadata_url(), address);
    let request = http::Request::put(format!("{address}/latest/api/token"))
        .header("x-aws-ec2-metadata-token-ttl-seconds", "60");
    let reply = world.send(request.body(String::new()).unwrap()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(get(&world, GOOD).await.status, 200);
    let request = http::Request::get(format!("{address}/elsewhere"));
    let reply = world.send(request.body(String::new()).unwrap()).await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (404, "404 - Not Found")
    );
}
