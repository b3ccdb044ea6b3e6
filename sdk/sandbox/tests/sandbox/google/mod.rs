//! Google Cloud.

mod credentials;
mod gke;
mod metadata;
mod oauth;
mod sts;

use std::time::SystemTime;

use gatepass_sandbox::Clock;
use serde_json::{Value, json};

use crate::world::{Reply, World};

pub(crate) const STS: &str = "https://sts.googleapis.com/v1/token";
pub(crate) const PROVIDER: &str =
    "projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management";
pub(crate) const POOL: &str =
    "projects/345678901234/locations/global/workloadIdentityPools/gatepass";
pub(crate) const AUDIENCE: &str = "//iam.googleapis.com/projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management";
pub(crate) const TENANT: &str = "tenant-a-gcp@demo-project.iam.gserviceaccount.com";
pub(crate) const CONTROLLER: &str = "controller@demo-project.iam.gserviceaccount.com";
pub(crate) const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
pub(crate) const BOTH_SCOPES: &str =
    "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email";

/// The form of an exchange, as the vendor's SDKs send it.
pub(crate) fn exchange<'a>(audience: &'a str, token: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        ("audience", audience),
        ("scope", BOTH_SCOPES),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:access_token",
        ),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ("subject_token", token),
    ]
}

impl World {
    pub(crate) fn now(&self) -> u64 {
        let now = self.sandbox.clock().now();
        now.duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_secs()
    }

    /// The federated token of a demonstration account, got the regular way.
    pub(crate) async fn federate(&self, account: &str) -> String {
        let namespace = account.split("-g").next().unwrap();
        let token = self.account_token(namespace, account, AUDIENCE).await;
        let reply = self.form(STS, &exchange(AUDIENCE, &token)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        text(&reply, "access_token")
    }

    pub(crate) async fn generate(&self, bearer: &str, account: &str, body: &Value) -> Reply {
        let url = format!(
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{account}:generateAccessToken"
        );
        let request = http::Request::post(url)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {bearer}"));
        self.send(request.body(body.to_string()).unwrap()).await
    }

    /// A token of `account` for whoever holds `bearer`.
    pub(crate) async fn impersonate(&self, bearer: &str, account: &str) -> String {
        let scopes: Vec<&str> = BOTH_SCOPES.split(' ').collect();
        let reply = self
            .generate(bearer, account, &json!({"scope": scopes}))
            .await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        text(&reply, "accessToken")
    }
}

pub(crate) fn text(reply: &Reply, field: &str) -> String {
    reply.json()[field].as_str().unwrap().to_owned()
}

/// A refusal as RFC 6749 has it.
#[track_caller]
pub(crate) fn assert_oauth_error(reply: &Reply, status: u16, error: &str, description: &str) {
    let body = reply.json();
    assert_eq!(
        (reply.status, body["error"].as_str()),
        (status, Some(error)),
        "{body}"
    );
    let found = body["error_description"].as_str().unwrap();
    assert!(found.contains(description), "{body}");
}

/// A refusal as Google's APIs have it.
#[track_caller]
pub(crate) fn assert_api_error(reply: &Reply, code: u16, status: &str, message: &str) {
    let error = &reply.json()["error"];
    assert_eq!(
        (
            reply.status,
            error["code"].as_u64(),
            error["status"].as_str()
        ),
        (code, Some(u64::from(code)), Some(status)),
        "{}",
        reply.body
    );
    assert!(
        error["message"].as_str().unwrap().contains(message),
        "{error}"
    );
}
