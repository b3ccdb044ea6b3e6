//! The token endpoint and the documents around it.

use std::time::Duration;

use gatepass_sandbox::{AzureCloud, FederatedCredential};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;

use super::{
    ASSERTION_TYPE, AUDIENCE, CLIENT, DIRECTORY, MANAGEMENT, REGISTRY, TOKEN, assert_entra_error,
    assertion, claims, exchange, text,
};
use crate::world::{Reply, World, changed};

/// Parameters that differ from the good ones.
type Fields<'a> = &'a [(&'a str, &'a str)];

async fn get(world: &World, url: &str) -> Reply {
    world
        .send(http::Request::get(url).body(String::new()).unwrap())
        .await
}

#[tokio::test]
async fn an_account_token_becomes_an_access_token_of_the_application_that_trusts_it() {
    let world = World::demo().await;
    let assertion = assertion(&world).await;
    let reply = world.form(TOKEN, &exchange(&assertion, MANAGEMENT)).await;
    let body = reply.json();
    assert_eq!(
        (reply.status, body["token_type"].as_str()),
        (200, Some("Bearer")),
        "{}",
        reply.body
    );
    assert_eq!(body["expires_in"], 3_600);
    assert_eq!(body["ext_expires_in"], 3_600);
    assert_eq!(reply.header("cache-control"), "no-store, no-cache");
    let token = text(&body, "access_token");
    let configuration = TOKEN.replace("oauth2/v2.0/token", "v2.0/.well-known/openid-configuration");
    let configuration = get(&world, &configuration).await.json();
    assert_eq!(configuration["token_endpoint"], TOKEN);
    let keys = get(&world, configuration["jwks_uri"].as_str().unwrap()).await;
    let keys: JwkSet = serde_json::from_str(&keys.body).unwrap();
    let header = jsonwebtoken::decode_header(&token).unwrap();
    assert_eq!(header.typ.as_deref(), Some("JWT"));
    let key = DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
    let mut rules = Validation::new(Algorithm::RS256);
    rules.set_audience(&["https://management.core.windows.net/"]);
    rules.set_issuer(&[format!("https://sts.windows.net/{DIRECTORY}/")]);
    let proven = jsonwebtoken::decode::<Value>(&token, &key, &rules).unwrap();
    let claims = proven.claims;
    assert_eq!(
        (&claims["appid"], &claims["tid"]),
        (&CLIENT.into(), &DIRECTORY.into())
    );
    assert_eq!(
        (&claims["appidacr"], &claims["oid"]),
        (&"2".into(), &claims["sub"])
    );
    let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
    assert_eq!(life, 3_600);
}

