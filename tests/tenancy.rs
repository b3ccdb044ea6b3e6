//! What keeps tenants apart, and within what the operator allows.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::{ClusterReference, CredentialRequest, ErrorKind, Origination};
use gatepass_tests::house::{House, tenant, tenant_a};

const EXCHANGE: &str = "AssumeRoleWithWebIdentity";

async fn house() -> House {
    House::new().await.unwrap()
}

#[tokio::test]
async fn the_gate_is_judged_before_anything_is_read() {
    let house = House::with(|config| config.feature_gates.clear())
        .await
        .unwrap();
    let before = house.sandbox.requests().len();
    for request in [tenant_a(), tenant("missing", "missing")] {
        let error = house
            .host
            .access_token(&request.unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Gate);
        assert!(error.is_terminal());
    }
    assert_eq!(house.sandbox.requests().len(), before);
}

#[tokio::test]
async fn the_default_account_stands_in_and_its_absence_is_the_lockdown() {
    let house =
        House::with(|config| config.default_service_account = Some("tenant-a-ecr-sa".into()))
            .await
            .unwrap();
    let request = |namespace| {
        CredentialRequest::builder("aws")
            .namespace(namespace)
            .region("us-east-1")
            .build()
            .unwrap()
    };
    let issued = house.host.access_token(&request("tenant-a")).await.unwrap();
    assert!(issued.identity.ends_with("role/tenant-a-ecr"));
    let error = house
        .host
        .access_token(&request("tenant-b"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lockdown);
    assert!(error.to_string().contains("failed to get service account 'tenant-b/tenant-a-ecr-sa': the specified default service account does not exist in the object namespace"), "{error}");
}

#[tokio::test]
async fn a_default_account_with_the_gate_off_is_no_host_at_all() {
    let refused = House::with(|config| {
        config.feature_gates.clear();
        config.default_service_account = Some("default".into());
    })
    .await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("ObjectLevelWorkloadIdentity"), "{message}");
}

#[tokio::test]
async fn with_a_default_account_nobody_gets_the_hosts_own_identity() {
    let house =
        House::with(|config| config.default_service_account = Some("tenant-a-ecr-sa".into()))
            .await
            .unwrap();
    let request = CredentialRequest::builder("aws")
        .region("us-east-1")
        .build()
        .unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lockdown, "{error}");
}

#[tokio::test]
async fn annotations_that_no_provider_names_do_not_matter() {
    let house = house().await;
    house.host.access_token(&tenant_a().unwrap()).await.unwrap();
    let role = (
        "eks.amazonaws.com/role-arn",
        "arn:aws:iam::123456789012:role/tenant-a-ecr",
    );
    let other = ("example.org/note", "changed");
    let kubernetes = house.sandbox.kubernetes();
    kubernetes
        .apply_service_account("tenant-a", "tenant-a-ecr-sa", &[role, other])
        .unwrap();
    let again = house.host.access_token(&tenant_a().unwrap()).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
}

#[tokio::test]
async fn an_audience_that_is_not_granted_is_refused_before_a_token_is_asked_for() {
    let house = house().await;
    let request = CredentialRequest::builder("aws")
        .service_account("tenant-a", "tenant-a-ecr-sa")
        .region("us-east-1")
        .audiences(["https://kubernetes.default.svc"])
        .build()
        .unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn a_host_that_is_not_granted_is_the_operators_to_grant() {
    let grant = gatepass::config::GrantConfig {
        hosts: vec!["https://sts.eu-central-1.amazonaws.com".into()],
        audiences: vec!["sts.amazonaws.com".into()],
        ..gatepass::config::GrantConfig::default()
    };
    let house = House::with(|config| config.plugins[0].grant = Some(grant))
        .await
        .unwrap();
    let error = house
        .host
        .access_token(&tenant_a().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    assert!(
        error.to_string().contains("sts.us-east-1.amazonaws.com"),
        "{error}"
    );
    assert_eq!(house.asked(EXCHANGE), 0, "the token left the host");
}

#[tokio::test]
async fn two_tenants_never_share_a_credential() {
    let house = house().await;
    let a = house.host.access_token(&tenant_a().unwrap()).await.unwrap();
    let b = tenant("tenant-b", "tenant-b-ecr-sa").unwrap();
    let b = house.host.access_token(&b).await.unwrap();
    assert_ne!(a.value, b.value);
    assert_ne!(a.identity, b.identity);
}

#[tokio::test]
async fn an_account_that_is_made_anew_gets_a_credential_of_its_own() {
    let house = house().await;
    let request = tenant_a().unwrap();
    house.host.access_token(&request).await.unwrap();
    let kubernetes = house.sandbox.kubernetes();
    kubernetes
        .delete_service_account("tenant-a", "tenant-a-ecr-sa")
        .unwrap();
    let role = (
        "eks.amazonaws.com/role-arn",
        "arn:aws:iam::123456789012:role/tenant-a-ecr",
    );
    kubernetes
        .apply_service_account("tenant-a", "tenant-a-ecr-sa", &[role])
        .unwrap();
    let again = house.host.access_token(&request).await.unwrap();
    assert_eq!(again.origination, Origination::Exchange);
}

/// An object that names no account, where no default one is enforced, acts with the process's identity: it
/// must not choose who is sent a token of it.
#[tokio::test]
async fn an_object_without_an_account_does_not_say_where_the_processs_token_goes() {
    let house = House::serving(&["gcp", "generic"]).await.unwrap();
    let of = |provider: &str| CredentialRequest::builder(provider).namespace("tenant-a");
    let evil = ClusterReference {
        address: Some("https://evil.example".into()),
        ca: Some(house.sandbox.ca_pem().parse().unwrap()),
        name: None,
    };
    for provider in ["gcp", "generic"] {
        let request = of(provider).audiences(["sts.amazonaws.com"]);
        let request = match provider {
            "gcp" => of(provider),
            _ => request,
        };
        let request = request.build().unwrap();
        let outcome = house.host.cluster_access(&request, &evil).await;
        assert_eq!(
            outcome.unwrap_err().kind(),
            ErrorKind::Configuration,
            "{provider}"
        );
    }
    let own = of("generic").audiences(["vault.example"]).build().unwrap();
    let error = house.host.access_token(&own).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    let tapped = of("gcp").ca(house.sandbox.ca_pem()).build().unwrap();
    let error = house.host.access_token(&tapped).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert_eq!((house.tokens(), house.host.cached().await), (0, 0));
    assert!(
        house
            .host
            .access_token(&of("gcp").build().unwrap())
            .await
            .is_ok()
    );
}
