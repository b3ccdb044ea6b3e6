//! `gatepass oci`, as far as no real registry is needed.

use crate::world::{World, run};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_tests::http::{Answer, Server};
use serde_json::{Value, json};

fn claims(bearer: &str) -> Option<Value> {
    let token = bearer.strip_prefix("Bearer ")?;
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&claims).ok()
}

/// A registry that takes the token of one ServiceAccount, for this repository, and has one tag.
async fn registry() -> Server {
    Server::start(|request| async move {
        let repository = format!(
            "{}/team/app",
            request.header("host").unwrap_or_default().to_owned()
        );
        let claims = request.header("authorization").and_then(claims);
        let is_ours = claims.is_some_and(|claims| {
            claims["sub"] == "system:serviceaccount:tenant-a:workload"
                && claims["aud"] == json!([repository])
        });
        match (is_ours, request.target.split('?').next()) {
            (true, Some("/v2/team/app/tags/list")) => Answer::new(
                200,
                json!({ "name": "team/app", "tags": ["v1"] }).to_string(),
            ),
            (true, _) => Answer::new(404, "{}"),
            (false, _) => Answer::new(401, "{}").with("www-authenticate", "Bearer realm=\"x\""),
        }
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_is_its_own_login() {
    let world = World::new().await;
    let registry = registry().await;
    let line = |rest: &str| {
        let address = registry.address();
        format!("oci list oci://{address}/team/app --plain-http -o json {rest}")
    };
    for flags in [
        "--creds=ServiceAccountToken --sa-name tenant-a/workload",
        "--provider generic --sa-name workload -n tenant-a",
    ] {
        let listed = world.run(&line(flags)).json();
        assert_eq!(listed["tags"], json!([{ "tag": "v1" }]), "{flags}");
    }
    let other = "--creds=ServiceAccountToken --sa-name tenant-a/workload --audiences other";
    world.run(&line(other)).refused(
        4,
        &["does not accept the login", "gatepass explain registry"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_command_is_said_before_anything_is_sent() {
    let world = World::new().await;
    for (line, code, words) in [
        ("oci push r.example/a:v1", 2, &["PATH"][..]),
        ("oci push r.example/a .", 2, &[":TAG"]),
        ("oci pull r.example/a out", 2, &["@DIGEST"]),
        ("oci list r.example/a:v1", 2, &["without a tag"]),
        ("oci tag r.example/a:v1 --tag .x", 2, &["tag \".x\""]),
        ("oci list https://r.example/a", 3, &["oci://"]),
        (
            "oci list r.example/a --plain-http",
            2,
            &["--plain-http", "r.example"],
        ),
        ("oci list r.example/a -o env", 2, &["has no output", "json"]),
        ("oci list r.example/a --audiences x", 2, &["--audiences"]),
        (
            "oci list r.example/a --creds=GitHubOIDCToken",
            8,
            &["github"],
        ),
        ("oci list r.example/a --creds=SpiffeJWT", 8, &["spiffe"]),
        (
            "oci list r.example/a --creds=SpiffeCertificate",
            8,
            &["spiffe"],
        ),
    ] {
        world.run(line).refused(code, words);
    }
    run("oci list r.example/a --registry-ca-file /nonexistent").refused(3, &["--registry-ca-file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_of_a_test_cloud_does_not_go_to_the_real_registry() {
    let world = World::new().await;
    let line = "oci list 123456789012.dkr.ecr.us-east-1.amazonaws.com/app --provider aws --sa-name tenant-a/tenant-a-ecr-sa";
    world
        .run(line)
        .refused(3, &["connectTo", "the real registry"]);
}
