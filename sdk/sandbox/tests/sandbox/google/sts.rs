//! The token exchange.

use std::time::Duration;

use gatepass_sandbox::{Fault, WorkloadIdentityProvider};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;

use super::{
    AUDIENCE, BOTH_SCOPES, PROVIDER, STS, assert_api_error, assert_oauth_error, exchange, text,
};
use crate::issuer::Issuer;
use crate::world::{World, changed};

const OTHER: &str =
    "projects/345678901234/locations/global/workloadIdentityPools/other/providers/own";
const OTHER_AUDIENCE: &str = "//iam.googleapis.com/projects/345678901234/locations/global/workloadIdentityPools/other/providers/own";

#[tokio::test]
async fn an_account_token_becomes_a_federated_token() {
    let world = World::demo().await;
    for audience in [AUDIENCE.to_owned(), format!("https:{AUDIENCE}")] {
        let token = world
            .account_token("tenant-a", "tenant-a-gcp-sa", &audience)
            .await;
        for host in ["sts.googleapis.com", "sts.europe-west1.rep.googleapis.com"] {
            let url = format!("https://{host}/v1/token");
            let reply = world.form(&url, &exchange(AUDIENCE, &token)).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            let body = reply.json();
            assert_eq!(
                (body["token_type"].as_str(), body["expires_in"].as_u64()),
                (Some("Bearer"), Some(3_600))
            );
            assert_eq!(
                body["issued_token_type"],
                "urn:ietf:params:oauth:token-type:access_token"
            );
            assert!(
                body["access_token"]
                    .as_str()
                    .unwrap()
                    .starts_with("ya29.d.")
            );
        }
    }
}

#[tokio::test]
async fn parameters_that_are_missing_or_wrong_are_refused() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-gcp-sa", AUDIENCE)
        .await;
    let good = exchange(AUDIENCE, &token);
    let full_name = "Invalid value for \"audience\". This value should be the full resource name";
    for (name, value, error, description) in [
        ("grant_type", "", "invalid_request", "\"grant_type\""),
        (
            "grant_type",
            "client_credentials",
            "unsupported_grant_type",
            "not supported",
        ),
        ("audience", "", "invalid_request", full_name),
        (
            "audience",
            "https://iam.googleapis.com/projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management",
            "invalid_request",
            full_name,
        ),
        (
            "audience",
            "//iam.googleapis.com/projects/345678901234/locations/global/workloadIdentityPools/gatepass",
            "invalid_request",
            full_name,
        ),
        (
            "audience",
            "//iam.googleapis.com/projects/demo-project/locations/global/workloadIdentityPools/gatepass/providers/management",
            "invalid_target",
            "doesn't exist",
        ),
        (
            "audience",
            OTHER_AUDIENCE,
            "invalid_target",
            "The target service indicated by the \"audience\" parameters is invalid",
        ),
        (
            "requested_token_type",
            "",
            "invalid_request",
            "\"requested_token_type\"",
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:id_token",
            "invalid_request",
            "\"requested_token_type\"",
        ),
        (
            "subject_token_type",
            "",
            "invalid_request",
            "\"subject_token_type\"",
        ),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:saml2",
            "invalid_request",
            "\"subject_token_type\"",
        ),
        ("subject_token", "", "invalid_request", "\"subject_token\""),
        (
            "subject_token",
            "nonsense",
            "invalid_request",
            "not a JSON Web Token",
        ),
        ("scope", "", "invalid_scope", "scope"),
        ("scope", "cloud-platform", "invalid_scope", "cloud-platform"),
        (
            "scope",
            "https://www.googleapis.com/auth/",
            "invalid_scope",
            "invalid",
        ),
    ] {
        let reply = world.form(STS, &changed(&good, &[(name, value)])).await;
        assert_oauth_error(&reply, 400, error, description);
    }
    let mut twice = good.clone();
    twice.push(("scope", BOTH_SCOPES));
    let reply = world.form(STS, &twice).await;
    assert_oauth_error(&reply, 400, "invalid_request", "single value: scope");
    let request = http::Request::post(STS).header("content-type", "application/json");
    let reply = world.send(request.body("{}".to_owned()).unwrap()).await;
    assert_oauth_error(&reply, 400, "invalid_request", "x-www-form-urlencoded");
    let reply = world
        .form("https://sts.googleapis.com/v2/token", &good)
        .await;
    assert_api_error(&reply, 404, "NOT_FOUND", "Method not found.");
}

