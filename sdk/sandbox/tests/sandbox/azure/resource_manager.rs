//! Resource Manager, and the AKS clusters that it describes.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sandbox::{AksRole, AzureCloud};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::{AKS, CLIENT, DIRECTORY, MANAGEMENT, OTHER_CLIENT, REGISTRY, access_token, text};
use crate::world::{Reply, World};

const CLUSTER: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ContainerService/managedClusters/demo";
const VERSION: &str = "?api-version=2024-10-01";
const HOUR: Duration = Duration::from_secs(3_600);

async fn ask(world: &World, method: &str, path: &str, token: &str) -> Reply {
    let mut request = http::Request::builder()
        .method(method)
        .uri(format!("https://management.azure.com{path}"));
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if method == "POST" {
        request = request.header("content-length", "0");
    }
    world.send(request.body(String::new()).unwrap()).await
}

async fn describe(world: &World, token: &str) -> Reply {
    ask(world, "GET", &format!("{CLUSTER}{VERSION}"), token).await
}

async fn kubeconfig(world: &World, token: &str) -> Reply {
    let path = format!("{CLUSTER}/listClusterUserCredential{VERSION}");
    ask(world, "POST", &path, token).await
}

#[track_caller]
fn assert_code(reply: &Reply, status: u16, code: &str) {
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (status, &code.into()),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn a_described_cluster_is_reachable_with_a_token_for_aks() {
    let world = World::demo().await;
    let manager = access_token(&world, MANAGEMENT).await;
    let description = describe(&world, &manager).await.json();
    assert_eq!(description["id"], CLUSTER);
    let profile = &description["properties"]["aadProfile"];
    assert_eq!(
        (&profile["managed"], &profile["tenantID"]),
        (&true.into(), &DIRECTORY.into())
    );
    let reply = kubeconfig(&world, &manager).await;
    let listed = &reply.json()["kubeconfigs"][0];
    assert_eq!(listed["name"], "clusterUser");
    let yaml = STANDARD.decode(text(listed, "value")).unwrap();
    let yaml = String::from_utf8(yaml).unwrap();
    let cluster = world.sandbox.azure().aks(CLUSTER).unwrap();
    assert!(
        yaml.contains(&format!("server: \"{}\"", cluster.kubernetes().url())),
        "{yaml}"
    );
    assert!(
        yaml.contains(&STANDARD.encode(world.sandbox.ca_pem())),
        "{yaml}"
    );
    assert!(
        yaml.contains("command: kubelogin") && !yaml.contains("token: "),
        "{yaml}"
    );
    let bearer = access_token(&world, AKS).await;
    let greeting = |tenant: &str| {
        format!(
            "{}/api/v1/namespaces/{tenant}/configmaps/greeting",
            cluster.kubernetes().url()
        )
    };
    let reply = world.bearer(&greeting("tenant-a"), &bearer).await;
    assert_eq!(
        (reply.status, &reply.json()["data"]["tenant"]),
        (200, &"tenant-a".into()),
        "{}",
        reply.body
    );
    assert_eq!(
        world.bearer(&greeting("tenant-b"), &bearer).await.status,
        403
    );
    // A token for anything else is no login.
    assert_eq!(
        world.bearer(&greeting("tenant-a"), &manager).await.status,
        401
    );
    world.sandbox.advance(HOUR);
    assert_eq!(
        world.bearer(&greeting("tenant-a"), &bearer).await.status,
        401
    );
}

#[tokio::test]
async fn a_cluster_lets_only_mapped_principals_of_its_tenant_in() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let cluster = azure.aks(CLUSTER).unwrap();
    let url = format!("{}/version", cluster.kubernetes().url());
    let audience = "6dae42f8-4368-4678-94ff-3960e28e3630";
    let elsewhere = "44444444-4444-4444-4444-444444444444";
    let foreigner = "55555555-5555-5555-5555-555555555555";
    azure
        .tenant(AzureCloud::Public, elsewhere, "e.example")
        .unwrap();
    azure.application(elsewhere, foreigner).unwrap();
    cluster.map_principal(foreigner, "tenant-a", &[]);
    let good = azure.access_token(CLIENT, audience, HOUR).unwrap();
    let foreign = azure.access_token(foreigner, audience, HOUR).unwrap();
    let stranger = "66666666-6666-6666-6666-666666666666";
    azure.application(DIRECTORY, stranger).unwrap();
    let unmapped = azure.access_token(stranger, audience, HOUR).unwrap();
    assert_eq!(world.bearer(&url, &good).await.status, 200);
    for token in [&foreign, &unmapped, &format!("{good}x")] {
        assert_eq!(world.bearer(&url, token).await.status, 401);
    }
    cluster.integrate_entra(false);
    assert_eq!(world.bearer(&url, &good).await.status, 401);
    let manager = access_token(&world, MANAGEMENT).await;
    let description = describe(&world, &manager).await.json();
    assert!(description["properties"]["aadProfile"].is_null());
    let listed = kubeconfig(&world, &manager).await.json();
    let yaml = STANDARD
        .decode(text(&listed["kubeconfigs"][0], "value"))
        .unwrap();
    let yaml = String::from_utf8(yaml).unwrap();
    assert!(
        yaml.contains("token: ") && !yaml.contains("exec:"),
        "{yaml}"
    );
}

