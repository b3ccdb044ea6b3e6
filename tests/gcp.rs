//! The gcp provider, as wasm in the host, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::config::HostConfig;
use gatepass::environment::FixedEnvironment;
use gatepass::{
    AccessRequest, ClusterReference, CredentialRequest, CredentialRequestBuilder, ErrorKind,
    Material, Origination, Repository,
};
use gatepass_sandbox::{Fault, Sandbox};
use gatepass_tests::house::House;

const EMAIL: &str = "tenant-a-gcp@demo-project.iam.gserviceaccount.com";
const CLUSTER: &str = "projects/demo-project/locations/us-central1/clusters/demo";
const STS: &str = "sts.googleapis.com";

fn request_of(account: &str) -> CredentialRequestBuilder {
    CredentialRequest::builder("gcp").service_account("tenant-a", account)
}

fn request() -> CredentialRequestBuilder {
    request_of("tenant-a-gcp-sa")
}

fn cluster() -> ClusterReference {
    ClusterReference {
        name: Some(CLUSTER.into()),
        ..ClusterReference::default()
    }
}

fn repository() -> Repository {
    "us-central1-docker.pkg.dev/demo-project/tenant-a/app"
        .parse()
        .unwrap()
}

async fn house() -> House {
    House::serving(&["gcp"]).await.unwrap()
}

/// How often a host of Google was asked.
fn asked(house: &House, host: &str) -> usize {
    let requests = house.sandbox.requests();
    requests
        .iter()
        .filter(|request| request.host == host)
        .count()
}

#[tokio::test]
async fn a_service_account_acts_as_googles_by_a_provider_of_its_own() {
    let house = house().await;
    let request = request().build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert_eq!(&*issued.identity, EMAIL);
    assert!(matches!(issued.value.material(), Material::Bearer(_)));
    let again = house.host.access_token(&request).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
    assert_eq!((house.tokens(), asked(&house, STS)), (1, 1));
    assert_eq!(asked(&house, "metadata.google.internal"), 0);
}

#[tokio::test]
async fn a_service_account_acts_as_googles_by_gke() {
    let house = house().await;
    for _ in 0..2 {
        let request = request_of("tenant-a-gke-sa").build().unwrap();
        let issued = house.host.access_token(&request).await.unwrap();
        assert_eq!(&*issued.identity, EMAIL);
    }
    let facts = house.sandbox.requests();
    let names = facts
        .iter()
        .filter(|request| request.path.ends_with("/cluster-name"));
    assert_eq!(names.count(), 1, "facts are discovered once");
}

#[tokio::test]
async fn metadata_that_fails_is_asked_again_by_the_next_request() {
    let house = House::with(|config| {
        config.plugins = HostConfig::bundled(&["gcp"]).plugins;
        config.retry.max_attempts = Some(1);
    });
    let house = house.await.unwrap();
    let broken = Fault::Status {
        code: 503,
        body: Vec::new(),
        headers: Vec::new(),
    };
    house
        .sandbox
        .faults()
        .set("metadata.google.internal", "*", broken);
    let request = request_of("tenant-a-gke-sa").build().unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    house.sandbox.faults().clear();
    assert!(house.host.access_token(&request).await.is_ok());
}

#[tokio::test]
async fn a_service_account_is_let_in_under_its_own_name() {
    let house = house().await;
    let request = request_of("tenant-a-gcp-direct-sa").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert!(
        issued
            .identity
            .starts_with("principal://iam.googleapis.com/"),
        "{}",
        issued.identity
    );
    assert_eq!(asked(&house, "iamcredentials.googleapis.com"), 0);
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
    let google = house.sandbox.google();
    let login = google.verify_registry_login(basic.username.expose(), basic.password.expose());
    assert!(login.is_some());
}

#[tokio::test]
async fn a_cluster_lets_both_kinds_of_identity_in() {
    let house = house().await;
    for account in ["tenant-a-gcp-sa", "tenant-a-gcp-direct-sa"] {
        let request = request_of(account).build().unwrap();
        let greeting = house.greeting(request, cluster(), "tenant-a").await;
        assert_eq!(greeting.unwrap(), "tenant-a", "{account}");
    }
}

