//! What a guest may see and do, told by one that tries everything: environment, files, metadata, keys and
//! the links of chains.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::{
    AccessRequest, AwsKeys, CredentialRequest, Error, ErrorKind, Journal, Material, Origination,
    StartingKeys,
};
use gatepass_tests::hostile::{house, request};
use gatepass_tests::house::House;
use std::time::Duration;

async fn run(house: &House, behaviour: &str) -> Result<String, Error> {
    let issued = house
        .host
        .access_token(&request(behaviour).build().unwrap())
        .await?;
    let Material::Bearer(token) = issued.value.material() else {
        panic!("{issued:?}");
    };
    Ok(token.expose().to_owned())
}

#[tokio::test]
async fn keys_that_a_guest_brings_sign_in_an_ambient_exchange_alone() {
    let house = house().await.unwrap();
    let refused = "an ambient exchange alone signs with keys that a plugin brings";
    let pure = request("pure-rsa").build().unwrap();
    let issued = house.host.access_token(&pure).await.unwrap();
    assert_eq!(&*issued.identity, format!("refused: {refused}"));

    let tenants = request("sign-rsa-often").build().unwrap();
    let issued = house.host.access_token(&tenants).await.unwrap();
    let answers = issued.value.attributes();
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|(_, answer)| answer == refused));

    let answers = ambient(&house, "sign-rsa-often").await;
    let tried = answers
        .iter()
        .filter(|(_, answer)| answer.starts_with("the private key must be"));
    assert_eq!(tried.count(), 8, "{answers:?}");
    assert!(answers.iter().all(|(_, answer)| !answer.contains("canary")));
    let spent = "the call has used up its number of signatures";
    assert_eq!(
        answers.iter().filter(|(_, answer)| answer == spent).count(),
        2
    );
}

#[tokio::test]
async fn a_guest_sees_no_environment_no_arguments_and_no_files() {
    let house = house().await.unwrap();
    let issued = house
        .host
        .access_token(&request("environment").build().unwrap())
        .await
        .unwrap();
    let seen = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        seen("arguments", "0"),
        seen("files", "denied"),
        seen("variables", ""),
    ];
    assert_eq!(issued.value.attributes(), expected);
}

/// The attributes of what an ambient call answers.
async fn ambient(house: &House, behaviour: &str) -> Vec<(String, String)> {
    let request = CredentialRequest::builder("hostile").parameter("behaviour", behaviour);
    let request = request.build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    issued.value.attributes().to_vec()
}

#[tokio::test]
async fn an_ambient_call_sees_the_variables_and_files_that_are_granted_and_no_others() {
    let house = house().await.unwrap();
    let seen = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = ambient(&house, "environment").await;
    assert!(environment.contains(&seen("variables", "GATEPASS_TEST_GRANTED=lent")));
    let files = ambient(&house, "files").await;
    let expected = [
        seen("/run/granted", "lent"),
        seen("/etc/hostname", "PermissionDenied"),
        seen("/run/../run/granted", "PermissionDenied"),
        seen("/run/other", "PermissionDenied"),
    ];
    assert_eq!(files, expected);
}

#[tokio::test]
async fn a_call_for_a_tenant_sees_no_file() {
    let house = house().await.unwrap();
    let request = request("files").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let attributes = issued.value.attributes();
    assert!(
        attributes
            .iter()
            .all(|(_, value)| value == "PermissionDenied"),
        "{attributes:?}"
    );
}

#[tokio::test]
async fn metadata_is_reached_by_an_ambient_call_alone() {
    let house = house().await.unwrap();
    let request = CredentialRequest::builder("hostile").parameter("behaviour", "send-to-metadata");
    let request = request.build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert!(
        matches!(issued.value.material(), Material::Bearer(token) if token.expose().starts_with("status-4"))
    );
}

