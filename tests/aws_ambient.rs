//! The aws provider for the process itself and along chains, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::config::GrantConfig;
use gatepass::environment::FixedEnvironment;
use gatepass::{
    AccessRequest, AwsKeys, ClusterReference, CredentialRequest, CredentialRequestBuilder,
    ErrorKind, Journal, Material, Repository, StartingKeys,
};
use gatepass_sandbox::{Sandbox, TrustPolicy};
use gatepass_tests::house::{House, tenant_a};

const ECR: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com/team/app";
const CLUSTER: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";
const EXCHANGE: &str = "AssumeRoleWithWebIdentity";

fn repository() -> Repository {
    ECR.parse().unwrap()
}

fn cluster() -> ClusterReference {
    ClusterReference {
        name: Some(CLUSTER.into()),
        ..ClusterReference::default()
    }
}

async fn house() -> House {
    House::new().await.unwrap()
}

#[tokio::test]
async fn a_region_that_nobody_names_is_asked_for() {
    let nowhere = FixedEnvironment::default().variable("AWS_EC2_METADATA_DISABLED", "true");
    let house = House::ambient(&["aws"], |_| nowhere).await.unwrap();
    let request = CredentialRequest::builder("aws").service_account("tenant-a", "tenant-a-ecr-sa");
    let error = house
        .host
        .access_token(&request.build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("region"), "{error}");
    assert_eq!((house.tokens(), house.asked(EXCHANGE)), (0, 0));
}

#[tokio::test]
async fn an_account_without_a_region_has_that_of_the_host() {
    let here = FixedEnvironment::default().variable("AWS_REGION", "eu-west-1");
    let house = House::ambient(&["aws"], |_| here).await.unwrap();
    let request = CredentialRequest::builder("aws").service_account("tenant-a", "tenant-a-ecr-sa");
    house
        .host
        .access_token(&request.build().unwrap())
        .await
        .unwrap();
    let requests = house.sandbox.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.host == "sts.eu-west-1.amazonaws.com")
    );
}

/// The source that a credential says it comes from.
fn source(issued: &gatepass::Issued<gatepass::Credential>) -> Option<&str> {
    let attributes = issued.value.attributes().iter();
    let mut sources = attributes.filter(|(name, _)| name == "source");
    sources.next().map(|(_, value)| value.as_str())
}

const NODE: &str = "arn:aws:iam::123456789012:role/node";

fn ambient() -> CredentialRequestBuilder {
    CredentialRequest::builder("aws").region("us-east-1")
}

