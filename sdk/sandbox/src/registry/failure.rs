//! Refusals in the words of the distribution specification.

use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use crate::answer::{self, Answer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
    detail: Value,
    /// What a client must show first.
    challenge: Option<String>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            detail: Value::Null,
            challenge: None,
        }
    }

    pub(crate) fn unauthorized(challenge: String) -> Self {
        let mut failure = Self::new(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            "authentication required",
        );
        failure.challenge = Some(challenge);
        failure
    }

    pub(crate) fn denied() -> Self {
        let message = "requested access to the resource is denied";
        Self::new(StatusCode::FORBIDDEN, "DENIED", message)
    }

    pub(crate) fn bad(code: &str, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(crate) fn missing(code: &str, message: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    pub(crate) fn unsupported() -> Self {
        let message = "The operation is unsupported.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "UNSUPPORTED", message)
    }

    pub(crate) fn digest_invalid() -> Self {
        let message = "provided digest did not match uploaded content";
        Self::bad("DIGEST_INVALID", message)
    }

    pub(crate) fn about(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }

    pub(crate) fn answer(&self) -> Answer {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (false, Some(fields)) = (self.detail.is_null(), error.as_object_mut()) {
            fields.insert("detail".to_owned(), self.detail.clone());
        }
        let answer = answer::json(self.status, &json!({"errors": [error]}));
        match &self.challenge {
            Some(challenge) => answer::with_header(answer, WWW_AUTHENTICATE, challenge),
            None => answer,
        }
    }
}
