//! Container registries.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{CLIENT, DIRECTORY, MANAGEMENT, REGISTRY, access_token, claims, text};
use crate::world::{Reply, World, changed};

const HOST: &str = "tenanta.azurecr.io";
const USER: &str = "00000000-0000-0000-0000-000000000000";

fn exchange(token: &str) -> [(&str, &str); 3] {
    [
        ("grant_type", "access_token"),
        ("service", HOST),
        ("access_token", token),
    ]
}

async fn post(world: &World, path: &str, fields: &[(&str, &str)]) -> Reply {
    world.form(&format!("https://{HOST}{path}"), fields).await
}

async fn get(world: &World, path: &str, authorization: Option<&str>) -> Reply {
    let mut request = http::Request::get(format!("https://{HOST}{path}"));
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    world.send(request.body(String::new()).unwrap()).await
}

async fn refresh_token(world: &World) -> String {
    let token = access_token(world, REGISTRY).await;
    let reply = post(
        world,
        "/oauth2/exchange?api-version=2021-07-01",
        &exchange(&token),
    )
    .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    text(&reply.json(), "refresh_token")
}

#[track_caller]
fn assert_registry_error(reply: &Reply, status: u16, code: &str) {
    assert_eq!(
        (reply.status, &reply.json()["errors"][0]["code"]),
        (status, &code.into()),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn an_access_token_becomes_a_registry_password_for_three_hours() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let refresh = refresh_token(&world).await;
    let claims = claims(&refresh);
    assert_eq!(
        (&claims["aud"], &claims["tenant"]),
        (&HOST.into(), &DIRECTORY.into())
    );
    let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    assert_eq!(life, 3 * 3_600);
    let login = azure.verify_registry_login(USER, &refresh).unwrap();
    assert_eq!(
        (login.principal.as_str(), login.registry.as_str()),
        (CLIENT, HOST)
    );
    assert_eq!(azure.verify_registry_login("AWS", &refresh), None);
    assert_eq!(azure.verify_registry_login(USER, "nonsense"), None);
    assert_eq!(
        azure.verify_registry_login(USER, &format!("{refresh}x")),
        None
    );
    let registry = azure.registry_of(HOST).unwrap();
    registry.deny_pull(CLIENT);
    assert_eq!(azure.verify_registry_login(USER, &refresh), None);
    registry.allow_pull(CLIENT);
    world.sandbox.advance(Duration::from_secs(3 * 3_600));
    assert_eq!(azure.verify_registry_login(USER, &refresh), None);
}

#[tokio::test]
async fn a_registry_takes_only_its_own_audience_tenant_and_principals() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let hour = Duration::from_secs(3_600);
    let own = "https://containerregistry.azure.net";
    let good = access_token(&world, REGISTRY).await;
    let manager = access_token(&world, MANAGEMENT).await;
    let ended = azure.access_token(CLIENT, own, Duration::ZERO).unwrap();
    let stranger = azure.access_token(super::OTHER_CLIENT, own, hour).unwrap();
    let elsewhere = "44444444-4444-4444-4444-444444444444";
    let foreigner = "55555555-5555-5555-5555-555555555555";
    azure
        .tenant(gatepass_sandbox::AzureCloud::Public, elsewhere, "e.example")
        .unwrap();
    azure.application(elsewhere, foreigner).unwrap();
    azure.registry_of(HOST).unwrap().allow_pull(foreigner);
    let foreign = azure.access_token(foreigner, own, hour).unwrap();
    for token in [&manager, &ended, &stranger, &foreign, &format!("{good}x")] {
        let reply = post(&world, "/oauth2/exchange", &exchange(token)).await;
        assert_registry_error(&reply, 401, "UNAUTHORIZED");
    }
    let slashed = azure
        .access_token(CLIENT, &format!("{own}/"), hour)
        .unwrap();
    for token in [&good, &slashed] {
        let reply = post(&world, "/oauth2/exchange", &exchange(token)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let registry = azure.registry_of(HOST).unwrap();
    registry.accept_resource_manager_tokens(true);
    let reply = post(&world, "/oauth2/exchange", &exchange(&manager)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn an_exchange_with_wrong_parameters_is_refused() {
    let world = World::demo().await;
    let token = access_token(&world, REGISTRY).await;
    let good = exchange(&token);
    for (change, status, code) in [
        (("grant_type", ""), 400, "BAD_REQUEST"),
        (("grant_type", "refresh_token"), 400, "BAD_REQUEST"),
        (("service", ""), 400, "BAD_REQUEST"),
        (("service", "tenantb.azurecr.io"), 400, "BAD_REQUEST"),
        (("access_token", ""), 401, "UNAUTHORIZED"),
        (
            ("tenant", "44444444-4444-4444-4444-444444444444"),
            401,
            "UNAUTHORIZED",
        ),
    ] {
        let reply = post(&world, "/oauth2/exchange", &changed(&good, &[change])).await;
        assert_registry_error(&reply, status, code);
    }
    let own = changed(&good, &[("tenant", DIRECTORY)]);
    assert_eq!(post(&world, "/oauth2/exchange", &own).await.status, 200);
    assert_registry_error(
        &get(&world, "/oauth2/exchange", None).await,
        404,
        "NOT_FOUND",
    );
    let unknown = world
        .form("https://nobody0.azurecr.io/oauth2/exchange", &good)
        .await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_refresh_token_becomes_an_access_token_that_opens_the_door() {
    let world = World::demo().await;
    let closed = get(&world, "/v2/", None).await;
    assert_registry_error(&closed, 401, "UNAUTHORIZED");
    assert_eq!(
        closed.header("www-authenticate"),
        "Bearer realm=\"https://tenanta.azurecr.io/oauth2/token\",service=\"tenanta.azurecr.io\""
    );
    for (path, scope) in [
        ("/v2/team/app/manifests/latest", "repository:team/app:pull"),
        ("/v2/app/blobs/sha256:00", "repository:app:pull"),
        ("/acr/v1/_catalog", "registry:catalog:*"),
    ] {
        let challenge = get(&world, path, None).await;
        let expected = format!(",scope=\"{scope}\"");
        let header = challenge.header("www-authenticate");
        assert!(header.ends_with(&expected), "{path}: {header}");
    }
    let refresh = refresh_token(&world).await;
    let fields = [
        ("grant_type", "refresh_token"),
        ("service", HOST),
        ("scope", "repository:team/app:pull,push registry:catalog:*"),
        ("refresh_token", refresh.as_str()),
    ];
    let by_form = post(&world, "/oauth2/token", &fields).await;
    let token = text(&by_form.json(), "access_token");
    assert_eq!(
        claims(&token)["access"],
        json!([
            {"type": "repository", "name": "team/app", "actions": ["pull"]},
            {"type": "registry", "name": "catalog", "actions": []},
        ])
    );
    let basic = format!("Basic {}", STANDARD.encode(format!("{USER}:{refresh}")));
    let path = format!("/oauth2/token?service={HOST}&scope=repository:team/app:pull");
    let by_basic = get(&world, &path, Some(&basic)).await;
    let other = text(&by_basic.json(), "access_token");
    for authorization in [
        format!("Bearer {token}"),
        format!("Bearer {other}"),
        basic.clone(),
    ] {
        assert_eq!(get(&world, "/v2/", Some(&authorization)).await.status, 200);
        let path = "/v2/team/app/manifests/latest";
        let reply = get(&world, path, Some(&authorization)).await;
        assert_registry_error(&reply, 404, "NAME_UNKNOWN");
    }
    let refused = format!("Bearer {refresh}");
    assert_eq!(get(&world, "/v2/", Some(&refused)).await.status, 401);
    for (change, status) in [
        (("refresh_token", token.as_str()), 401),
        (("refresh_token", "nonsense"), 401),
        (("scope", "repository"), 400),
        (("scope", "repository::pull"), 400),
    ] {
        let reply = post(&world, "/oauth2/token", &changed(&fields, &[change])).await;
        assert_eq!(reply.status, status, "{change:?}: {}", reply.body);
    }
    world.sandbox.advance(Duration::from_secs(75 * 60));
    let late = format!("Bearer {token}");
    assert_eq!(get(&world, "/v2/", Some(&late)).await.status, 401);
}

#[tokio::test]
async fn a_registry_belongs_to_its_tenants_cloud() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    for host in [
        "tenanta.azurecr.cn",
        "tenanta.example",
        "a.b.azurecr.io",
        "",
    ] {
        let error = azure.registry(host, DIRECTORY).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the host of a container registry"),
            "{error}"
        );
    }
    assert!(azure.registry("another0.azurecr.io", CLIENT).is_err());
}