#[tokio::test]
async fn the_process_becomes_the_machines_account() {
    let house = house().await;
    let request = CredentialRequest::builder("gcp").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let source = ("source".to_owned(), "metadata server".to_owned());
    assert!(
        issued.value.attributes().contains(&source),
        "{:?}",
        issued.value
    );
    house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    house
        .host
        .cluster_access(&request, &cluster())
        .await
        .unwrap();
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn the_process_becomes_the_user_of_its_credentials_file() {
    let environment = |sandbox: &Sandbox| {
        let file = sandbox
            .google()
            .authorized_user("controller@demo-project.iam.gserviceaccount.com");
        FixedEnvironment::default()
            .variable("GOOGLE_APPLICATION_CREDENTIALS", "/etc/gcp.json")
            .file("/etc/gcp.json", file)
    };
    let house = House::ambient(&["gcp"], environment).await.unwrap();
    let request = CredentialRequest::builder("gcp").build().unwrap();
    house.host.access_token(&request).await.unwrap();
    assert_eq!(asked(&house, "oauth2.googleapis.com"), 1);
}

const CONTROLLER: &str = "controller@demo-project.iam.gserviceaccount.com";

/// A process with a credentials file that holds a key of this account, as `change` leaves it.
async fn with_key(change: impl Fn(String) -> String) -> House {
    let environment = |sandbox: &Sandbox| {
        let key = sandbox.google().service_account_key(CONTROLLER).unwrap();
        FixedEnvironment::default()
            .variable("GOOGLE_APPLICATION_CREDENTIALS", "/etc/gcp.json")
            .file("/etc/gcp.json", change(key))
    };
    House::ambient(&["gcp"], environment).await.unwrap()
}

#[tokio::test]
async fn the_process_becomes_the_account_of_its_key() {
    let house = with_key(|key| key).await;
    let request = CredentialRequest::builder("gcp").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let account = ("service-account".to_owned(), CONTROLLER.to_owned());
    assert!(
        issued.value.attributes().contains(&account),
        "{:?}",
        issued.value
    );
    let login = house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    let Material::Basic(basic) = login.value.login().material() else {
        panic!("{:?}", login.value);
    };
    let google = house.sandbox.google();
    let login = google.verify_registry_login(basic.username.expose(), basic.password.expose());
    assert_eq!(login.unwrap().principal, CONTROLLER);
    assert_eq!(asked(&house, "oauth2.googleapis.com"), 1);
    assert_eq!(asked(&house, "metadata.google.internal"), 0);
}

#[tokio::test]
async fn a_key_that_signs_nothing_that_google_takes_is_refused() {
    let other = "tenant-a-gcp@demo-project.iam.gserviceaccount.com";
    let field = |key: &str, name: &str, value: &str| {
        let mut key: serde_json::Value = serde_json::from_str(key).unwrap();
        key[name] = value.into();
        key.to_string()
    };
    let elsewhere = "https://oauth2.googleapis.com.evil.example/token";
    for (name, value, kind, words, asked_google) in [
        // The key is good, and another's.
        (
            "client_email",
            other,
            ErrorKind::Denied,
            "key of the file",
            1,
        ),
        ("private_key", "canary", ErrorKind::Configuration, "PEM", 0),
        (
            "token_uri",
            elsewhere,
            ErrorKind::Configuration,
            "token_uri",
            0,
        ),
    ] {
        let house = with_key(|key| field(&key, name, value)).await;
        let request = CredentialRequest::builder("gcp").build().unwrap();
        let error = house.host.access_token(&request).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error} lacks {words}");
        assert!(!error.to_string().contains("canary"), "{error}");
        assert_eq!(asked(&house, "oauth2.googleapis.com"), asked_google);
        assert_eq!(house.host.cached().await, 0);
    }
}

