//! Reviews: TokenReview, SelfSubjectReview and SelfSubjectAccessReview.

use http::StatusCode;
use serde_json::{Value, json};

use super::account_token;
use super::authentication::{Authentication, OwnAccounts, User};
use super::authorization::{Attributes, Authorization};
use super::status::Refusal;
use crate::answer::{self, Answer};
use crate::json::{at, put};

/// POST `tokenreviews`: whose token is it, and for which of the audiences asked.
pub(crate) async fn token(
    body: Value,
    authentication: &Authentication,
    own: &OwnAccounts<'_>,
) -> Answer {
    let token = at(&body, &["spec", "token"]).as_str().unwrap_or_default();
    let own_audience = vec![own.issuer.clone()];
    let asked: Option<Vec<String>> =
        serde_json::from_value(at(&body, &["spec", "audiences"]).clone()).ok();
    let asked = asked
        .filter(|asked| !asked.is_empty())
        .unwrap_or_else(|| own_audience.clone());
    let found = match account_token::review(token, &asked, own) {
        Some(found) => Some(found),
        // Other authenticators vouch for the API server's own audience alone.
        None if asked.contains(&own.issuer) => authentication
            .user_of(token, own)
            .await
            .map(|user| (user, own_audience)),
        None => None,
    };
    let status = match found {
        Some((user, audiences)) => {
            json!({"authenticated": true, "user": user, "audiences": audiences})
        }
        None => json!({"error": "invalid bearer token"}),
    };
    review(
        "TokenReview",
        "authentication.k8s.io/v1",
        at(&body, &["spec"]),
        &status,
    )
}

/// POST `selfsubjectreviews`: who am I.
pub(crate) fn subject(user: &User) -> Answer {
    let status = json!({"userInfo": user});
    review(
        "SelfSubjectReview",
        "authentication.k8s.io/v1",
        &Value::Null,
        &status,
    )
}

/// POST `selfsubjectaccessreviews`: may I.
pub(crate) fn access(
    body: &Value,
    user: &User,
    authorization: &Authorization,
) -> Result<Answer, Refusal> {
    let asked = at(body, &["spec", "resourceAttributes"]);
    if !asked.is_object() {
        return Err(Refusal::bad_request(
            "only resourceAttributes are reviewed here",
        ));
    }
    let text = |field: &str| at(asked, &[field]).as_str().unwrap_or_default();
    let resource = match text("subresource") {
        "" => text("resource").to_owned(),
        subresource => format!("{}/{subresource}", text("resource")),
    };
    let attributes = Attributes {
        verb: text("verb"),
        group: text("group"),
        resource,
        namespace: at(asked, &["namespace"])
            .as_str()
            .filter(|namespace| !namespace.is_empty()),
        name: text("name"),
    };
    let status = json!({"allowed": authorization.permits(user, &attributes)});
    let kind = "SelfSubjectAccessReview";
    Ok(review(
        kind,
        "authorization.k8s.io/v1",
        at(body, &["spec"]),
        &status,
    ))
}

fn review(kind: &str, version: &str, spec: &Value, status: &Value) -> Answer {
    let mut body = json!({
        "kind": kind,
        "apiVersion": version,
        "metadata": {"creationTimestamp": null},
        "status": status,
    });
    if !spec.is_null() {
        // The token itself is not sent back.
        let mut spec = spec.clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("token");
        }
        put(&mut body, &["spec"], spec);
    }
    answer::json(StatusCode::CREATED, &body)
}
