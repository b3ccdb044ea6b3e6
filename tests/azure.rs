//! The azure provider, as wasm in the host, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::environment::FixedEnvironment;
use gatepass::{
    ClusterReference, CredentialRequest, CredentialRequestBuilder, ErrorKind, Material,
    Origination, Repository,
};
use gatepass_sandbox::{Fault, Sandbox};
use gatepass_tests::house::House;
use std::time::Duration;

const DIRECTORY: &str = "11111111-1111-1111-1111-111111111111";
const CLIENT: &str = "00000000-0000-0000-0000-00000000000a";
const CLUSTER: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ContainerService/managedClusters/demo";
const TOKEN_PATH: &str = "/oauth2/v2.0/token";

fn request() -> CredentialRequestBuilder {
    CredentialRequest::builder("azure").service_account("tenant-a", "tenant-a-azure-sa")
}

fn cluster() -> ClusterReference {
    ClusterReference {
        name: Some(CLUSTER.into()),
        ..ClusterReference::default()
    }
}

fn repository() -> Repository {
    "tenanta.azurecr.io/app".parse().unwrap()
}

async fn house() -> House {
    House::serving(&["azure"]).await.unwrap()
}

/// How often Entra was asked for a token.
fn asked(house: &House) -> usize {
    let requests = house.sandbox.requests();
    let token = |path: &str| path.ends_with(TOKEN_PATH);
    requests
        .iter()
        .filter(|request| token(&request.path))
        .count()
}

#[tokio::test]
async fn a_service_account_becomes_its_application() {
    let house = house().await;
    let request = request().build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert_eq!(&*issued.identity, format!("{DIRECTORY}/{CLIENT}"));
    assert!(matches!(issued.value.material(), Material::Bearer(_)));
    let again = house.host.access_token(&request).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
    assert_eq!((house.tokens(), asked(&house)), (1, 1));
}

#[tokio::test]
async fn the_tenant_may_come_from_the_host() {
    let environment =
        |_: &Sandbox| FixedEnvironment::default().variable("AZURE_TENANT_ID", DIRECTORY);
    let house = House::ambient(&["azure"], environment).await.unwrap();
    let annotation = ("azure.workload.identity/client-id", CLIENT);
    house
        .sandbox
        .kubernetes()
        .apply_service_account("tenant-a", "tenant-a-azure-sa", &[annotation])
        .unwrap();
    let issued = house
        .host
        .access_token(&request().build().unwrap())
        .await
        .unwrap();
    assert_eq!(&*issued.identity, format!("{DIRECTORY}/{CLIENT}"));
}

#[tokio::test]
async fn a_registry_takes_the_login() {
    let house = house().await;
    let request = request().build().unwrap();
    let issued = house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    let Material::Basic(basic) = issued.value.login().material() else {
        panic!("{:?}", issued.value);
    };
    let azure = house.sandbox.azure();
    let login = azure.verify_registry_login(basic.username.expose(), basic.password.expose());
    assert!(login.is_some());
}