#[tokio::test]
async fn tokens_that_are_not_for_resource_manager_are_told_apart() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    for audience in [
        "https://management.core.windows.net/",
        "https://management.core.windows.net",
        "https://management.azure.com/",
        "https://management.azure.com",
    ] {
        let token = azure.access_token(CLIENT, audience, HOUR).unwrap();
        assert_eq!(describe(&world, &token).await.status, 200, "{audience}");
    }
    let reply = describe(&world, "").await;
    assert_code(&reply, 401, "AuthenticationFailed");
    assert!(
        reply
            .header("www-authenticate")
            .starts_with("Bearer authorization_uri=")
    );
    let reply = describe(&world, "nonsense").await;
    assert_code(&reply, 401, "InvalidAuthenticationToken");
    let wrong = access_token(&world, REGISTRY).await;
    let reply = describe(&world, &wrong).await;
    assert_code(&reply, 401, "InvalidAuthenticationTokenAudience");
    assert!(
        reply.body.contains("'https://containerregistry.azure.net'"),
        "{}",
        reply.body
    );
    let audience = "https://management.azure.com";
    let ended = azure
        .access_token(CLIENT, audience, Duration::ZERO)
        .unwrap();
    assert_code(
        &describe(&world, &ended).await,
        401,
        "ExpiredAuthenticationToken",
    );
    let elsewhere = "44444444-4444-4444-4444-444444444444";
    let foreigner = "55555555-5555-5555-5555-555555555555";
    azure
        .tenant(AzureCloud::Public, elsewhere, "e.example")
        .unwrap();
    azure.application(elsewhere, foreigner).unwrap();
    let foreign = azure.access_token(foreigner, audience, HOUR).unwrap();
    assert_code(
        &describe(&world, &foreign).await,
        401,
        "InvalidAuthenticationTokenTenant",
    );
}

#[tokio::test]
async fn a_principal_does_what_its_role_says() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let cluster = azure.aks(CLUSTER).unwrap();
    let stranger = "66666666-6666-6666-6666-666666666666";
    let object = azure.application(DIRECTORY, stranger).unwrap();
    let audience = "https://management.azure.com";
    let token = azure.access_token(stranger, audience, HOUR).unwrap();
    let reply = describe(&world, &token).await;
    assert_code(&reply, 403, "AuthorizationFailed");
    let expected = format!(
        "The client '{stranger}' with object id '{object}' does not have authorization to perform \
         action 'Microsoft.ContainerService/managedClusters/read' over scope '{CLUSTER}'"
    );
    let message = reply.json()["error"]["message"].clone();
    assert!(
        message.as_str().unwrap().starts_with(&expected),
        "{message}"
    );
    cluster.assign_role(stranger, AksRole::Reader);
    assert_eq!(describe(&world, &token).await.status, 200);
    assert_code(
        &kubeconfig(&world, &token).await,
        403,
        "AuthorizationFailed",
    );
    cluster.assign_role(stranger, AksRole::ClusterUser);
    assert_eq!(kubeconfig(&world, &token).await.status, 200);
    let other = azure.access_token(OTHER_CLIENT, audience, HOUR).unwrap();
    assert_eq!(kubeconfig(&world, &other).await.status, 200);
}

