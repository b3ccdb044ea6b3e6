//! Issuers beyond the management cluster: a workload cluster's trust, and documents of a test's own.

use std::time::{Duration, SystemTime};

use gatepass_sandbox::{Clock, TrustPolicy};
use serde_json::{Value, json};

use crate::issuer::Issuer;
use crate::world::{STS, World, web_identity};

#[tokio::test]
async fn a_workload_cluster_takes_tokens_meant_for_its_own_address() {
    let world = World::demo().await;
    let workload = world.sandbox.workload().unwrap();
    let url = format!(
        "{}/api/v1/namespaces/tenant-a/configmaps/greeting",
        workload.url()
    );
    let good = world
        .account_token("tenant-a", "workload", &workload.url())
        .await;
    let reply = world.bearer(&url, &good).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let other = world
        .account_token("tenant-b", "workload", &workload.url())
        .await;
    let reply = world.bearer(&url, &other).await;
    assert_eq!(reply.status, 403);
    assert!(
        reply
            .body
            .contains("User \\\"system:serviceaccount:tenant-b:workload\\\" cannot get"),
        "{}",
        reply.body
    );
    let elsewhere = world
        .account_token("tenant-a", "workload", "https://elsewhere.example")
        .await;
    assert_eq!(world.bearer(&url, &elsewhere).await.status, 401);
    world.sandbox.advance(Duration::from_secs(3_600));
    assert_eq!(world.bearer(&url, &good).await.status, 401);
}

#[tokio::test]
async fn published_documents_make_an_issuer_of_any_name() {
    let world = World::demo().await;
    let (issuer, name, role) = (
        Issuer::create(),
        "https://issuer.example",
        "arn:aws:iam::123456789012:role/any",
    );
    let discovery = json!({"issuer": name, "jwks_uri": format!("{name}/keys")}).to_string();
    world.sandbox.publish(
        "issuer.example",
        "/.well-known/openid-configuration",
        "application/json",
        discovery.as_bytes(),
    );
    world.sandbox.publish(
        "issuer.example",
        "/keys",
        "application/jwk-set+json",
        issuer.keys.as_bytes(),
    );
    let aws = world.sandbox.aws();
    aws.oidc_provider(name, &["sts.amazonaws.com"]);
    aws.role(role, TrustPolicy::web_identity(name, &["app"]))
        .unwrap();
    let now = world
        .sandbox
        .clock()
        .now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let tags = json!({"principal_tags": {"team": ["a"]}, "transitive_tag_keys": ["team"]});
    let good = json!({
        "iss": name, "sub": "app", "aud": "sts.amazonaws.com", "iat": now, "exp": now + 600,
        "https://aws.amazon.com/source_identity": "ann", "https://aws.amazon.com/tags": tags,
    });
    let without = |field: &str, value: Value| {
        let mut claims = good.clone();
        claims[field] = value;
        claims
    };
    let reply = world
        .form(STS, &web_identity(role, &issuer.token(Some("one"), &good)))
        .await;
    assert_eq!(
        (reply.status, reply.xml("SourceIdentity")),
        (200, Some("ann")),
        "{}",
        reply.body
    );
    for (kid, claims) in [
        (None, good.clone()),
        (Some("two"), good.clone()),
        (Some("one"), without("iat", Value::Null)),
        (Some("one"), without("exp", Value::Null)),
        (Some("one"), without("sub", Value::Null)),
        (Some("one"), without("aud", Value::Null)),
        (Some("one"), without("aud", json!(["elsewhere"]))),
        (Some("one"), without("nbf", json!(now + 300))),
    ] {
        let reply = world
            .form(STS, &web_identity(role, &issuer.token(kid, &claims)))
            .await;
        reply.assert_sts_error(400, "InvalidIdentityToken");
    }
}