fn link(region: &str) -> AccessRequest {
    AccessRequest {
        region: Some(region.into()),
        parameters: [("behaviour".to_owned(), "link".to_owned())].into(),
        ..AccessRequest::default()
    }
}

fn token(material: &Material) -> &str {
    let Material::Bearer(token) = material else {
        panic!("{material:?}");
    };
    token.expose()
}

#[tokio::test]
async fn each_link_of_a_chain_starts_from_the_one_before_and_is_cached_by_itself() {
    let house = house().await.unwrap();
    let chain = |links: &[&str]| {
        let first = request("link").region("one");
        let chain = links
            .iter()
            .fold(first, |chain, region| chain.link(link(region)));
        chain.build().unwrap()
    };
    let issued = house
        .host
        .access_token(&chain(&["two", "three"]))
        .await
        .unwrap();
    assert_eq!(token(issued.value.material()), "SubjectToken>one>two>three");
    assert_eq!(&*issued.identity, "three");
    assert_eq!((house.host.cached().await, house.tokens()), (3, 1));
    let shorter = house.host.access_token(&chain(&["two"])).await.unwrap();
    assert_eq!(shorter.origination, Origination::Cache);
    let other = house
        .host
        .access_token(&chain(&["other", "three"]))
        .await
        .unwrap();
    assert_eq!(
        token(other.value.material()),
        "SubjectToken>one>other>three"
    );
    assert_eq!(house.tokens(), 1, "the first link came from the cache");
}

#[tokio::test]
async fn a_chain_that_comes_back_is_refused_before_anything_is_asked_for() {
    let house = house().await.unwrap();
    let circle = request("link")
        .link(link("a"))
        .link(link("b"))
        .link(link("a"));
    let error = house
        .host
        .access_token(&circle.build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("comes back to a"), "{error}");
    assert_eq!((house.host.cached().await, house.tokens()), (0, 0));
}

#[tokio::test]
async fn secret_keys_of_the_caller_begin_a_chain_and_are_told_apart() {
    let house = house().await.unwrap();
    let chain = |id: &str, secret: &str| {
        let keys = StartingKeys::new(AwsKeys {
            access_key_id: id.into(),
            secret_access_key: secret.into(),
            session_token: None,
        });
        let chain = CredentialRequest::builder("hostile").start_with(keys);
        chain.link(link("role")).build().unwrap()
    };
    let first = house
        .host
        .access_token(&chain("AKIA1", "canary-1"))
        .await
        .unwrap();
    assert_eq!(token(first.value.material()), "AKIA1>role");
    for (id, secret, expected) in [
        ("AKIA1", "canary-1", Origination::Cache),
        ("AKIA1", "canary-2", Origination::Exchange),
        ("AKIA2", "canary-1", Origination::Exchange),
    ] {
        let journal = Journal::on();
        let host = house.host.explaining(journal.clone());
        let issued = host.access_token(&chain(id, secret)).await.unwrap();
        assert_eq!(issued.origination, expected, "{id} {secret}");
        let told = format!("{:?} {:?}", journal.steps(), chain(id, secret));
        assert!(!told.contains("canary"), "{told}");
    }
}

#[tokio::test]
async fn facts_are_discovered_once_when_they_are_needed() {
    let house = house().await.unwrap();
    let ask = async |lifetime| {
        let request = request("facts").token_lifetime(Duration::from_secs(lifetime));
        house
            .host
            .access_token(&request.build().unwrap())
            .await
            .unwrap()
            .identity
    };
    let first = ask(600).await;
    assert!(first.contains("time"), "{first}");
    house.advance(Duration::from_secs(10));
    assert_eq!(
        ask(601).await,
        first,
        "the facts hold the time at which they were discovered"
    );
}

#[tokio::test]
async fn no_signer_is_no_signature() {
    let house = house().await.unwrap();
    let error = run(&house, "sign").await.unwrap_err();
    assert!(
        error.to_string().contains("no signer is configured"),
        "{error}"
    );
}
