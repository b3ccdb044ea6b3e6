//! GKE: the description of a cluster, and the tokens that its API server takes.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{CLOUD_PLATFORM, CONTROLLER, TENANT, assert_api_error};
use crate::world::World;

const CLUSTER: &str = "projects/demo-project/locations/us-central1/clusters/demo";

async fn describe(world: &World, token: &str, name: &str) -> crate::world::Reply {
    world
        .bearer(
            &format!("https://container.googleapis.com/v1/{name}"),
            token,
        )
        .await
}

fn greeting(address: &str, tenant: &str) -> String {
    format!("https://{address}/api/v1/namespaces/{tenant}/configmaps/greeting")
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[tokio::test]
async fn a_described_cluster_lets_each_tenant_into_its_namespace() {
    let world = World::demo().await;
    let direct = world.federate("tenant-a-gcp-direct-sa").await;
    let account = world
        .impersonate(&world.federate("tenant-a-gcp-sa").await, TENANT)
        .await;
    for token in [direct, account] {
        let reply = describe(&world, &token, CLUSTER).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let cluster = reply.json();
        assert_eq!(text(&cluster, "/status"), "RUNNING");
        let authority = STANDARD.decode(text(&cluster, "/masterAuth/clusterCaCertificate"));
        assert_eq!(authority.unwrap(), world.sandbox.ca_pem().as_bytes());
        for endpoint in [
            "/endpoint",
            "/privateClusterConfig/privateEndpoint",
            "/controlPlaneEndpointsConfig/dnsEndpointConfig/endpoint",
        ] {
            let address = text(&cluster, endpoint);
            assert!(
                !address.contains("://") && !address.is_empty(),
                "{endpoint}"
            );
            let reply = world.bearer(&greeting(address, "tenant-a"), &token).await;
            assert_eq!(
                (reply.status, &reply.json()["data"]["tenant"]),
                (200, &"tenant-a".into()),
                "{endpoint}: {}",
                reply.body
            );
            let reply = world.bearer(&greeting(address, "tenant-b"), &token).await;
            assert_eq!(reply.status, 403, "{endpoint}");
        }
    }
}

#[tokio::test]
async fn a_description_needs_a_permission_and_a_scope() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let hour = Duration::from_secs(3_600);
    let stranger = "stranger@demo-project.iam.gserviceaccount.com";
    google.service_account(stranger).unwrap();
    let full = google
        .access_token(CONTROLLER, &[CLOUD_PLATFORM], hour)
        .unwrap();
    let narrow = google
        .access_token(CONTROLLER, &["https://www.googleapis.com/auth/iam"], hour)
        .unwrap();
    let unknown = google
        .access_token(stranger, &[CLOUD_PLATFORM], hour)
        .unwrap();
    let missing = CLUSTER
        .replace("demo", "nope")
        .replace("nope-project", "demo-project");
    let elsewhere = CLUSTER.replace("demo-project", "elsewhere");
    for (token, name, code, status, message) in [
        (
            &narrow,
            CLUSTER,
            403,
            "PERMISSION_DENIED",
            "insufficient authentication scopes",
        ),
        (
            &unknown,
            CLUSTER,
            403,
            "PERMISSION_DENIED",
            "Required \"container.clusters.get\" permission(s) for \"projects/demo-project/locations/us-central1/clusters/demo\".",
        ),
        (
            &full,
            &elsewhere,
            403,
            "PERMISSION_DENIED",
            "container.clusters.get",
        ),
        (
            &full,
            &missing,
            404,
            "NOT_FOUND",
            "Not found: projects/demo-project/locations/us-central1/clusters/nope.",
        ),
        (
            &full,
            "projects/demo-project/zones/a/clusters/demo",
            404,
            "NOT_FOUND",
            "Method not found.",
        ),
        (
            &"nonsense".to_owned(),
            CLUSTER,
            401,
            "UNAUTHENTICATED",
            "OAuth 2 access token",
        ),
    ] {
        let reply = describe(&world, token, name).await;
        assert_api_error(&reply, code, status, message);
    }
}

#[tokio::test]
async fn a_cluster_can_lack_what_a_client_looks_for() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let cluster = google.gke(CLUSTER).unwrap();
    let token = google
        .access_token(CONTROLLER, &[CLOUD_PLATFORM], Duration::from_secs(60))
        .unwrap();
    cluster.enable_address(false);
    let description = describe(&world, &token, CLUSTER).await.json();
    assert!(description["endpoint"].is_null() && description["privateClusterConfig"].is_null());
    assert_eq!(
        text(
            &description,
            "/controlPlaneEndpointsConfig/dnsEndpointConfig/endpoint"
        ),
        cluster.dns_endpoint()
    );
    cluster.set_provisioning(true);
    let description = describe(&world, &token, CLUSTER).await.json();
    assert_eq!(text(&description, "/status"), "PROVISIONING");
    assert!(
        description["masterAuth"].is_null() && description["controlPlaneEndpointsConfig"].is_null()
    );
}

#[tokio::test]
async fn the_endpoint_with_a_name_asks_iam_first() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let cluster = google.gke(CLUSTER).unwrap();
    let url = greeting(cluster.dns_endpoint(), "tenant-a");
    let token = world.federate("tenant-a-gcp-direct-sa").await;
    assert_eq!(world.bearer(&url, &token).await.status, 200);
    let administrator = cluster.kubernetes().token("admin");
    let reply = world.bearer(&url, &administrator).await;
    assert_api_error(&reply, 401, "UNAUTHENTICATED", "OAuth 2 access token");
    let stranger = "stranger@demo-project.iam.gserviceaccount.com";
    google.service_account(stranger).unwrap();
    let stranger = google
        .access_token(stranger, &[CLOUD_PLATFORM], Duration::from_secs(60))
        .unwrap();
    let reply = world.bearer(&url, &stranger).await;
    assert_api_error(
        &reply,
        403,
        "PERMISSION_DENIED",
        "container.clusters.connect",
    );
    cluster.allow_external_traffic(false);
    let reply = world.bearer(&url, &token).await;
    assert_api_error(&reply, 403, "PERMISSION_DENIED", "no external traffic");
}

#[tokio::test]
async fn an_account_without_the_scope_for_its_address_is_a_number() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let cluster = google.gke(CLUSTER).unwrap();
    let email = "https://www.googleapis.com/auth/userinfo.email";
    let minute = Duration::from_secs(60);
    let url = greeting(&cluster.kubernetes().host(), "tenant-a");
    let named = google
        .access_token(TENANT, &[CLOUD_PLATFORM, email], minute)
        .unwrap();
    assert_eq!(world.bearer(&url, &named).await.status, 200);
    let numbered = google
        .access_token(TENANT, &[CLOUD_PLATFORM], minute)
        .unwrap();
    let reply = world.bearer(&url, &numbered).await;
    assert_eq!(reply.status, 403);
    assert!(
        reply.body.contains("User \\\"10000000000000000000"),
        "{}",
        reply.body
    );
    let scopeless = google.access_token(TENANT, &[email], minute).unwrap();
    assert_eq!(world.bearer(&url, &scopeless).await.status, 401);
    world.sandbox.advance(minute);
    assert_eq!(world.bearer(&url, &named).await.status, 401);
}
