//! The matrix of name, address and certificate authority, and what becomes of GKE's answers.

use super::*;
use crate::Gcp;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sdk::egress::Response;
use gatepass_sdk::testing::ScriptedHost;
use gatepass_sdk::{ErrorCode, Provider};
use serde_json::{Value, json};

const NAME: &str = "projects/my-project/locations/europe-west1/clusters/prod";
const PUBLIC: &str = "https://203.0.113.7";
const PRIVATE: &str = "https://10.0.0.2";
const DNS: &str = "https://gke-0123.europe-west1.gke.goog";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
const OTHER_PEM: &str = "-----BEGIN CERTIFICATE-----\nWFla\n-----END CERTIFICATE-----\n";

fn reference(
    name: Option<&str>,
    address: Option<&str>,
    authority: Option<&str>,
) -> ClusterReference {
    ClusterReference {
        name: name.map(Into::into),
        address: address.map(Into::into),
        ca_certificate: authority.map(Into::into),
    }
}

fn request(parameters: &[(&str, &str)]) -> Request {
    Request {
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..Request::default()
    }
}

fn described() -> Value {
    json!({
        "name": "prod",
        "status": "RUNNING",
        "endpoint": "203.0.113.7",
        "masterAuth": {"clusterCaCertificate": STANDARD.encode(PEM)},
        "privateClusterConfig": {"privateEndpoint": "10.0.0.2", "enablePrivateNodes": true},
        "controlPlaneEndpointsConfig": {
            "dnsEndpointConfig": {
                "endpoint": "gke-0123.europe-west1.gke.goog",
                "allowExternalTraffic": true,
            },
        },
    })
}

/// The description without the field at a path.
fn without(pointer: &str) -> Value {
    let mut value = described();
    if let Some((parent, field)) = pointer.rsplit_once('/') {
        let parent = value.pointer_mut(parent).and_then(Value::as_object_mut);
        assert!(parent.unwrap().remove(field).is_some());
    }
    value
}

/// The description with another value at a path.
fn with(pointer: &str, other: Value) -> Value {
    let mut value = described();
    *value.pointer_mut(pointer).unwrap() = other;
    value
}

fn answering(status: u16, body: &str) -> ScriptedHost {
    ScriptedHost::new().answer(Response::new(status, body.as_bytes()))
}

fn access_credential() -> Credential {
    Credential::bearer("token", ScriptedHost::new().now())
}

fn config(
    reference: &ClusterReference,
    request: &Request,
    host: &ScriptedHost,
) -> Result<ClusterAccess, Error> {
    Gcp.rest_config(reference, &[access_credential()], &None, request, host)
}

#[test]
fn each_sufficient_reference_finds_server_and_authority() {
    let plain = request(&[]);
    let public = request(&[("cluster-endpoint", "public")]);
    let private = request(&[("cluster-endpoint", "private")]);
    let dns = request(&[("cluster-endpoint", "dns")]);
    let proxy = "https://proxy.example:6443";
    for (name, address, authority, request, lookups, server, expected) in [
        (Some(NAME), None, None, &plain, 1, PUBLIC, Some(PEM)),
        (Some(NAME), None, None, &public, 1, PUBLIC, Some(PEM)),
        (Some(NAME), None, None, &private, 1, PRIVATE, Some(PEM)),
        (Some(NAME), None, None, &dns, 1, DNS, None),
        (
            Some(NAME),
            Some(PRIVATE),
            None,
            &plain,
            1,
            PRIVATE,
            Some(PEM),
        ),
        (Some(NAME), Some(proxy), None, &plain, 1, proxy, Some(PEM)),
        (Some(NAME), Some(DNS), None, &plain, 1, DNS, None),
        (
            Some(NAME),
            None,
            Some(OTHER_PEM),
            &plain,
            1,
            PUBLIC,
            Some(OTHER_PEM),
        ),
        (
            Some(NAME),
            None,
            Some(OTHER_PEM),
            &dns,
            1,
            DNS,
            Some(OTHER_PEM),
        ),
        (
            None,
            Some("https://203.0.113.7:443/"),
            Some(OTHER_PEM),
            &plain,
            0,
            PUBLIC,
            Some(OTHER_PEM),
        ),
    ] {
        let reference = reference(name, address, authority);
        let host = answering(200, &described().to_string());
        let access = config(&reference, request, &host).unwrap();
        assert_eq!(access.server, server, "{reference:?}");
        assert_eq!(access.ca_certificate.as_deref(), expected, "{reference:?}");
        assert_eq!(host.sent().len(), lookups, "{reference:?}");
        assert_eq!(access.material, access_credential().material);
        assert_eq!(access.expires_at, access_credential().expires_at);
    }
}

