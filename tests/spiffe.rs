//! The spiffe provider and the host's signer, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::{
    ClusterReference, CredentialRequest, CredentialRequestBuilder, ErrorKind, Material,
    ObjectReference, Origination, Repository, SubjectReference,
};
use gatepass_sandbox::{Clock, Rule, TrustedIssuer};
use gatepass_tests::house::House;
use gatepass_tests::signing::{ISSUER, SigningSecret};
use std::time::Duration;

const ID: &str = "spiffe://example.org/ocirepositories/tenant-a/app";

fn request() -> CredentialRequestBuilder {
    let object = ObjectReference {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: "OCIRepository".into(),
        resource: "ocirepositories".into(),
        namespace: "tenant-a".into(),
        name: "app".into(),
        uid: "5a7c".into(),
    };
    CredentialRequest::builder("spiffe").subject(SubjectReference::Object(object))
}

async fn house() -> House {
    House::signing(&["spiffe"]).await.unwrap()
}

fn claims(material: &Material) -> serde_json::Value {
    use base64::Engine as _;
    let Material::Bearer(token) = material else {
        panic!("{material:?}");
    };
    let payload = token.expose().split('.').nth(1).unwrap();
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    serde_json::from_slice(&engine.decode(payload).unwrap()).unwrap()
}

#[tokio::test]
async fn an_object_gets_a_token_in_its_own_name() {
    let house = house().await;
    let request = request()
        .audiences(["https://registry.example"])
        .build()
        .unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert_eq!(&*issued.identity, ID);
    let claims = claims(issued.value.material());
    assert_eq!(
        (&claims["iss"], &claims["sub"]),
        (&ISSUER.into(), &ID.into())
    );
    assert_eq!(
        claims["aud"],
        serde_json::json!(["https://registry.example"])
    );
    assert_eq!(
        claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(),
        3600
    );
    let again = house.host.access_token(&request).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
    assert_eq!(house.tokens(), 0, "no ServiceAccount is behind it");
}

#[tokio::test]
async fn a_cluster_that_trusts_the_issuer_lets_the_object_in() {
    let house = house().await;
    let workload = house.sandbox.workload().unwrap();
    workload.trust(TrustedIssuer {
        url: ISSUER.into(),
        audiences: vec![workload.url()],
        username_prefix: String::new(),
    });
    let rule = Rule::allow(ID, &["get"], &["configmaps"]);
    workload.allow(rule.in_namespace("tenant-a"));
    let cluster = ClusterReference {
        address: Some(workload.url()),
        ca: Some(house.sandbox.ca_pem().parse().unwrap()),
        name: None,
    };
    let greeting = house
        .greeting(request().build().unwrap(), cluster, "tenant-a")
        .await;
    assert_eq!(greeting.unwrap(), "tenant-a");
}

#[tokio::test]
async fn an_object_gets_a_certificate_and_its_key() {
    let house = house().await;
    let request = request()
        .parameter("type", "SpiffeCertificate")
        .build()
        .unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let Material::X509(x509) = issued.value.material() else {
        panic!("{issued:?}");
    };
    assert!(x509.certificate_chain.contains("BEGIN CERTIFICATE"));
    let life = issued
        .value
        .expires_at()
        .duration_since(house.sandbox.clock().now())
        .unwrap();
    assert!(life <= Duration::from_secs(3600), "{life:?}");
    let repository: Repository = "registry.example/app".parse().unwrap();
    let login = house
        .host
        .registry_credential(&request, &repository)
        .await
        .unwrap();
    assert!(matches!(login.value.login().material(), Material::X509(_)));
}

#[tokio::test]
async fn a_rotated_key_signs_at_once_and_the_old_one_is_published_on() {
    let house = house().await;
    let request = request().audiences(["a"]).build().unwrap();
    house.host.access_token(&request).await.unwrap();
    let signer = house.signer.clone().unwrap();
    let (now, before) = (house.sandbox.clock().now(), signer.key_id().unwrap());
    SigningSecret::new().unwrap().apply(&house.sandbox).unwrap();
    let rotated = async {
        while signer.key_id().unwrap() == before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), rotated)
        .await
        .unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert_eq!(issued.origination, Origination::Exchange);
    assert_eq!(signer.jwks(now)["keys"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_cannot_be_signed_is_refused_by_who_must_act() {
    let house = house().await;
    for (builder, words) in [
        (request(), "audience"),
        (
            request()
                .parameter("type", "SpiffeCertificate")
                .audiences(["a"]),
            "audience",
        ),
        (request().audiences(["a"]).scopes(["s"]), "scopes"),
        (
            request().audiences(["a"]).parameter("type", "Other"),
            "type",
        ),
        (
            CredentialRequest::builder("spiffe").audiences(["a"]),
            "start",
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
    let own = request()
        .audiences(["https://kubernetes.default.svc"])
        .build()
        .unwrap();
    let error = house.host.access_token(&own).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    assert_eq!(house.host.cached().await, 0);
}

#[tokio::test]
async fn without_a_signer_an_object_has_no_identity() {
    let house = House::serving(&["spiffe"]).await.unwrap();
    let request = request().audiences(["a"]).build().unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.is_terminal());
}

#[tokio::test]
async fn with_the_gate_closed_an_object_gets_nothing() {
    let house = House::with(|config| {
        config.plugins = gatepass::config::HostConfig::bundled(&["spiffe"]).plugins;
        config.feature_gates.clear();
    });
    let request = request().audiences(["a"]).build().unwrap();
    let error = house
        .await
        .unwrap()
        .host
        .access_token(&request)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gate, "{error}");
}

#[tokio::test]
async fn a_relying_party_is_told_whom_to_trust() {
    let house = house().await;
    let request = request().audiences(["a"]).build().unwrap();
    let policy = house.host.trust_policy(&request, None).await.unwrap();
    assert_eq!(policy.issuer, ISSUER);
    assert!(policy.text.contains(ID), "{}", policy.text);
}
