//! The metadata server.

use gatepass_sandbox::{Fault, GoogleMetadata, WorkloadIdentityProvider};

use super::{CLOUD_PLATFORM, CONTROLLER, STS, exchange, text};
use crate::world::{Reply, World};

async fn ask(world: &World, path: &str, headers: &[(&str, &str)]) -> Reply {
    let url = format!("http://{}{path}", world.sandbox.google().metadata_host());
    let request = headers
        .iter()
        .fold(http::Request::get(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    world.send(request.body(String::new()).unwrap()).await
}

const FLAVOR: (&str, &str) = ("metadata-flavor", "Google");

async fn read(world: &World, path: &str) -> Reply {
    ask(world, &format!("/computeMetadata/v1/{path}"), &[FLAVOR]).await
}

#[tokio::test]
async fn both_sides_show_the_flavor() {
    let world = World::demo().await;
    let path = "/computeMetadata/v1/project/project-id";
    for (headers, status) in [
        (&[FLAVOR] as &[_], 200),
        (&[], 403),
        (&[("metadata-flavor", "Amazon")], 403),
        (&[FLAVOR, ("x-forwarded-for", "10.0.0.1")], 403),
    ] {
        let reply = ask(&world, path, headers).await;
        assert_eq!(
            (reply.status, reply.header("metadata-flavor")),
            (status, "Google"),
            "{headers:?}"
        );
    }
    let reply = ask(&world, "/", &[("host", "metadata.google.internal")]).await;
    assert_eq!(
        (reply.status, reply.header("metadata-flavor")),
        (200, "Google")
    );
}

#[tokio::test]
async fn it_tells_of_project_cluster_account_and_universe() {
    let world = World::demo().await;
    for (path, value) in [
        ("project/project-id", "demo-project"),
        ("instance/attributes/cluster-location", "us-central1"),
        ("instance/attributes/cluster-name", "management"),
        ("instance/service-accounts/default/email", CONTROLLER),
        ("universe/universe-domain", "googleapis.com"),
    ] {
        let reply = read(&world, path).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, value), "{path}");
    }
    let account = read(&world, "instance/service-accounts/default/?recursive=true")
        .await
        .json();
    assert_eq!(
        (account["email"].as_str(), account["aliases"][0].as_str()),
        (Some(CONTROLLER), Some("default"))
    );
    let google = world.sandbox.google();
    google.set_metadata(GoogleMetadata::default().universe(None));
    for path in [
        "project/project-id",
        "instance/attributes/cluster-name",
        "instance/service-accounts/default/token",
        "universe/universe-domain",
        "else",
    ] {
        assert_eq!(read(&world, path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn tokens_have_the_scopes_that_are_asked_for_and_granted() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let path = "instance/service-accounts/default/token";
    let reply = read(&world, path).await;
    assert_eq!(
        (
            reply.json()["token_type"].as_str(),
            reply.json()["expires_in"].as_u64()
        ),
        (Some("Bearer"), Some(3_600))
    );
    let login = google.verify_registry_login("oauth2accesstoken", &text(&reply, "access_token"));
    assert_eq!(login.unwrap().principal, CONTROLLER);
    let iam = "https://www.googleapis.com/auth/iam";
    let narrow = read(&world, &format!("{path}?scopes={iam}")).await;
    assert!(
        google
            .verify_registry_login("oauth2accesstoken", &text(&narrow, "access_token"))
            .is_none()
    );
    google.set_metadata(GoogleMetadata::default().account(CONTROLLER).scopes(&[iam]));
    for (scopes, status) in [
        (format!("?scopes={iam}"), 200),
        (String::new(), 200),
        (format!("?scopes={iam},{CLOUD_PLATFORM}"), 400),
        ("?scopes=".to_owned(), 400),
    ] {
        let reply = read(&world, &format!("{path}{scopes}")).await;
        assert_eq!(reply.status, status, "{scopes}: {}", reply.body);
    }
}

#[tokio::test]
async fn an_identity_token_is_proven_by_the_documents_of_its_issuer() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let path = "instance/service-accounts/default/identity";
    assert_eq!(read(&world, path).await.status, 400);
    let provider = "projects/1/locations/global/workloadIdentityPools/own/providers/google";
    let trust = WorkloadIdentityProvider::new("https://accounts.google.com").audience("me");
    google.provider(provider, trust).unwrap();
    let token = read(&world, &format!("{path}?audience=me&format=full"))
        .await
        .body;
    let audience = format!("//iam.googleapis.com/{provider}");
    let reply = world.form(STS, &exchange(&audience, &token)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn faults_reach_it_and_other_clouds_keep_theirs() {
    let world = World::demo().await;
    let fault = Fault::Error {
        status: 503,
        code: "x".to_owned(),
        message: "later".to_owned(),
    };
    world.sandbox.faults().set("*", "/computeMetadata/", fault);
    let reply = read(&world, "project/project-id").await;
    assert_eq!(
        (
            reply.status,
            reply.header("metadata-flavor"),
            reply.body.as_str()
        ),
        (503, "Google", "later")
    );
    let reply = ask(&world, "/latest/meta-data/placement/region", &[]).await;
    assert_eq!((reply.status, reply.header("metadata-flavor")), (401, ""));
}