#[test]
fn the_lookup_carries_the_token_to_the_requests_universe() {
    for (parameters, service) in [
        (&[][..], "container.googleapis.com"),
        (
            &[("universe-domain", "s3nsapis.fr")],
            "container.s3nsapis.fr",
        ),
    ] {
        let wire = egress::Request::get(format!("https://{service}/v1/{NAME}"))
            .header("authorization", "Bearer token")
            .build();
        let answer = Response::new(200, described().to_string().as_bytes());
        let host = ScriptedHost::new().expect(wire, answer);
        config(
            &reference(Some(NAME), None, None),
            &request(parameters),
            &host,
        )
        .unwrap();
        host.finish();
    }
}

#[test]
fn each_insufficient_reference_says_what_to_set_or_remove() {
    let plain = request(&[]);
    let dns = request(&[("cluster-endpoint", "dns")]);
    let wrong = request(&[("cluster-endpoint", "internal")]);
    let (name, address, pem) = (Some(NAME), Some(PUBLIC), Some(PEM));
    for (reference, request, word) in [
        (reference(None, None, None), &plain, "set name"),
        (reference(None, address, None), &plain, "set name"),
        (reference(None, None, pem), &plain, "set name"),
        (reference(name, address, pem), &plain, "one of the three"),
        (reference(name, address, None), &dns, "no effect"),
        (reference(None, address, pem), &dns, "no effect"),
        (reference(name, None, None), &wrong, "'internal'"),
        (reference(name, Some("http://x"), None), &plain, "http://x"),
        (reference(name, Some("https://x/api"), None), &plain, "path"),
        (reference(name, None, Some("QUJD")), &plain, "PEM"),
    ] {
        refused(&reference, request, word);
    }
    let long = NAME.replace("prod", &"p".repeat(201));
    for name in [
        "",
        "prod",
        "projects/my-project/zones/europe-west1-b/clusters/prod",
        "projects/my-project/locations/europe-west1/clusters/",
        "projects/my-project/locations/europe-west1/clusters/..",
        "projects//locations/europe-west1/clusters/prod",
        "projects/my-project/locations/../clusters/prod",
        "projects/my-project/locations/europe-west1/clusters/prod/nodePools/x",
        "/projects/my-project/locations/europe-west1/clusters/prod",
        "projects/my-project/locations/europe-west1/clusters/prod?x",
        "projects/my-project/locations/europe-west1/clusters/a b",
        "projects/my-project/locations/europe-west1/clusters/é",
        "https://container.googleapis.com/v1/projects/p/locations/l/clusters/c",
        &long,
    ] {
        refused(&reference(Some(name), None, None), &plain, "cluster '");
    }
}

fn refused(reference: &ClusterReference, request: &Request, word: &str) {
    let error = Gcp.cluster(reference, &None, request).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
    assert!(error.message().contains(word), "{word}: {error}");
    let host = ScriptedHost::new();
    assert_eq!(config(reference, request, &host).unwrap_err(), error);
    assert!(host.sent().is_empty());
}

#[test]
fn one_token_is_asked_for_with_the_callers_limits() {
    let asked = request(&[("cluster-endpoint", "dns"), ("lifetime-seconds", "600")]);
    let access = Gcp.cluster(&reference(Some(NAME), None, None), &None, &asked);
    assert_eq!(access, Ok(vec![request(&[("lifetime-seconds", "600")])]));
    for access in [&[][..], &[access_credential(), access_credential()]] {
        let reference = reference(Some(NAME), None, None);
        let host = ScriptedHost::new();
        let error = Gcp.rest_config(&reference, access, &None, &request(&[]), &host);
        assert_eq!(error.unwrap_err().code(), ErrorCode::Internal);
    }
}

