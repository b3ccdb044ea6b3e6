//! The aws provider, as wasm in the host, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::{
    ClusterReference, CredentialRequest, ErrorKind, Journal, Material, Origination, Repository,
    Verdict,
};
use gatepass_tests::house::{House, tenant, tenant_a};
use std::time::Duration;

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
async fn a_service_account_becomes_its_role() {
    let house = house().await;
    let issued = house.host.access_token(&tenant_a().unwrap()).await.unwrap();
    assert_eq!(
        &*issued.identity,
        "arn:aws:iam::123456789012:role/tenant-a-ecr"
    );
    assert_eq!(issued.origination, Origination::Exchange);
    assert!(matches!(issued.value.material(), Material::Aws(keys) if keys.session_token.is_some()));
    assert_eq!(house.tokens(), 1);
    assert_eq!(house.asked(EXCHANGE), 1);
}

#[tokio::test]
async fn a_second_request_is_answered_from_the_cache() {
    let house = house().await;
    let request = tenant_a().unwrap();
    let first = house.host.access_token(&request).await.unwrap();
    let second = house.host.access_token(&request).await.unwrap();
    assert_eq!(second.origination, Origination::Cache);
    assert_eq!(first.value, second.value);
    assert_eq!((house.tokens(), house.asked(EXCHANGE)), (1, 1));
}

#[tokio::test]
async fn a_credential_is_renewed_after_four_fifths_of_its_life() {
    let house = house().await;
    let request = tenant_a().unwrap();
    house.host.access_token(&request).await.unwrap();
    house.advance(Duration::from_secs(49 * 60));
    let renewed = house.host.access_token(&request).await.unwrap();
    assert_eq!(renewed.origination, Origination::Exchange);
    assert_eq!(house.asked(EXCHANGE), 2);
}