#[tokio::test]
async fn a_registry_of_another_tenant_denies() {
    let house = house().await;
    let foreign = "tenantb.azurecr.io/app".parse().unwrap();
    let request = request().build().unwrap();
    let error = house
        .host
        .registry_credential(&request, &foreign)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[tokio::test]
async fn a_cluster_lets_the_application_in() {
    let house = house().await;
    let greeting = house
        .greeting(request().build().unwrap(), cluster(), "tenant-a")
        .await;
    assert_eq!(greeting.unwrap(), "tenant-a");
}

#[tokio::test]
async fn the_process_becomes_the_machines_identity() {
    let house = house().await;
    let request = CredentialRequest::builder("azure").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert!(matches!(issued.value.material(), Material::Bearer(_)));
    let source = issued
        .value
        .attributes()
        .iter()
        .find(|(name, _)| name == "source");
    assert!(source.is_some(), "{:?}", issued.value.attributes());
    assert_eq!(house.tokens(), 0);
    house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    let access = house
        .host
        .cluster_access(&request, &cluster())
        .await
        .unwrap();
    assert!(access.value.ca().is_some());
}

#[tokio::test]
async fn the_process_becomes_the_application_of_its_environment() {
    let environment = |sandbox: &Sandbox| {
        let secret = sandbox.azure().secret(CLIENT).unwrap();
        FixedEnvironment::default()
            .variable("AZURE_TENANT_ID", DIRECTORY)
            .variable("AZURE_CLIENT_ID", CLIENT)
            .variable("AZURE_CLIENT_SECRET", secret)
    };
    let house = House::ambient(&["azure"], environment).await.unwrap();
    let request = CredentialRequest::builder("azure").build().unwrap();
    house.host.access_token(&request).await.unwrap();
    assert_eq!(asked(&house), 1);
}

#[tokio::test]
async fn a_subject_that_is_not_trusted_is_denied_and_told_why() {
    let house = house().await;
    let annotations = [
        (
            "azure.workload.identity/client-id",
            "00000000-0000-0000-0000-00000000000b",
        ),
        ("azure.workload.identity/tenant-id", DIRECTORY),
    ];
    let kubernetes = house.sandbox.kubernetes();
    kubernetes
        .apply_service_account("tenant-a", "thief", &annotations)
        .unwrap();
    let request = CredentialRequest::builder("azure").service_account("tenant-a", "thief");
    let error = house
        .host
        .access_token(&request.build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("AADSTS"), "{error}");
    assert!(error.to_string().contains("case"), "{error}");
    assert_eq!((house.host.cached().await, asked(&house)), (0, 1));
}

#[tokio::test]
async fn trust_that_is_not_known_yet_is_waited_for() {
    let house = house().await;
    house.sandbox.azure().not_yet(CLIENT, 1).unwrap();
    let issued = house.host.access_token(&request().build().unwrap()).await;
    assert!(issued.is_ok(), "{issued:?}");
    assert_eq!(asked(&house), 2);
}

#[tokio::test]
async fn what_is_written_wrongly_is_refused_before_anything_is_sent() {
    let house = house().await;
    let kubernetes = house.sandbox.kubernetes();
    let broken = [("azure.workload.identity/client-id", "not a client")];
    kubernetes
        .apply_service_account("tenant-a", "broken", &broken)
        .unwrap();
    kubernetes
        .apply_service_account("tenant-a", "bare", &[])
        .unwrap();
    let account = |name| CredentialRequest::builder("azure").service_account("tenant-a", name);
    for (builder, words) in [
        (account("broken"), "not a client"),
        (account("bare"), "client-id"),
        (request().region("westeurope"), "region"),
        (request().parameter("cloud", "moon"), "cloud"),
        (
            request().endpoint("https://login.microsoftonline.com.evil.example"),
            "endpoint",
        ),
    ] {
        let error = house
            .host
            .access_token(&builder.build().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(words), "{error} lacks {words}");
    }
    assert_eq!((house.tokens(), asked(&house)), (0, 0));
}

#[tokio::test]
async fn answers_that_are_none_are_not_kept() {
    let host = "login.microsoftonline.com";
    for fault in [
        Fault::CutOff,
        Fault::Body(b"null".to_vec()),
        Fault::Body(b"{}".to_vec()),
        Fault::Body(
            b"{\"token_type\":\"Bearer\",\"access_token\":\"t\",\"expires_in\":0}".to_vec(),
        ),
        Fault::Body(b"{\"token_type\":\"Bearer\",\"access_token\":7,\"expires_in\":3600}".to_vec()),
        Fault::Body(vec![b'['; 100_000]),
        Fault::Redirect("https://evil.example/".into()),
        Fault::Throttle(Duration::from_secs(1)),
    ] {
        let house = House::with(|config| {
            config.plugins = gatepass::config::HostConfig::bundled(&["azure"]).plugins;
            config.retry.max_attempts = Some(1);
        });
        let house = house.await.unwrap();
        house.sandbox.faults().set(host, "*", fault.clone());
        let outcome = house.host.access_token(&request().build().unwrap()).await;
        assert!(outcome.is_err(), "{fault:?}");
        assert_eq!(house.host.cached().await, 0, "{fault:?}");
    }
}

#[tokio::test]
async fn the_trust_that_the_application_needs_is_told() {
    let house = house().await;
    let issuer = "https://issuer.example";
    let request = request().build().unwrap();
    let policy = house
        .host
        .trust_policy(&request, Some(issuer))
        .await
        .unwrap();
    for expected in [
        CLIENT,
        issuer,
        "system:serviceaccount:tenant-a:tenant-a-azure-sa",
        "api://AzureADTokenExchange",
    ] {
        assert!(
            policy.text.contains(expected),
            "{expected} in {}",
            policy.text
        );
    }
    assert_eq!((house.tokens(), asked(&house)), (0, 0));
}

#[tokio::test]
async fn a_git_remote_takes_the_token_as_a_bearer() {
    let house = house().await;
    let request = request().build().unwrap();
    let url = "https://dev.azure.com/acme/shop/_git/app".parse().unwrap();
    let login = house.host.git_credential(&request, &url).await.unwrap();
    assert!(matches!(login.value.material(), Material::Bearer(_)));
    let foreign = "https://dev.azure.com.evil.example/acme".parse().unwrap();
    let error = house
        .host
        .git_credential(&request, &foreign)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}
