//! Refusals in the API server's own words: the `Status` object.

use http::StatusCode;
use http::header::RETRY_AFTER;
use serde_json::{Map, Value, json};

use super::resource::Resource;
use crate::answer::{self, Answer};
use crate::builder::StartError;

/// A request that the API server turns down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    status: StatusCode,
    reason: &'static str,
    message: String,
    details: Map<String, Value>,
}

impl Refusal {
    fn new(status: StatusCode, reason: &'static str, message: String) -> Self {
        Self {
            status,
            reason,
            message,
            details: Map::new(),
        }
    }

    fn about(mut self, name: &str, kind: &str) -> Self {
        if !name.is_empty() {
            self.details.insert("name".to_owned(), name.into());
        }
        self.details.insert("kind".to_owned(), kind.into());
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message.into())
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "Unauthorized",
            "Unauthorized".to_owned(),
        )
    }

    /// `message` is the authorizer's whole sentence; `name` and `kind` are empty for a plain path.
    pub(crate) fn forbidden(message: String, name: &str, kind: &str) -> Self {
        let refusal = Self::new(StatusCode::FORBIDDEN, "Forbidden", message);
        if kind.is_empty() {
            return refusal;
        }
        refusal.about(name, kind)
    }

    pub(crate) fn not_found(resource: Resource, name: &str) -> Self {
        let plural = resource.plural();
        let message = format!("{plural} \"{name}\" not found");
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(name, plural)
    }

    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource".to_owned();
        Self::new(StatusCode::NOT_FOUND, "NotFound", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(crate) fn already_exists(resource: Resource, name: &str) -> Self {
        let plural = resource.plural();
        let message = format!("{plural} \"{name}\" already exists");
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(name, plural)
    }

    /// `kind` is what the server puts in the place of the resource's name: its plural, or a kind.
    pub(crate) fn conflict(kind: &str, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {kind} \"{name}\": {why}");
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(name, kind)
    }

    /// One wrong field; `value` is the offending value as the server quotes it.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, cause: &Cause) -> Self {
        let qualified = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let message = format!(
            "{qualified} \"{name}\" is invalid: {}: {}",
            cause.field, cause.message
        );
        let mut refusal =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).about(name, kind);
        if !group.is_empty() {
            refusal.details.insert("group".to_owned(), group.into());
        }
        let causes =
            json!([{"reason": cause.reason, "message": cause.message, "field": cause.field}]);
        refusal.details.insert("causes".to_owned(), causes);
        refusal
    }

    pub(crate) fn unsupported_media_type(sent: &str) -> Self {
        let accepted = "application/json-patch+json, application/merge-patch+json, \
                        application/strategic-merge-patch+json, application/apply-patch+yaml";
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted} (sent: {sent})"
        );
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    pub(crate) fn expired(asked: u64, oldest: u64) -> Self {
        let message = format!("too old resource version: {asked} ({oldest})");
        Self::new(StatusCode::GONE, "Expired", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let message = format!("Internal error occurred: {}", message.into());
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The `Status` object.
    pub(crate) fn body(&self) -> Value {
        let details = (!self.details.is_empty()).then(|| Value::Object(self.details.clone()));
        failure(self.status, self.reason, &self.message, details)
    }

    pub(crate) fn answer(&self) -> Answer {
        answer::json(self.status, &self.body())
    }
}

/// Why one field is wrong, in the words of the API's field errors.
#[derive(Debug)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) field: &'static str,
    pub(crate) message: String,
}

/// A `Status` that a fault rule asks for; throttling says when to come back.
pub(crate) fn fault(status: StatusCode, reason: &str, message: &str) -> Answer {
    let answer = answer::json(status, &failure(status, reason, message, None));
    if status == StatusCode::TOO_MANY_REQUESTS {
        return answer::with_header(answer, RETRY_AFTER, "1");
    }
    answer
}

/// What a delete answers.
pub(crate) fn success(resource: Resource, name: &str, uid: &Value) -> Value {
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": name, "kind": resource.plural(), "uid": uid},
    })
}

fn failure(status: StatusCode, reason: &str, message: &str, details: Option<Value>) -> Value {
    let mut body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": status.as_u16(),
    });
    if let (Some(body), Some(details)) = (body.as_object_mut(), details) {
        body.insert("details".to_owned(), details);
    }
    body
}

impl From<StartError> for Refusal {
    /// The one part that a cluster makes late is its signing key.
    fn from(error: StartError) -> Self {
        Self::internal(error.to_string())
    }
}
