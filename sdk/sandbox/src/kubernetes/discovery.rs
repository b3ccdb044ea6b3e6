//! What a cluster says about itself: version, API groups, and the issuer of its tokens.

use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde_json::{Value, json};

use super::resource::Resource;
use crate::answer::{self, Answer};
use crate::signing_key::SigningKey;

/// The version whose behaviour is imitated.
const GIT_VERSION: &str = "v1.34.2";

/// The documents of `/version`, `/api` and `/apis`; none for another path.
pub(crate) fn document(path: &str) -> Option<Value> {
    match path {
        "/version" => Some(version()),
        "/api" => Some(json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        })),
        "/apis" => Some(json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [group("authentication.k8s.io"), group("authorization.k8s.io")],
        })),
        "/api/v1" => Some(core()),
        "/apis/authentication.k8s.io/v1" => {
            let kinds = [
                ("tokenreviews", "TokenReview"),
                ("selfsubjectreviews", "SelfSubjectReview"),
            ];
            Some(reviews("authentication.k8s.io/v1", &kinds))
        }
        "/apis/authorization.k8s.io/v1" => {
            let kinds = [("selfsubjectaccessreviews", "SelfSubjectAccessReview")];
            Some(reviews("authorization.k8s.io/v1", &kinds))
        }
        _ => None,
    }
}

/// `/.well-known/openid-configuration`.
pub(crate) fn openid_configuration(issuer: &str) -> Answer {
    let document = json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    });
    cached(answer::json(StatusCode::OK, &document))
}

/// `/openid/v1/jwks`.
pub(crate) fn key_set(key: &SigningKey) -> Answer {
    let keys = json!({"keys": [key.public()]});
    cached(answer::content(
        StatusCode::OK,
        "application/jwk-set+json",
        keys.to_string(),
    ))
}

fn cached(answer: Answer) -> Answer {
    answer::with_header(answer, CACHE_CONTROL, "public, max-age=3600")
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "34",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2025-11-11T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    })
}

fn group(name: &str) -> Value {
    let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
    json!({"name": name, "versions": [version], "preferredVersion": version})
}

fn core() -> Value {
    let mut resources: Vec<Value> = Resource::ALL
        .into_iter()
        .map(Resource::discovered)
        .collect();
    resources.push(json!({
        "name": "serviceaccounts/token",
        "singularName": "",
        "namespaced": true,
        "group": "authentication.k8s.io",
        "version": "v1",
        "kind": "TokenRequest",
        "verbs": ["create"],
    }));
    resource_list("v1", &resources)
}

fn reviews(version: &str, kinds: &[(&str, &str)]) -> Value {
    let review = |(plural, kind): &(&str, &str)| {
        json!({
            "name": plural,
            "singularName": kind.to_ascii_lowercase(),
            "namespaced": false,
            "kind": kind,
            "verbs": ["create"],
        })
    };
    resource_list(version, &kinds.iter().map(review).collect::<Vec<_>>())
}

fn resource_list(version: &str, resources: &[Value]) -> Value {
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version,
        "resources": resources,
    })
}
