//! The github provider, as wasm in the host, against the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::environment::FixedEnvironment;
use gatepass::{CredentialRequest, ErrorKind, Material, Origination, Repository};
use gatepass_sandbox::{Fault, Job, Sandbox};
use gatepass_tests::house::House;

const HOST: &str = "pipelines.actions.githubusercontent.com";

fn job(sandbox: &Sandbox) -> FixedEnvironment {
    let access = sandbox.github().start(&Job::of("acme/app"));
    FixedEnvironment::default()
        .variable("ACTIONS_ID_TOKEN_REQUEST_URL", access.request_url)
        .variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN", access.request_token)
}

async fn house() -> House {
    House::ambient(&["github"], job).await.unwrap()
}

#[tokio::test]
async fn a_job_gets_a_token_for_its_audience() {
    let house = house().await;
    let request = CredentialRequest::builder("github").audiences(["https://vault.example"]);
    let request = request.build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert!(matches!(issued.value.material(), Material::Bearer(_)));
    let again = house.host.access_token(&request).await.unwrap();
    assert_eq!(again.origination, Origination::Cache);
}

#[tokio::test]
async fn a_registry_is_the_audience_of_its_own_login() {
    let house = house().await;
    let request = CredentialRequest::builder("github").build().unwrap();
    let repository: Repository = "registry.example/acme/app".parse().unwrap();
    let login = house
        .host
        .registry_credential(&request, &repository)
        .await
        .unwrap();
    assert!(matches!(
        login.value.login().material(),
        Material::Bearer(_)
    ));
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let house = house().await;
    let busy = Fault::Status {
        code: 503,
        body: Vec::new(),
        headers: Vec::new(),
    };
    house
        .sandbox
        .faults()
        .set(HOST, "*", Fault::Times(1, Box::new(busy)));
    let request = CredentialRequest::builder("github")
        .audiences(["a"])
        .build()
        .unwrap();
    assert!(house.host.access_token(&request).await.is_ok());
}

#[tokio::test]
async fn outside_of_a_job_there_is_no_token() {
    let house = House::serving(&["github"]).await.unwrap();
    let request = CredentialRequest::builder("github")
        .audiences(["a"])
        .build()
        .unwrap();
    let error = house.host.access_token(&request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("id-token"), "{error}");
    assert_eq!(house.host.cached().await, 0);
}