#[tokio::test]
async fn a_token_must_be_meant_for_the_provider_and_be_of_its_issuer() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let issuer = world.sandbox.kubernetes().issuer();
    let elsewhere = world
        .account_token("tenant-a", "tenant-a-gcp-sa", "elsewhere")
        .await;
    let reply = world.form(STS, &exchange(AUDIENCE, &elsewhere)).await;
    assert_oauth_error(
        &reply,
        400,
        "invalid_grant",
        "The audience in ID Token [\"elsewhere\"] does not match the expected audience",
    );
    // An allowed audience takes the place of the provider's own name.
    let provider = WorkloadIdentityProvider::new(&issuer).audience("elsewhere");
    google.provider(PROVIDER, provider).unwrap();
    assert_eq!(
        world
            .form(STS, &exchange(AUDIENCE, &elsewhere))
            .await
            .status,
        200
    );
    let own = world
        .account_token("tenant-a", "tenant-a-gcp-sa", AUDIENCE)
        .await;
    let reply = world.form(STS, &exchange(AUDIENCE, &own)).await;
    assert_oauth_error(&reply, 400, "invalid_grant", "expected audience elsewhere");
    let provider = WorkloadIdentityProvider::new("https://other.example");
    google.provider(PROVIDER, provider).unwrap();
    let reply = world.form(STS, &exchange(AUDIENCE, &own)).await;
    assert_oauth_error(
        &reply,
        400,
        "invalid_grant",
        "does not match the expected ones",
    );
    google.remove_provider(PROVIDER).unwrap();
    let reply = world.form(STS, &exchange(AUDIENCE, &own)).await;
    assert_oauth_error(&reply, 400, "invalid_target", "disabled or deleted");
}

#[tokio::test]
async fn every_rule_on_the_token_holds() {
    let world = World::demo().await;
    let issuer = Issuer::create();
    let url = issuer.publish(&world, "issuer.example");
    let provider = WorkloadIdentityProvider::new(&url).condition("repository_owner", "acme");
    world.sandbox.google().provider(OTHER, provider).unwrap();
    let now = world.now();
    let good = json!({
        "iss": url, "sub": "repo:acme/app", "aud": OTHER_AUDIENCE, "iat": now, "exp": now + 60,
        "repository_owner": "acme",
    });
    let with = |name: &str, value: serde_json::Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    let reply = world
        .form(
            STS,
            &exchange(OTHER_AUDIENCE, &issuer.token(Some("one"), &good)),
        )
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let long = "s".repeat(128);
    for (claims, error, description) in [
        (with("iat", (now - 86_400).into()), "", ""),
        (
            with("iat", (now - 86_401).into()),
            "invalid_grant",
            "is stale to sign-in.",
        ),
        (
            with("iat", (now + 1).into()),
            "invalid_grant",
            "not yet valid",
        ),
        (
            with("nbf", (now + 1).into()),
            "invalid_grant",
            "not yet valid",
        ),
        (
            with("iat", json!(null)),
            "invalid_grant",
            "\"iat\" is missing",
        ),
        (with("exp", now.into()), "invalid_grant", "expired"),
        (
            with("exp", json!(null)),
            "invalid_grant",
            "\"exp\" is missing",
        ),
        (with("aud", json!(["x", OTHER_AUDIENCE])), "", ""),
        (
            with("aud", json!(null)),
            "invalid_grant",
            "does not match the expected audience",
        ),
        (
            with("sub", json!(null)),
            "invalid_grant",
            "\"sub\" is missing",
        ),
        (with("sub", long.get(1..).unwrap().into()), "", ""),
        (
            with("sub", long.as_str().into()),
            "invalid_request",
            "exceeds the 127 bytes limit",
        ),
        (
            with("repository_owner", "evil".into()),
            "unauthorized_client",
            "rejected by the attribute condition",
        ),
        (
            with("repository_owner", json!(null)),
            "unauthorized_client",
            "rejected by the attribute condition",
        ),
    ] {
        let token = issuer.token(Some("one"), &claims);
        let reply = world.form(STS, &exchange(OTHER_AUDIENCE, &token)).await;
        if error.is_empty() {
            assert_eq!(reply.status, 200, "{claims}: {}", reply.body);
        } else {
            assert_oauth_error(&reply, 400, error, description);
        }
    }
}