#[test]
fn what_a_cluster_lacks_is_said_with_what_to_do() {
    let dns = "/controlPlaneEndpointsConfig/dnsEndpointConfig";
    for (endpoint, answer, code, word) in [
        (
            "public",
            without("/endpoint"),
            ErrorCode::InvalidConfiguration,
            "private or dns",
        ),
        (
            "public",
            with("/endpoint", json!("")),
            ErrorCode::InvalidConfiguration,
            "private or dns",
        ),
        (
            "private",
            without("/privateClusterConfig"),
            ErrorCode::InvalidConfiguration,
            "public or dns",
        ),
        (
            "private",
            with("/privateClusterConfig/privateEndpoint", json!(null)),
            ErrorCode::InvalidConfiguration,
            "public or dns",
        ),
        (
            "dns",
            without("/controlPlaneEndpointsConfig"),
            ErrorCode::InvalidConfiguration,
            "enable it",
        ),
        (
            "dns",
            without(dns),
            ErrorCode::InvalidConfiguration,
            "enable it",
        ),
        (
            "public",
            without("/masterAuth"),
            ErrorCode::Unavailable,
            "certificate authority",
        ),
        (
            "public",
            with("/masterAuth/clusterCaCertificate", json!("%")),
            ErrorCode::Unavailable,
            "PEM",
        ),
        (
            "public",
            with("/masterAuth/clusterCaCertificate", json!("QUJD")),
            ErrorCode::Unavailable,
            "PEM",
        ),
        (
            "public",
            with("/status", json!("PROVISIONING")),
            ErrorCode::NotYet,
            "being created",
        ),
        (
            "public",
            with("/endpoint", json!("https://203.0.113.7")),
            ErrorCode::Unavailable,
            "no address",
        ),
        (
            "public",
            with("/endpoint", json!("203.0.113.7/api")),
            ErrorCode::Unavailable,
            "no address",
        ),
        (
            "public",
            with("/endpoint", json!("a@evil.example")),
            ErrorCode::Unavailable,
            "no address",
        ),
        (
            "public",
            with("/endpoint", json!(7)),
            ErrorCode::Unavailable,
            "no cluster",
        ),
        (
            "public",
            with("/masterAuth", json!([])),
            ErrorCode::Unavailable,
            "no cluster",
        ),
    ] {
        let host = answering(200, &answer.to_string());
        let request = request(&[("cluster-endpoint", endpoint)]);
        let error = config(&reference(Some(NAME), None, None), &request, &host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(error.message().contains(NAME), "{error}");
    }
}

#[test]
fn an_endpoint_has_one_spelling() {
    for (endpoint, server) in [
        ("2001:DB8::1", "https://[2001:db8::1]"),
        ("203.0.113.7:443", "https://203.0.113.7"),
        ("203.0.113.7:6443", "https://203.0.113.7:6443"),
    ] {
        let host = answering(200, &with("/endpoint", json!(endpoint)).to_string());
        let access = config(&reference(Some(NAME), None, None), &request(&[]), &host).unwrap();
        assert_eq!(access.server, server);
    }
}

#[test]
fn the_private_endpoint_stands_in_either_place() {
    let mut answer = without("/privateClusterConfig");
    let newer = json!({"ipEndpointsConfig": {"privateEndpoint": "10.0.0.2"}});
    answer["controlPlaneEndpointsConfig"] = newer;
    let host = answering(200, &answer.to_string());
    let request = request(&[("cluster-endpoint", "private")]);
    let access = config(&reference(Some(NAME), None, None), &request, &host).unwrap();
    assert_eq!(access.server, PRIVATE);
}

#[test]
fn a_refusal_or_a_broken_answer_is_sorted() {
    let denied = r#"{"error":{"code":403,"message":"m","status":"PERMISSION_DENIED"}}"#;
    let missing = r#"{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}"#;
    let whole = described().to_string();
    let cut: String = whole.chars().take(100).collect();
    for (status, body, code, word) in [
        (403, denied, ErrorCode::Denied, "roles/container"),
        (404, missing, ErrorCode::InvalidConfiguration, "location"),
        (503, "", ErrorCode::Unavailable, "503"),
        (429, "", ErrorCode::Throttled, "429"),
        (200, "", ErrorCode::Unavailable, "cut off"),
        (200, "null", ErrorCode::Unavailable, "cut off"),
        (200, "[]", ErrorCode::Unavailable, "cut off"),
        (200, "<html>", ErrorCode::Unavailable, "cut off"),
        (200, cut.as_str(), ErrorCode::Unavailable, "cut off"),
        (200, "{}", ErrorCode::InvalidConfiguration, "endpoint"),
    ] {
        let host = answering(status, body);
        let error = config(&reference(Some(NAME), None, None), &request(&[]), &host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(!error.message().contains("token"), "{error}");
    }
}