#[tokio::test]
async fn a_path_is_read_in_any_case_and_a_wrong_one_is_refused() {
    let world = World::demo().await;
    let token = access_token(&world, MANAGEMENT).await;
    let upper = format!("{}{VERSION}", CLUSTER.to_uppercase());
    assert_eq!(ask(&world, "GET", &upper, &token).await.status, 200);
    let nobody = CLUSTER.replace("2222-", "3333-");
    for (method, path, status, code) in [
        ("GET", CLUSTER.to_owned(), 400, "MissingApiVersionParameter"),
        (
            "GET",
            format!("{CLUSTER}?api-version="),
            400,
            "MissingApiVersionParameter",
        ),
        (
            "GET",
            format!("{CLUSTER}?api-version=latest"),
            400,
            "InvalidApiVersionParameter",
        ),
        (
            "GET",
            format!("{CLUSTER}2{VERSION}"),
            404,
            "ResourceNotFound",
        ),
        (
            "GET",
            format!("{nobody}{VERSION}"),
            404,
            "SubscriptionNotFound",
        ),
        (
            "GET",
            format!("{CLUSTER}/agentPools{VERSION}"),
            404,
            "InvalidResourceType",
        ),
        (
            "POST",
            format!("{CLUSTER}{VERSION}"),
            404,
            "InvalidResourceType",
        ),
        (
            "DELETE",
            format!("{CLUSTER}{VERSION}"),
            404,
            "InvalidResourceType",
        ),
    ] {
        let reply = ask(&world, method, &path, &token).await;
        assert_code(&reply, status, code);
    }
}

/// Sends bytes as they are and reads the answer's first line.
async fn status_line(world: &World, request: &str) -> String {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(world.sandbox.ca_pem().as_bytes());
    roots.add(authority.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(world.sandbox.address())
        .await
        .unwrap();
    let name = ServerName::try_from("management.azure.com").unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(name, stream).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await.unwrap();
    line
}

#[tokio::test]
async fn a_post_without_a_length_is_refused_before_it_is_read() {
    let world = World::demo().await;
    let token = access_token(&world, MANAGEMENT).await;
    let head = format!(
        "POST {CLUSTER}/listClusterUserCredential{VERSION} HTTP/1.1\r\n\
         Host: management.azure.com\r\nAuthorization: Bearer {token}\r\n"
    );
    for (rest, status) in [("\r\n", "411"), ("Content-Length: 0\r\n\r\n", "200")] {
        let line = status_line(&world, &format!("{head}{rest}")).await;
        assert!(line.starts_with(&format!("HTTP/1.1 {status} ")), "{line}");
    }
}

#[tokio::test]
async fn a_sovereign_cluster_is_known_to_its_own_resource_manager() {
    let world = World::demo().await;
    let azure = world.sandbox.azure();
    let (tenant, client) = (
        "77777777-7777-7777-7777-777777777777",
        "88888888-8888-8888-8888-888888888888",
    );
    azure
        .tenant(AzureCloud::UsGovernment, tenant, "gov.example")
        .unwrap();
    azure.application(tenant, client).unwrap();
    let id = CLUSTER.replace("2222-", "7777-");
    let cluster = azure.cluster(&id, tenant).unwrap();
    cluster.assign_role(client, AksRole::Reader);
    let audience = "https://management.core.usgovcloudapi.net/";
    let token = azure.access_token(client, audience, HOUR).unwrap();
    let url = |host: &str| format!("https://{host}{id}{VERSION}");
    let reply = world
        .bearer(&url("management.usgovcloudapi.net"), &token)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let reply = world.bearer(&url("management.azure.com"), &token).await;
    assert_code(&reply, 401, "InvalidAuthenticationToken");
    let public = access_token(&world, MANAGEMENT).await;
    let reply = world.bearer(&url("management.azure.com"), &public).await;
    assert_code(&reply, 404, "SubscriptionNotFound");
}