#[tokio::test]
async fn a_further_link_acts_as_another_account() {
    let house = house().await;
    let google = house.sandbox.google();
    let other = "deployer@demo-project.iam.gserviceaccount.com";
    google.service_account(other).unwrap();
    let resource = format!("projects/-/serviceAccounts/{other}");
    let role = "roles/iam.serviceAccountTokenCreator";
    let member = format!("serviceAccount:{EMAIL}");
    google.bind(&resource, role, &member).unwrap();
    let link = AccessRequest {
        parameters: [("impersonate".to_owned(), other.to_owned())].into(),
        ..AccessRequest::default()
    };
    let chain = request().link(link).build().unwrap();
    let issued = house.host.access_token(&chain).await.unwrap();
    assert_eq!(&*issued.identity, other);
    google.unbind(&resource, role, &member).unwrap();
    house.advance(std::time::Duration::from_secs(50 * 60));
    let error = house.host.access_token(&chain).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

#[tokio::test]
async fn an_account_that_may_not_act_as_another_is_denied() {
    let house = house().await;
    let annotations = [
        (
            "gcp.auth.fluxcd.io/workload-identity-provider",
            "projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management",
        ),
        (
            "iam.gke.io/gcp-service-account",
            "tenant-b-gcp@demo-project.iam.gserviceaccount.com",
        ),
    ];
    let kubernetes = house.sandbox.kubernetes();
    kubernetes
        .apply_service_account("tenant-a", "thief", &annotations)
        .unwrap();
    let request = request_of("thief").build().unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert_eq!(house.host.cached().await, 0);
}

#[tokio::test]
async fn what_is_written_wrongly_is_refused_before_anything_is_sent() {
    let house = house().await;
    let kubernetes = house.sandbox.kubernetes();
    let broken = [("iam.gke.io/gcp-service-account", "not an e-mail")];
    kubernetes
        .apply_service_account("tenant-a", "broken", &broken)
        .unwrap();
    for (builder, words) in [
        (request_of("broken"), "not an e-mail"),
        (
            request().endpoint("https://sts.googleapis.com.evil.example"),
            "endpoint",
        ),
        (
            request().parameter("lifetime-seconds", "1"),
            "lifetime-seconds",
        ),
        (
            request().parameter("universe-domain", "evil.example/x"),
            "universe-domain",
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
    assert_eq!((house.tokens(), asked(&house, STS)), (0, 0));
}

#[tokio::test]
async fn answers_that_are_none_are_not_kept() {
    for (host, body) in [
        (STS, "null"),
        (STS, "{}"),
        (
            STS,
            r#"{"access_token":"t","token_type":"Bearer","expires_in":0}"#,
        ),
        (
            STS,
            r#"{"access_token":7,"token_type":"Bearer","expires_in":3600}"#,
        ),
        ("iamcredentials.googleapis.com", r#"{"accessToken":"t"}"#),
        (
            "iamcredentials.googleapis.com",
            r#"{"accessToken":"t","expireTime":"1999-01-01T00:00:00Z"}"#,
        ),
    ] {
        let house = House::with(|config| {
            config.plugins = HostConfig::bundled(&["gcp"]).plugins;
            config.retry.max_attempts = Some(1);
        });
        let house = house.await.unwrap();
        let fault = Fault::Body(body.as_bytes().to_vec());
        house.sandbox.faults().set(host, "*", fault);
        let outcome = house.host.access_token(&request().build().unwrap()).await;
        assert!(outcome.is_err(), "{host} {body}");
        assert_eq!(house.host.cached().await, 0, "{host} {body}");
    }
}

#[tokio::test]
async fn the_trust_that_the_account_needs_is_told() {
    let house = house().await;
    let issuer = "https://issuer.example";
    let request = request().build().unwrap();
    let policy = house
        .host
        .trust_policy(&request, Some(issuer))
        .await
        .unwrap();
    for expected in [
        EMAIL,
        issuer,
        "system:serviceaccount:tenant-a:tenant-a-gcp-sa",
        "gcloud iam",
    ] {
        assert!(
            policy.text.contains(expected),
            "{expected} in {}",
            policy.text
        );
    }
    assert_eq!((house.tokens(), asked(&house, STS)), (0, 0));
}