#[tokio::test]
async fn a_scope_names_one_resource_and_the_audience_is_what_stands_before_default() {
    let world = World::demo().await;
    let assertion = assertion(&world).await;
    for (scope, audience) in [
        (REGISTRY, "https://containerregistry.azure.net"),
        (MANAGEMENT, "https://management.core.windows.net/"),
        (
            "https://management.azure.com/.default",
            "https://management.azure.com",
        ),
        (
            "https://eventhubs.azure.net//.default",
            "https://eventhubs.azure.net/",
        ),
        (
            "499b84ac-1321-427f-aa17-267ca6975798/.default openid offline_access profile",
            "499b84ac-1321-427f-aa17-267ca6975798",
        ),
    ] {
        let reply = world.form(TOKEN, &exchange(&assertion, scope)).await;
        assert_eq!(reply.status, 200, "{scope}: {}", reply.body);
        let token = text(&reply.json(), "access_token");
        assert_eq!(claims(&token)["aud"], audience);
    }
    let own = "api://own.example";
    let scope = format!("{own}/.default");
    let reply = world.form(TOKEN, &exchange(&assertion, &scope)).await;
    assert_entra_error(&reply, 400, "invalid_resource", 500_011);
    world.sandbox.azure().resource(own);
    let reply = world.form(TOKEN, &exchange(&assertion, &scope)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn parameters_that_are_missing_or_wrong_are_refused() {
    let world = World::demo().await;
    let assertion = assertion(&world).await;
    let good = exchange(&assertion, MANAGEMENT);
    let none = "00000000-0000-0000-0000-00000000dead";
    let changes: &[(Fields<'_>, u16, &str, u64)] = &[
        (&[("grant_type", "")], 400, "invalid_request", 900_144),
        (&[("client_id", "")], 400, "invalid_request", 900_144),
        (&[("scope", "")], 400, "invalid_request", 900_144),
        (
            &[("client_assertion_type", "")],
            400,
            "invalid_request",
            900_144,
        ),
        (
            &[("client_assertion_type", "jwt")],
            400,
            "invalid_request",
            90_014,
        ),
        (
            &[("grant_type", "password")],
            400,
            "unsupported_grant_type",
            70_003,
        ),
        (&[("client_id", none)], 400, "unauthorized_client", 700_016),
        (
            &[("client_id", "tenant-a")],
            400,
            "unauthorized_client",
            700_016,
        ),
        (
            &[("client_assertion", "")],
            401,
            "invalid_client",
            7_000_216,
        ),
        (
            &[("client_assertion", "nonsense")],
            400,
            "invalid_request",
            50_027,
        ),
        (
            &[("client_assertion", "a.b.c")],
            400,
            "invalid_request",
            50_027,
        ),
        (
            &[("client_assertion", ""), ("client_secret", "guess")],
            401,
            "invalid_client",
            7_000_215,
        ),
        (
            &[("scope", "https://management.azure.com")],
            400,
            "invalid_scope",
            1_002_012,
        ),
        (&[("scope", "User.Read")], 400, "invalid_scope", 1_002_012),
        (
            &[("scope", "openid profile")],
            400,
            "invalid_scope",
            1_002_012,
        ),
        (
            &[(
                "scope",
                "https://management.azure.com/.default https://vault.azure.net/.default",
            )],
            400,
            "invalid_scope",
            70_011,
        ),
        (
            &[("scope", "https://vault.azure.cn/.default")],
            400,
            "invalid_resource",
            500_011,
        ),
    ];
    for (change, status, error, number) in changes {
        let reply = world.form(TOKEN, &changed(&good, change)).await;
        assert_entra_error(&reply, *status, error, *number);
    }
    assert_eq!(world.form(TOKEN, &good).await.status, 200);
}

#[tokio::test]
async fn a_refusal_has_the_body_that_clients_log() {
    let world = World::demo().await;
    let correlation = "33333333-3333-3333-3333-333333333333";
    let request = http::Request::post(TOKEN)
        .header("content-type", crate::world::FORM)
        .header("client-request-id", correlation);
    let fields = exchange("nonsense", MANAGEMENT);
    let reply = world
        .send(request.body(crate::world::encoded(&fields)).unwrap())
        .await;
    assert_eq!(
        reply.header("content-type"),
        "application/json; charset=utf-8"
    );
    let body = reply.json();
    assert_eq!(body["correlation_id"], correlation);
    assert_eq!(
        body["error_uri"],
        "https://login.microsoftonline.com/error?code=50027"
    );
    let timestamp = text(&body, "timestamp");
    assert!(timestamp.len() == 20 && timestamp.ends_with('Z') && timestamp.contains(' '));
    let trace = text(&body, "trace_id");
    let tail = format!("Trace ID: {trace} Correlation ID: {correlation} Timestamp: {timestamp}");
    assert!(text(&body, "error_description").ends_with(&tail), "{body}");
}

#[tokio::test]
async fn a_token_endpoint_is_of_one_directory_in_one_cloud() {
    let world = World::demo().await;
    let assertion = assertion(&world).await;
    let fields = exchange(&assertion, REGISTRY);
    let url = |host: &str, tenant: &str| format!("https://{host}/{tenant}/oauth2/v2.0/token");
    let other = "44444444-4444-4444-4444-444444444444";
    let azure = world.sandbox.azure();
    azure
        .tenant(AzureCloud::Public, other, "other.example")
        .unwrap();
    for (host, tenant, error, number) in [
        (
            "login.chinacloudapi.cn",
            DIRECTORY,
            "invalid_request",
            90_002,
        ),
        (
            "login.microsoftonline.us",
            DIRECTORY,
            "invalid_request",
            90_002,
        ),
        (
            "login.microsoftonline.com",
            "nobody.example",
            "invalid_request",
            90_002,
        ),
        (
            "login.microsoftonline.com",
            "common",
            "invalid_request",
            50_059,
        ),
        (
            "login.microsoftonline.com",
            other,
            "unauthorized_client",
            700_016,
        ),
    ] {
        let reply = world.form(&url(host, tenant), &fields).await;
        assert_entra_error(&reply, 400, error, number);
    }
    for (host, tenant) in [
        ("login.windows.net", DIRECTORY),
        ("login.microsoftonline.com", "demo.onmicrosoft.com"),
        ("login.microsoftonline.com", "DEMO.onmicrosoft.com"),
    ] {
        let reply = world.form(&url(host, tenant), &fields).await;
        assert_eq!(reply.status, 200, "{host} {tenant}: {}", reply.body);
    }
    let reply = get(&world, TOKEN).await;
    assert_entra_error(&reply, 400, "invalid_request", 900_561);
    assert_eq!(
        get(&world, "https://login.microsoftonline.com/x")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn every_cloud_has_directories_and_keys_of_its_own() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let issuer = world.sandbox.kubernetes().issuer();
    for (number, cloud, host, resource, suffix) in [
        (
            5,
            AzureCloud::China,
            "login.chinacloudapi.cn",
            "https://management.core.chinacloudapi.cn/",
            "sts.chinacloudapi.cn",
        ),
        (
            6,
            AzureCloud::UsGovernment,
            "login.microsoftonline.us",
            "https://management.core.usgovcloudapi.net/",
            "sts.windows.net",
        ),
    ] {
        let tenant = format!("{number}{number}{number}{number}5555-5555-5555-5555-555555555555");
        let client = format!("{number}0000000-0000-0000-0000-000000000000");
        azure.tenant(cloud, &tenant, "sovereign.example").unwrap();
        azure.application(&tenant, &client).unwrap();
        let credential = FederatedCredential {
            issuer: issuer.clone(),
            subject: "system:serviceaccount:tenant-a:tenant-a-azure-sa".to_owned(),
            audience: AUDIENCE.to_owned(),
        };
        azure.federated_credential(&client, credential).unwrap();
        let assertion = assertion(&world).await;
        let scope = format!("{resource}/.default");
        let fields = exchange(&assertion, &scope);
        let fields = changed(&fields, &[("client_id", &client)]);
        let url = format!("https://{host}/{tenant}/oauth2/v2.0/token");
        let reply = world.form(&url, &fields).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let token = text(&reply.json(), "access_token");
        assert_eq!(claims(&token)["aud"], resource);
        assert_eq!(claims(&token)["iss"], format!("https://{suffix}/{tenant}/"));
        let keys = |host: &str| format!("https://{host}/common/discovery/v2.0/keys");
        let own = get(&world, &keys(host)).await.json();
        let public = get(&world, &keys("login.microsoftonline.com")).await.json();
        assert_ne!(own["keys"][0]["kid"], public["keys"][0]["kid"]);
    }
}

#[tokio::test]
async fn a_secret_is_as_good_as_an_assertion() {
    let world = World::demo().await;
    let secret = world.sandbox.azure().secret(CLIENT).unwrap();
    assert_eq!(secret.len(), 40);
    let fields = [
        ("client_id", CLIENT),
        ("scope", MANAGEMENT),
        ("grant_type", "client_credentials"),
        ("client_secret", &secret),
    ];
    let reply = world.form(TOKEN, &fields).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        claims(&text(&reply.json(), "access_token"))["appidacr"],
        "1"
    );
    let other = changed(&fields, &[("client_id", super::OTHER_CLIENT)]);
    let reply = world.form(TOKEN, &other).await;
    assert_entra_error(&reply, 401, "invalid_client", 7_000_215);
    assert!(!reply.body.contains(&secret));
}

#[tokio::test]
async fn a_client_library_finds_what_it_asks_for_first() {
    let world = World::demo().await;
    let base = "https://login.microsoftonline.com";
    let authorize = format!("{base}/{DIRECTORY}/oauth2/v2.0/authorize");
    let url = format!(
        "{base}/common/discovery/instance?api-version=1.1&authorization_endpoint={authorize}"
    );
    let instance = get(&world, &url).await.json();
    let configuration = get(&world, &text(&instance, "tenant_discovery_endpoint")).await;
    assert_eq!(
        configuration.json()["issuer"],
        format!("{base}/{DIRECTORY}/v2.0")
    );
    let aliases = &instance["metadata"][0]["aliases"];
    assert_eq!(aliases[0], "login.microsoftonline.com");
    let unknown = format!("{base}/nobody.example/v2.0/.well-known/openid-configuration");
    assert_entra_error(&get(&world, &unknown).await, 400, "invalid_tenant", 90_002);
}

#[tokio::test]
async fn a_form_in_another_content_type_has_no_parameters() {
    let world = World::demo().await;
    let request = http::Request::post(TOKEN).header("content-type", "application/json");
    let body = format!("grant_type=client_credentials&client_assertion_type={ASSERTION_TYPE}");
    let reply = world.send(request.body(body).unwrap()).await;
    assert_entra_error(&reply, 400, "invalid_request", 900_144);
}

#[tokio::test]
async fn a_federated_credential_is_invisible_for_as_many_exchanges_as_it_is_told() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    azure.not_yet(CLIENT, 2).unwrap();
    let assertion = assertion(&world).await;
    let fields = exchange(&assertion, MANAGEMENT);
    for _ in 0..2 {
        let reply = world.form(TOKEN, &fields).await;
        assert_entra_error(&reply, 401, "invalid_client", 70_021);
        assert!(
            reply
                .body
                .contains("Assertion Audience: 'api://AzureADTokenExchange'")
        );
    }
    assert_eq!(world.form(TOKEN, &fields).await.status, 200);
}

#[tokio::test]
async fn an_application_takes_twenty_federated_credentials_and_each_but_once() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let credential = |subject: &str| FederatedCredential {
        issuer: "https://issuer.example".to_owned(),
        subject: subject.to_owned(),
        audience: AUDIENCE.to_owned(),
    };
    // The demonstration's is the first.
    for number in 1..20 {
        let credential = credential(&number.to_string());
        azure.federated_credential(CLIENT, credential).unwrap();
    }
    let error = azure.federated_credential(CLIENT, credential("20"));
    assert!(error.unwrap_err().to_string().contains("fewer than 20"));
    let long = "s".repeat(601);
    for (client, issuer, subject, audience, expected) in [
        (
            super::OTHER_CLIENT,
            "http://issuer.example",
            "s",
            "a",
            "https URL",
        ),
        (
            super::OTHER_CLIENT,
            "https://issuer.example",
            "",
            "a",
            "a subject",
        ),
        (
            super::OTHER_CLIENT,
            "https://issuer.example",
            &long,
            "a",
            "a subject",
        ),
        (
            super::OTHER_CLIENT,
            "https://issuer.example",
            "s",
            "",
            "an audience",
        ),
        (
            DIRECTORY,
            "https://issuer.example",
            "s",
            "a",
            "an application",
        ),
        ("tenant-a", "https://issuer.example", "s", "a", "a GUID"),
    ] {
        let credential = FederatedCredential {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            audience: audience.to_owned(),
        };
        let error = azure.federated_credential(client, credential).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let twice = [(); 2].map(|()| azure.federated_credential(super::OTHER_CLIENT, credential("1")));
    assert!(twice[0].is_ok() && twice[1].is_err());
}

#[tokio::test]
async fn an_access_token_ends_after_an_hour() {
    let world = World::demo().await;
    let token = super::access_token(&world, MANAGEMENT).await;
    let url = "https://management.azure.com/subscriptions/x?api-version=2024-10-01";
    assert_eq!(world.bearer(url, &token).await.status, 404);
    world.sandbox.advance(Duration::from_secs(3_600));
    let reply = world.bearer(url, &token).await;
    assert_eq!(reply.json()["error"]["code"], "ExpiredAuthenticationToken");
}