#[tokio::test]
async fn callers_at_once_share_one_exchange() {
    let house = house().await;
    let request = tenant_a().unwrap();
    let all = futures::future::join_all((0..50).map(|_| house.host.access_token(&request))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!((house.tokens(), house.asked(EXCHANGE)), (1, 1));
}

#[tokio::test]
async fn a_registry_login_is_one_that_the_registry_takes() {
    let house = house().await;
    let request = tenant_a().unwrap();
    let issued = house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    assert_eq!(
        issued.value.host(),
        "123456789012.dkr.ecr.us-east-1.amazonaws.com"
    );
    let Material::Basic(basic) = issued.value.login().material() else {
        panic!("{:?}", issued.value);
    };
    let login = house
        .sandbox
        .aws()
        .verify_registry_login(basic.username.expose(), basic.password.expose());
    assert!(login.is_some());
    let again = house
        .host
        .registry_credential(&request, &repository())
        .await
        .unwrap();
    assert_eq!(again.origination, Origination::Cache);
}

#[tokio::test]
async fn public_ecr_is_a_registry_too() {
    let house = house().await;
    let public: Repository = "public.ecr.aws/team/app".parse().unwrap();
    let issued = house
        .host
        .registry_credential(&tenant_a().unwrap(), &public)
        .await
        .unwrap();
    assert!(
        matches!(issued.value.login().material(), Material::Basic(basic) if basic.username.expose() == "AWS")
    );
}

#[tokio::test]
async fn a_cluster_lets_the_role_in_with_the_token() {
    let house = house().await;
    let request = tenant("tenant-a", "tenant-a-eks-sa").unwrap();
    let source = house.host.cluster_source(request, cluster());
    let client = gatepass::kubernetes::client(source).await.unwrap();
    let greetings: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(client, "tenant-a");
    let greeting = greetings.get("greeting").await.unwrap();
    assert_eq!(
        greeting.data.unwrap().get("tenant").map(String::as_str),
        Some("tenant-a")
    );
}

#[tokio::test]
async fn a_client_renews_its_token_under_way() {
    let house = house().await;
    let request = tenant("tenant-a", "tenant-a-eks-sa").unwrap();
    let source = house.host.cluster_source(request, cluster());
    let before = source.access().await.unwrap();
    house.advance(Duration::from_secs(12 * 60));
    let after = source.access().await.unwrap();
    assert_ne!(before, after);
}

#[tokio::test]
async fn a_role_that_does_not_trust_the_account_denies() {
    let house = house().await;
    let foreign = (
        "eks.amazonaws.com/role-arn",
        "arn:aws:iam::123456789012:role/tenant-b-ecr",
    );
    house
        .sandbox
        .kubernetes()
        .apply_service_account("tenant-a", "thief", &[foreign])
        .unwrap();
    let error = house
        .host
        .access_token(&tenant("tenant-a", "thief").unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(!error.is_terminal());
    assert_eq!(house.host.cached().await, 0);
    assert_eq!(house.asked(EXCHANGE), 1, "a denial is not tried again");
}

#[tokio::test]
async fn what_a_tenant_writes_wrongly_is_refused_before_anything_is_sent() {
    let house = house().await;
    let annotation = "eks.amazonaws.com/role-arn";
    let kubernetes = house.sandbox.kubernetes();
    kubernetes
        .apply_service_account("tenant-a", "bare", &[])
        .unwrap();
    let broken = [(annotation, "arn:aws:s3:::bucket")];
    kubernetes
        .apply_service_account("tenant-a", "broken", &broken)
        .unwrap();
    let request =
        || CredentialRequest::builder("aws").service_account("tenant-a", "tenant-a-ecr-sa");
    let region = || request().region("us-east-1");
    let account = |name| {
        CredentialRequest::builder("aws")
            .service_account("tenant-a", name)
            .region("us-east-1")
    };
    let cases = [
        (account("bare"), annotation),
        (account("broken"), "arn:aws:s3:::bucket"),
        (request().region("us-east-1.evil.example/"), "region"),
        (request().region("cn-north-1"), "partition"),
        (region().scopes(["s"]), "scope"),
        (
            region().endpoint("http://sts.us-east-1.amazonaws.com"),
            "endpoint",
        ),
        (
            region().endpoint("https://sts.us-east-1.amazonaws.com.evil.example"),
            "endpoint",
        ),
        (
            region().parameter("duration-seconds", "60"),
            "duration-seconds",
        ),
        (
            region().parameter("duration-seconds", "1h"),
            "duration-seconds",
        ),
        (region().parameter("polcy", "{}"), "polcy"),
        (region().parameter("policy", "{"), "policy"),
        (
            region().parameter("policy-arns", "arn:aws:s3:::x"),
            "policy",
        ),
    ];
    for (builder, expected) in cases {
        let request = builder.build().unwrap();
        let error = house.host.access_token(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.is_terminal());
        assert!(
            error.to_string().contains(expected),
            "{error} lacks {expected}"
        );
    }
    assert_eq!((house.tokens(), house.asked(EXCHANGE)), (0, 0));
    assert_eq!(house.host.cached().await, 0);
}

/// An issuer that IAM takes, which has no port.
const ISSUER: &str = "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF";

#[tokio::test]
async fn a_git_remote_gets_a_login_of_its_own() {
    let house = house().await;
    let url = "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app"
        .parse()
        .unwrap();
    let request = tenant_a().unwrap();
    let issued = house.host.git_credential(&request, &url).await.unwrap();
    let Material::Basic(basic) = issued.value.material() else {
        panic!("{issued:?}");
    };
    assert!(basic.username.expose().contains('%') && basic.password.expose().contains('Z'));
    let again = house.host.git_credential(&request, &url).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
    let foreign = "https://git-codecommit.us-east-1.amazonaws.com.evil.example/x"
        .parse()
        .unwrap();
    let error = house
        .host
        .git_credential(&request, &foreign)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn the_policy_that_the_role_needs_is_told() {
    let house = house().await;
    let policy = house
        .host
        .trust_policy(&tenant_a().unwrap(), Some(ISSUER))
        .await
        .unwrap();
    assert_eq!(policy.issuer, ISSUER);
    let document: serde_json::Value = serde_json::from_str(&policy.text).unwrap();
    let statement = document["Statement"][0].to_string();
    assert!(
        statement.contains("system:serviceaccount:tenant-a:tenant-a-ecr-sa"),
        "{statement}"
    );
    assert!(statement.contains("sts.amazonaws.com"), "{statement}");
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn what_is_no_registry_of_aws_is_refused_before_anything_is_sent() {
    let house = house().await;
    let request = tenant_a().unwrap();
    for repository in [
        "gcr.io/a",
        "123456789012.dkr.ecr.us-east-1.amazonaws.com.evil.example/a",
        "public.ecr.aws.evil.example",
    ] {
        let repository = repository.parse().unwrap();
        let error = house
            .host
            .registry_credential(&request, &repository)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    }
    assert_eq!(house.tokens(), 0);
}

#[tokio::test]
async fn what_is_no_cluster_of_aws_is_refused_before_anything_is_sent() {
    let house = house().await;
    let request = tenant("tenant-a", "tenant-a-eks-sa").unwrap();
    let reference = |name: Option<&str>, address: Option<&str>| ClusterReference {
        name: name.map(Into::into),
        address: address.map(Into::into),
        ca: None,
    };
    let all_three = ClusterReference {
        ca: Some(house.sandbox.ca_pem().parse().unwrap()),
        ..reference(Some(CLUSTER), Some("https://a.example"))
    };
    let cases = [
        reference(None, None),
        reference(Some(""), None),
        reference(Some("arn:aws:eks:us-east-1:1:nodegroup/x"), None),
        reference(None, Some("https://a.example")),
        all_three,
    ];
    for cluster in cases {
        let error = house
            .host
            .cluster_access(&request, &cluster)
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

#[tokio::test]
async fn a_cluster_that_does_not_exist_is_told() {
    let house = house().await;
    let request = tenant("tenant-a", "tenant-a-eks-sa").unwrap();
    let missing = ClusterReference {
        name: Some(CLUSTER.replace("demo", "missing")),
        ..ClusterReference::default()
    };
    let error = house
        .host
        .cluster_access(&request, &missing)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}

#[tokio::test]
async fn the_journal_tells_each_decision_and_no_secret() {
    let house = house().await;
    let journal = Journal::on();
    let host = house.host.explaining(journal.clone());
    let issued = host.access_token(&tenant_a().unwrap()).await.unwrap();
    let steps = journal.steps();
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    let expected = [
        "gate", "provider", "account", "identity", "key", "token", "egress", "exchange", "cache",
    ];
    assert_eq!(names, expected);
    let Material::Aws(keys) = issued.value.material() else {
        panic!("{issued:?}");
    };
    let told = format!("{steps:?} {issued:?} {host:?}");
    assert!(!told.contains(keys.secret_access_key.expose()));
    assert!(!told.contains(keys.session_token.as_ref().unwrap().expose()));
    assert!(!told.contains("eyJ"), "a JWT was told");
}

#[tokio::test]
async fn the_journal_tells_why_and_what_to_change() {
    let house = house().await;
    let journal = Journal::on();
    let host = house.host.explaining(journal.clone());
    host.access_token(&tenant("tenant-a", "missing").unwrap())
        .await
        .unwrap_err();
    let last = journal.steps().pop().unwrap();
    assert_eq!((last.name, last.verdict), ("refused", Verdict::Refused));
    assert!(
        last.details
            .iter()
            .any(|(name, value)| name == "kind" && value == "service-account"),
        "{last:?}"
    );
}