#[tokio::test]
async fn only_two_algorithms_and_a_named_key_are_taken() {
    let world = World::demo().await;
    let now = world.now();
    let issuer = Issuer::create();
    let url = issuer.publish(&world, "issuer.example");
    let strong = Issuer::of(&rcgen::PKCS_ECDSA_P384_SHA384, Algorithm::ES384);
    let strong_url = strong.publish(&world, "strong.example");
    let claims = |issuer: &str| json!({"iss": issuer, "sub": "a", "aud": OTHER_AUDIENCE, "iat": now, "exp": now + 60});
    let mut symmetric = Header::new(Algorithm::HS256);
    symmetric.kid = Some("one".to_owned());
    let secret = EncodingKey::from_secret(b"secret");
    let symmetric = jsonwebtoken::encode(&symmetric, &claims(&url), &secret).unwrap();
    let forged = Issuer::create().token(Some("one"), &claims(&url));
    for (issuer_url, token, description) in [
        (&url, issuer.token(None, &claims(&url)), "kid"),
        (&url, issuer.token(Some("two"), &claims(&url)), "kid"),
        (&url, symmetric, "RS256 or ES256"),
        (&url, forged, "signature"),
        (
            &strong_url,
            strong.token(Some("one"), &claims(&strong_url)),
            "RS256 or ES256",
        ),
    ] {
        let provider = WorkloadIdentityProvider::new(issuer_url);
        world.sandbox.google().provider(OTHER, provider).unwrap();
        let reply = world.form(STS, &exchange(OTHER_AUDIENCE, &token)).await;
        assert_oauth_error(&reply, 400, "invalid_grant", description);
    }
}

#[tokio::test]
async fn an_issuer_that_cannot_be_reached_is_named_so() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-gcp-sa", AUDIENCE)
        .await;
    let issuer = world.sandbox.kubernetes().host();
    for fault in [
        Fault::Status {
            code: 503,
            body: Vec::new(),
            headers: Vec::new(),
        },
        Fault::Body(b"<html>".to_vec()),
    ] {
        world.sandbox.faults().set(&issuer, "/.well-known/", fault);
        let reply = world.form(STS, &exchange(AUDIENCE, &token)).await;
        assert_oauth_error(
            &reply,
            400,
            "invalid_grant",
            "Error connecting to the given credential's issuer.",
        );
    }
}

#[tokio::test]
async fn a_cluster_of_gke_needs_no_pool() {
    let world = World::demo().await;
    let audience = |cluster: &str| {
        format!(
            "identitynamespace:demo-project.svc.id.goog:https://container.googleapis.com/v1/projects/demo-project/locations/us-central1/clusters/{cluster}"
        )
    };
    let token = world
        .account_token("tenant-a", "tenant-a-gke-sa", "demo-project.svc.id.goog")
        .await;
    let reply = world
        .form(STS, &exchange(&audience("management"), &token))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    // The member that the binding names is the account in the project's own pool.
    world
        .impersonate(&text(&reply, "access_token"), super::TENANT)
        .await;
    let reply = world.form(STS, &exchange(&audience("nope"), &token)).await;
    assert_oauth_error(&reply, 400, "invalid_target", "doesn't exist");
    let reply = world.form(STS, &exchange(&audience("demo"), &token)).await;
    assert_oauth_error(&reply, 400, "invalid_grant", "The issuer in ID Token");
    let elsewhere = world
        .account_token("tenant-a", "tenant-a-gke-sa", AUDIENCE)
        .await;
    let reply = world
        .form(STS, &exchange(&audience("management"), &elsewhere))
        .await;
    assert_oauth_error(
        &reply,
        400,
        "invalid_grant",
        "expected audience demo-project.svc.id.goog",
    );
}

#[tokio::test]
async fn throttling_and_errors_have_the_shape_of_each_service() {
    let world = World::demo().await;
    let faults = world.sandbox.faults();
    faults.set("*", "", Fault::Throttle(Duration::from_secs(2)));
    for url in [
        STS,
        "https://iamcredentials.googleapis.com/v1/x",
        "https://container.googleapis.com/v1/x",
    ] {
        let reply = world.form(url, &[]).await;
        assert_api_error(&reply, 429, "RESOURCE_EXHAUSTED", "Quota exceeded");
        assert_eq!(reply.header("retry-after"), "2");
    }
    let reply = world.form("https://oauth2.googleapis.com/token", &[]).await;
    assert_oauth_error(&reply, 429, "rate_limit_exceeded", "Rate limit");
    faults.set(
        "*",
        "",
        Fault::Error {
            status: 503,
            code: "UNAVAILABLE".to_owned(),
            message: "later".to_owned(),
        },
    );
    assert_oauth_error(&world.form(STS, &[]).await, 503, "UNAVAILABLE", "later");
    let reply = world
        .form("https://container.googleapis.com/v1/x", &[])
        .await;
    assert_api_error(&reply, 503, "UNAVAILABLE", "later");
}
