//! Clouds and API servers that fail, refuse, or never answer.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::{CredentialRequest, ErrorKind};
use gatepass_sandbox::Fault;
use gatepass_tests::house::{House, tenant, tenant_a};
use std::time::Duration;

const EXCHANGE: &str = "AssumeRoleWithWebIdentity";

async fn house() -> House {
    House::new().await.unwrap()
}

#[tokio::test]
async fn faults_of_the_cloud_are_sorted_and_tried_again_if_they_pass() {
    let unreadable = || Fault::Body(b"<html>down for maintenance</html>".to_vec());
    let status = |code| Fault::Status {
        code,
        body: b"oops".to_vec(),
        headers: vec![],
    };
    let cases = [
        (
            Fault::Throttle(Duration::from_millis(0)),
            ErrorKind::Throttled,
            2,
        ),
        (status(500), ErrorKind::Unavailable, 2),
        (status(503), ErrorKind::Unavailable, 2),
        (Fault::CutOff, ErrorKind::Unavailable, 2),
        (unreadable(), ErrorKind::Unavailable, 2),
        (
            Fault::Redirect("https://evil.example/".into()),
            ErrorKind::Unavailable,
            2,
        ),
        (status(400), ErrorKind::Denied, 1),
    ];
    let house = House::with(|config| config.retry.max_attempts = Some(2))
        .await
        .unwrap();
    for (index, (fault, expected, attempts)) in cases.into_iter().enumerate() {
        let what = format!("{fault:?}");
        house.sandbox.faults().set("sts.*", EXCHANGE, fault);
        let before = house.asked(EXCHANGE);
        let request = CredentialRequest::builder("aws")
            .service_account("tenant-a", "tenant-a-ecr-sa")
            .region("us-east-1")
            .parameter("duration-seconds", (900 + index).to_string())
            .build()
            .unwrap();
        let error = house.host.access_token(&request).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{what}: {error}");
        assert_eq!(house.asked(EXCHANGE) - before, attempts, "{what}: {error}");
        house.sandbox.faults().clear();
    }
    assert_eq!(house.host.cached().await, 0);
    let evil = house
        .sandbox
        .requests()
        .into_iter()
        .any(|request| request.host.contains("evil"));
    assert!(!evil, "a redirect was followed");
}

#[tokio::test]
async fn a_fault_that_passes_costs_no_more_than_a_second_try() {
    let house = house().await;
    let once = Fault::Times(1, Box::new(Fault::CutOff));
    house.sandbox.faults().set("sts.*", EXCHANGE, once);
    house.host.access_token(&tenant_a().unwrap()).await.unwrap();
    assert_eq!(house.asked(EXCHANGE), 2);
    assert_eq!(
        house.tokens(),
        1,
        "the token of the first try is still good"
    );
}

#[tokio::test]
async fn a_cloud_that_never_answers_ends_in_time() {
    let house = House::with(|config| {
        config.retry.max_attempts = Some(1);
        for plugin in &mut config.plugins {
            plugin.limits.request_timeout = "300ms".parse().ok();
        }
    })
    .await
    .unwrap();
    house.sandbox.faults().set("sts.*", EXCHANGE, Fault::Hang);
    let error = house
        .host
        .access_token(&tenant_a().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("300 ms"), "{error}");
}

#[tokio::test]
async fn what_the_api_server_refuses_is_sorted() {
    let house = House::with(|config| config.retry.max_attempts = Some(1))
        .await
        .unwrap();
    let error = house
        .host
        .access_token(&tenant("tenant-a", "missing").unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ServiceAccount, "{error}");
    let api = house.sandbox.kubernetes().host();
    let path = "/api/v1/namespaces/tenant-a/serviceaccounts/tenant-a-ecr-sa/token";
    let answer = |code: u16, reason: &str| Fault::Error {
        status: code,
        code: reason.into(),
        message: "no".into(),
    };
    let cases = [
        (answer(403, "Forbidden"), ErrorKind::ServiceAccount),
        (answer(404, "NotFound"), ErrorKind::ServiceAccount),
        (answer(409, "Conflict"), ErrorKind::ServiceAccount),
        (answer(422, "Invalid"), ErrorKind::ServiceAccount),
        (answer(500, "InternalError"), ErrorKind::Unavailable),
        (answer(503, "ServiceUnavailable"), ErrorKind::Unavailable),
        (Fault::Body(b"not json".to_vec()), ErrorKind::Unavailable),
        (Fault::CutOff, ErrorKind::Unavailable),
    ];
    for (fault, expected) in cases {
        let what = format!("{fault:?}");
        house.sandbox.faults().set(&api, path, fault);
        let error = house
            .host
            .access_token(&tenant_a().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), expected, "{what}: {error}");
    }
    assert_eq!(house.asked(EXCHANGE), 0);
    assert_eq!(house.host.cached().await, 0);
}

#[tokio::test]
async fn an_api_server_that_does_not_answer_is_not_waited_for() {
    let house = House::with(|config| {
        config.retry.max_attempts = Some(1);
        config.retry.deadline = "300ms".parse().ok();
    })
    .await
    .unwrap();
    let api = house.sandbox.kubernetes().host();
    for path in [
        "/api/v1/namespaces/tenant-a/serviceaccounts/tenant-a-ecr-sa/token",
        "/api/v1/namespaces",
    ] {
        house.sandbox.faults().set(&api, path, Fault::Hang);
        let error = house
            .host
            .access_token(&tenant_a().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        house.sandbox.faults().clear();
    }
}

#[tokio::test]
async fn an_api_server_that_asks_for_fewer_calls_is_asked_again_later() {
    let house = house().await;
    let api = house.sandbox.kubernetes().host();
    for path in [
        "/api/v1/namespaces/tenant-a/serviceaccounts/tenant-a-ecr-sa/token",
        "/api/v1/namespaces",
    ] {
        let once = Fault::Times(1, Box::new(Fault::Throttle(Duration::ZERO)));
        house.sandbox.faults().set(&api, path, once);
    }
    house.host.access_token(&tenant_a().unwrap()).await.unwrap();
}
