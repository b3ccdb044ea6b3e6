//! An AWS error and the shapes it takes on the wire, one per protocol.

use http::StatusCode;
use http::header::HeaderName;
use serde_json::json;
use uuid::Uuid;

use super::document;
use super::endpoint::Service;
use crate::answer::{self, Answer};
use crate::call::Call;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

/// How a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Form in, XML out; JSON out for who accepts it.
    Query,
    /// JSON 1.1: the operation is in `X-Amz-Target`.
    Json,
    /// REST with JSON bodies.
    Rest,
}

impl Protocol {
    pub(crate) fn of(service: Service) -> Self {
        match service {
            Service::Sts => Self::Query,
            Service::Ecr | Service::EcrPublic => Self::Json,
            Service::Eks => Self::Rest,
        }
    }

    /// The throttling answer: 400 but for REST services (the vendor's service models).
    pub(crate) fn throttled(self) -> Failure {
        match self {
            Self::Query => Failure::new(400, "Throttling", "Rate exceeded"),
            Self::Json => Failure::new(400, "ThrottlingException", "Rate exceeded"),
            Self::Rest => Failure::new(429, "ThrottlingException", "Rate exceeded"),
        }
    }
}

impl Failure {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.to_owned(),
            message: message.into(),
        }
    }

    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new(400, "ValidationError", message)
    }

    /// The answer in a protocol's shape.
    pub(crate) fn answer(&self, protocol: Protocol, call: &Call) -> Answer {
        let request = Uuid::new_v4().to_string();
        let answer = match protocol {
            Protocol::Query => document::failure(self, call, &request),
            Protocol::Json => {
                let body = json!({"__type": self.code, "message": self.message});
                answer::content(self.status, "application/x-amz-json-1.1", body.to_string())
            }
            Protocol::Rest => {
                let answer = answer::json(self.status, &json!({"message": self.message}));
                answer::with_header(
                    answer,
                    HeaderName::from_static("x-amzn-errortype"),
                    &self.code,
                )
            }
        };
        answer::with_header(
            answer,
            HeaderName::from_static("x-amzn-requestid"),
            &request,
        )
    }
}
