//! A Google error and the shapes it takes on the wire.
//!
//! Descriptions that people have reported from the real services are given in the same words; the
//! others are the sandbox's own.

use http::StatusCode;
use http::header::WWW_AUTHENTICATE;
use serde_json::{Value, json};

use super::endpoint::Service;
use crate::answer::{self, Answer};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// The OAuth error, or the canonical status such as `PERMISSION_DENIED`.
    pub(crate) code: String,
    pub(crate) message: String,
    /// The `google.rpc.ErrorInfo` beside it.
    info: Option<Value>,
}

/// How a service speaks of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// RFC 6749 §5.2: `error` and `error_description`.
    OAuth,
    /// `google.rpc.Status` under `error` (AIP-193).
    Api,
}

impl Protocol {
    pub(crate) fn of(service: Service) -> Self {
        match service {
            Service::Sts | Service::OAuth => Self::OAuth,
            Service::IamCredentials
            | Service::Container
            | Service::Accounts
            | Service::Certificates => Self::Api,
        }
    }
}

impl Failure {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.to_owned(),
            message: message.into(),
            info: None,
        }
    }

    /// An OAuth refusal: 400 with this error.
    pub(crate) fn oauth(error: &str, description: impl Into<String>) -> Self {
        Self::new(400, error, description)
    }

    pub(crate) fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    pub(crate) fn no_method() -> Self {
        Self::new(404, "NOT_FOUND", "Method not found.")
    }

    /// The answer to a request without a token.
    pub(crate) fn credentials_missing() -> Self {
        let message = "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.";
        Self::new(401, "UNAUTHENTICATED", message).because("CREDENTIALS_MISSING")
    }

    /// The answer to a token that is unknown, malformed or over.
    pub(crate) fn credentials_invalid(reason: &str) -> Self {
        let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.";
        Self::new(401, "UNAUTHENTICATED", message).because(reason)
    }

    pub(crate) fn scope_insufficient() -> Self {
        let message = "Request had insufficient authentication scopes.";
        Self::new(403, "PERMISSION_DENIED", message).because("ACCESS_TOKEN_SCOPE_INSUFFICIENT")
    }

    pub(crate) fn permission_denied(permission: &str, message: impl Into<String>) -> Self {
        let mut failure = Self::new(403, "PERMISSION_DENIED", message);
        failure.info = Some(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "IAM_PERMISSION_DENIED",
            "domain": "iam.googleapis.com",
            "metadata": {"permission": permission},
        }));
        failure
    }

    fn because(mut self, reason: &str) -> Self {
        self.info = Some(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "googleapis.com",
        }));
        self
    }

    /// The answer in a protocol's shape.
    pub(crate) fn answer(&self, protocol: Protocol) -> Answer {
        let body = match protocol {
            Protocol::OAuth => json!({"error": self.code, "error_description": self.message}),
            Protocol::Api => self.status_object(),
        };
        let answer = answer::json(self.status, &body);
        if protocol == Protocol::Api && self.status == StatusCode::UNAUTHORIZED {
            let challenge = "Bearer realm=\"https://accounts.google.com/\"";
            return answer::with_header(answer, WWW_AUTHENTICATE, challenge);
        }
        answer
    }

    fn status_object(&self) -> Value {
        let mut error = json!({
            "code": self.status.as_u16(),
            "message": self.message,
            "status": self.code,
        });
        if let (Some(info), Some(fields)) = (&self.info, error.as_object_mut()) {
            fields.insert("details".to_owned(), json!([info]));
        }
        json!({"error": error})
    }
}

/// The throttling answer. Quotas are kept by the common front end, so that even the token service
/// answers in the shape of an API.
pub(crate) fn throttled(service: Service) -> Answer {
    if service == Service::OAuth {
        let failure = Failure::new(429, "rate_limit_exceeded", "Rate limit exceeded");
        return failure.answer(Protocol::OAuth);
    }
    let message = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'.";
    Failure::new(429, "RESOURCE_EXHAUSTED", message)
        .because("RATE_LIMIT_EXCEEDED")
        .answer(Protocol::Api)
}
