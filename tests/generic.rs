//! The generic provider, as wasm in the host, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use async_trait::async_trait;
use gatepass::environment::FixedEnvironment;
use gatepass::kubernetes::AccessSource;
use gatepass::{
    ClusterAccess, ClusterReference, CredentialRequest, CredentialRequestBuilder, Error, ErrorKind,
    Material, Origination, Repository,
};
use gatepass_sandbox::Rule;
use gatepass_tests::house::House;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn request() -> CredentialRequestBuilder {
    CredentialRequest::builder("generic").service_account("tenant-a", "workload")
}

async fn house() -> House {
    House::new().await.unwrap()
}

fn claims(material: &Material) -> serde_json::Value {
    use base64::Engine as _;
    let Material::Bearer(token) = material else {
        panic!("{material:?}");
    };
    let payload = token.expose().split('.').nth(1).unwrap();
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(payload)
        .unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn the_credential_is_the_accounts_own_token_for_the_audiences() {
    let house = house().await;
    let request = request().audiences(["a", "b"]).build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let claims = claims(issued.value.material());
    assert_eq!(claims["aud"], serde_json::json!(["a", "b"]));
    assert_eq!(claims["sub"], "system:serviceaccount:tenant-a:workload");
    assert_eq!(&*issued.identity, "system:serviceaccount:tenant-a:workload");
    assert_eq!(
        house.host.access_token(&request).await.unwrap().origination,
        Origination::Cache
    );
}

/// A house whose process runs under this account at the API server.
async fn house_of(user: &str) -> House {
    let furnish = |sandbox: &gatepass_sandbox::Sandbox, _: &mut _| {
        let kubernetes = sandbox.kubernetes();
        kubernetes
            .apply_service_account("gatepass", "host", &[])
            .unwrap();
        kubernetes.allow(Rule::allow(user, &["get"], &["serviceaccounts"]));
        kubernetes.allow(Rule::allow(user, &["create"], &["serviceaccounts/token"]));
        FixedEnvironment::default()
    };
    House::run_by(user, furnish).await.unwrap()
}

#[tokio::test]
async fn a_request_for_nobody_is_by_the_account_of_the_process_itself() {
    let house = house_of("system:serviceaccount:gatepass:host").await;
    let request = CredentialRequest::builder("generic").audiences(["vault.example"]);
    let issued = house
        .host
        .access_token(&request.build().unwrap())
        .await
        .unwrap();
    assert_eq!(&*issued.identity, "system:serviceaccount:gatepass:host");
    assert_eq!(
        claims(issued.value.material())["aud"],
        serde_json::json!(["vault.example"])
    );
}

#[tokio::test]
async fn a_process_that_is_no_account_is_told_to_name_one() {
    let house = house_of("jane").await;
    let request = CredentialRequest::builder("generic").audiences(["vault.example"]);
    let error = house
        .host
        .access_token(&request.build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ServiceAccount, "{error}");
    assert_eq!((house.host.cached().await, house.tokens()), (0, 0));
}

#[tokio::test]
async fn a_registry_gets_the_token_as_bearer_with_itself_as_audience() {
    let house = house().await;
    let repository: Repository = "oci://zot.example:5000/team/app".parse().unwrap();
    let issued = house
        .host
        .registry_credential(&request().build().unwrap(), &repository)
        .await
        .unwrap();
    assert_eq!(issued.value.host(), "zot.example:5000");
    let audience = &claims(issued.value.login().material())["aud"];
    assert!(
        audience[0].as_str().unwrap().contains("zot.example:5000"),
        "{audience}"
    );
}

#[tokio::test]
async fn a_cluster_that_trusts_the_issuer_lets_the_account_in() {
    let house = house().await;
    let workload = house.sandbox.workload().unwrap();
    let cluster = ClusterReference {
        address: Some(workload.url()),
        ca: Some(house.sandbox.ca_pem().parse().unwrap()),
        name: None,
    };
    let source = house
        .host
        .cluster_source(request().build().unwrap(), cluster);
    let client = gatepass::kubernetes::client(source).await.unwrap();
    let greetings: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(client, "tenant-a");
    assert!(greetings.get("greeting").await.is_ok());
}

#[tokio::test]
async fn a_configuration_of_a_client_holds_the_token_as_it_is_now() {
    let house = house().await;
    let workload = house.sandbox.workload().unwrap();
    let cluster = ClusterReference {
        address: Some(workload.url()),
        ca: Some(house.sandbox.ca_pem().parse().unwrap()),
        name: None,
    };
    let access = house
        .host
        .cluster_access(&request().build().unwrap(), &cluster)
        .await
        .unwrap();
    let config = gatepass::kubernetes::config(&access.value).unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let greetings: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(client, "tenant-a");
    assert!(greetings.get("greeting").await.is_ok());
}

#[tokio::test]
async fn what_has_no_effect_is_refused() {
    let house = house().await;
    let cases = [
        (request(), "audience"),
        (request().audiences(["a"]).region("us-east-1"), "region"),
        (request().audiences(["a"]).scopes(["s"]), "scope"),
        (
            request().audiences(["a"]).endpoint("https://a.example"),
            "endpoint",
        ),
        (request().audiences(["a"]).parameter("x", "y"), "x"),
    ];
    for (builder, expected) in cases {
        let error = house
            .host
            .access_token(&builder.build().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(
            error.to_string().contains(expected),
            "{error} lacks {expected}"
        );
    }
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn no_token_is_made_for_the_api_server_itself() {
    let house = house().await;
    let request = request()
        .audiences(["https://kubernetes.default.svc"])
        .build()
        .unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn clusters_without_a_good_address_are_refused() {
    let house = house().await;
    let reference = |name: Option<&str>, address: Option<&str>| ClusterReference {
        name: name.map(Into::into),
        address: address.map(Into::into),
        ca: None,
    };
    let cases = [
        reference(Some("c"), None),
        reference(Some("c"), Some("https://a.example")),
        reference(None, Some("http://a.example")),
        reference(None, Some("https://u@a.example")),
        reference(None, Some("https://")),
    ];
    for cluster in cases {
        let error = house
            .host
            .cluster_access(&request().build().unwrap(), &cluster)
            .await
            .unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::Configuration,
            "{cluster:?}: {error}"
        );
    }
    assert_eq!(house.tokens(), 0);
}

/// A cluster that is somewhere else from the second access on.
struct Moving {
    accesses: [Arc<ClusterAccess>; 2],
    asked: AtomicUsize,
}

#[async_trait]
impl AccessSource for Moving {
    async fn access(&self) -> Result<Arc<ClusterAccess>, Error> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::clone(&self.accesses[asked.min(1)]))
    }
}

#[tokio::test]
async fn a_client_sends_no_token_to_where_its_cluster_was() {
    let house = house().await;
    let other = house.sandbox.add_cluster().unwrap();
    let workload = house.sandbox.workload().unwrap();
    let mut accesses = Vec::new();
    for address in [workload.url(), other.url()] {
        let cluster = ClusterReference {
            address: Some(address),
            ca: Some(house.sandbox.ca_pem().parse().unwrap()),
            name: None,
        };
        let request = request().build().unwrap();
        let access = house.host.cluster_access(&request, &cluster).await;
        accesses.push(access.unwrap().value);
    }
    let source = Moving {
        accesses: accesses.try_into().unwrap(),
        asked: AtomicUsize::new(0),
    };
    let client = gatepass::kubernetes::client(Arc::new(source))
        .await
        .unwrap();
    let before = house.sandbox.requests().len();
    let error = client.apiserver_version().await.unwrap_err();
    assert!(format!("{error:?}").contains("no longer at"), "{error:?}");
    assert_eq!(house.sandbox.requests().len(), before, "nothing was sent");
}