#[tokio::test]
async fn the_process_becomes_the_role_of_its_instance() {
    let house = House::ambient(&["aws"], |sandbox| {
        let aws = sandbox.aws();
        aws.role(NODE, TrustPolicy::default()).unwrap();
        aws.set_instance(Some(NODE), "eu-west-1");
        FixedEnvironment::default()
    });
    let house = house.await.unwrap();
    let request = CredentialRequest::builder("aws").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert_eq!(source(&issued), Some("instance"));
    let login = house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    assert!(matches!(login.value.login().material(), Material::Basic(_)));
    house
        .host
        .cluster_access(&request, &cluster())
        .await
        .unwrap();
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn the_process_becomes_the_role_of_its_container() {
    let house = House::ambient(&["aws"], |sandbox| {
        let aws = sandbox.aws();
        aws.role(NODE, TrustPolicy::default()).unwrap();
        aws.set_container(Some(NODE), Some("pod-token"));
        FixedEnvironment::default()
            .variable(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "http://169.254.170.23/v1/credentials",
            )
            .variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/token")
            .file("/var/run/token", "pod-token\n")
    });
    let house = house.await.unwrap();
    let issued = house
        .host
        .access_token(&ambient().build().unwrap())
        .await
        .unwrap();
    assert_eq!(source(&issued), Some("container"));
}

/// RFC-0010, user story 1: a controller's own pod identity, single-tenant.
#[tokio::test]
async fn the_process_becomes_the_role_of_its_token_file() {
    let house = House::ambient(&["aws"], |sandbox| {
        let kubernetes = sandbox.kubernetes();
        kubernetes
            .apply_service_account("flux-system", "source-controller", &[])
            .unwrap();
        let issuer = kubernetes.issuer();
        let subject = "system:serviceaccount:flux-system:source-controller";
        let trust = TrustPolicy::web_identity(&issuer, &[subject]);
        sandbox.aws().role(NODE, trust).unwrap();
        FixedEnvironment::default()
            .variable("AWS_ROLE_ARN", NODE)
            .variable("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token")
            .file("/var/run/token", format!("{}\n", pod_token(sandbox)))
    });
    let house = house.await.unwrap();
    let issued = house
        .host
        .access_token(&ambient().build().unwrap())
        .await
        .unwrap();
    assert_eq!(source(&issued), Some("web-identity"));
    assert_eq!(&*issued.identity, NODE);
    assert_eq!(house.asked(EXCHANGE), 1);
}

/// What the kubelet puts into a pod's volume.
fn pod_token(sandbox: &Sandbox) -> String {
    let audiences = ["sts.amazonaws.com"];
    let kubernetes = sandbox.kubernetes();
    let token = kubernetes.volume_token("flux-system", "source-controller", &audiences);
    token.unwrap()
}

#[tokio::test]
async fn a_source_that_is_not_granted_is_not_tried() {
    let house = House::run_by("admin", |sandbox, config| {
        let aws = sandbox.aws();
        aws.role(NODE, TrustPolicy::default()).unwrap();
        aws.set_instance(Some(NODE), "us-east-1");
        config.plugins[0].grant = Some(GrantConfig {
            hosts: vec!["https://sts.*.amazonaws.com".into()],
            audiences: vec!["sts.amazonaws.com".into()],
            ..GrantConfig::default()
        });
        FixedEnvironment::default()
            .variable("AWS_ACCESS_KEY_ID", "AKIACANARY")
            .variable("AWS_SECRET_ACCESS_KEY", "canary")
    });
    let house = house.await.unwrap();
    let error = house
        .host
        .access_token(&ambient().build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    let requests = house.sandbox.requests();
    assert!(
        requests
            .iter()
            .all(|request| !request.path.starts_with("/latest")),
        "{requests:?}"
    );
    assert!(house.host.access_token(&tenant_a().unwrap()).await.is_ok());
}

fn role(arn: &str, more: &[(&str, &str)]) -> AccessRequest {
    let pairs = [("role-arn", arn)].into_iter().chain(more.iter().copied());
    AccessRequest {
        parameters: pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..AccessRequest::default()
    }
}

const OTHER: &str = "arn:aws:iam::210987654321:role/tenant-a";

#[tokio::test]
async fn a_chain_leads_into_another_account_with_its_external_id() {
    let house = house().await;
    let trust = TrustPolicy {
        external_id: Some("shared".into()),
        ..TrustPolicy::principals(&["arn:aws:iam::123456789012:role/tenant-a-ecr"])
    };
    house.sandbox.aws().role(OTHER, trust).unwrap();
    let chain = |more: &[(&str, &str)]| {
        let first = CredentialRequest::builder("aws")
            .service_account("tenant-a", "tenant-a-ecr-sa")
            .region("us-east-1");
        first.link(role(OTHER, more)).build().unwrap()
    };
    let issued = house
        .host
        .access_token(&chain(&[("external-id", "shared")]))
        .await
        .unwrap();
    assert_eq!(&*issued.identity, OTHER);
    assert_eq!((house.asked(EXCHANGE), house.asked("AssumeRole")), (1, 1));
    let error = house.host.access_token(&chain(&[])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert_eq!(
        house.asked(EXCHANGE),
        1,
        "the first link came from the cache"
    );
    let long = chain(&[("external-id", "shared"), ("duration-seconds", "7200")]);
    let asked = house.asked("AssumeRole");
    let error = house.host.access_token(&long).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert_eq!(
        house.asked("AssumeRole"),
        asked,
        "it was told before the call"
    );
}

#[tokio::test]
async fn static_keys_begin_a_chain() {
    let house = house().await;
    let key = house
        .sandbox
        .aws()
        .user("arn:aws:iam::123456789012:user/cluster-admin")
        .unwrap();
    let trust = TrustPolicy::principals(&["arn:aws:iam::123456789012:user/cluster-admin"]);
    house.sandbox.aws().role(OTHER, trust).unwrap();
    let keys = StartingKeys::new(AwsKeys {
        access_key_id: key.access_key_id,
        secret_access_key: key.secret_access_key.into(),
        session_token: None,
    });
    let chain = ambient().start_with(keys).link(role(OTHER, &[]));
    let issued = house
        .host
        .access_token(&chain.build().unwrap())
        .await
        .unwrap();
    assert_eq!(&*issued.identity, OTHER);
}

#[tokio::test]
async fn an_account_that_is_not_the_expected_one_is_denied() {
    let house = House::ambient(&["aws"], |sandbox| {
        let aws = sandbox.aws();
        aws.role(NODE, TrustPolicy::default()).unwrap();
        aws.set_instance(Some(NODE), "us-east-1");
        FixedEnvironment::default()
    });
    let house = house.await.unwrap();
    for (account, expected) in [("123456789012", true), ("210987654321", false)] {
        let request = ambient()
            .parameter("expected-account", account)
            .build()
            .unwrap();
        let outcome = house.host.access_token(&request).await;
        assert_eq!(outcome.is_ok(), expected, "{account}: {outcome:?}");
    }
}

#[tokio::test]
async fn the_journal_tells_which_source_was_chosen_and_why_the_others_were_not() {
    let house = House::ambient(&["aws"], |sandbox| {
        let aws = sandbox.aws();
        aws.role(NODE, TrustPolicy::default()).unwrap();
        aws.set_instance(Some(NODE), "us-east-1");
        FixedEnvironment::default()
    });
    let house = house.await.unwrap();
    let journal = Journal::on();
    let host = house.host.explaining(journal.clone());
    host.access_token(&ambient().build().unwrap())
        .await
        .unwrap();
    let said: Vec<String> = journal
        .steps()
        .into_iter()
        .filter(|step| step.name == "log")
        .flat_map(|step| step.details)
        .map(|(_, line)| line)
        .collect();
    let said = said.join("\n");
    for expected in ["instance", "AWS_ACCESS_KEY_ID"] {
        assert!(said.contains(expected), "{expected} in {said:?}");
    }
}
