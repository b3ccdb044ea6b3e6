//! An error of Azure and the shapes it takes on the wire, one per service.

use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderName};
use serde_json::{Value, json};
use uuid::Uuid;

use super::cloud::Service;
use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::clock::utc_timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    /// The OAuth 2.0 error, or the service's own code.
    pub(crate) code: String,
    /// Entra's number, `AADSTS` in the description.
    pub(crate) number: Option<u32>,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.to_owned(),
            number: None,
            message: message.into(),
        }
    }

    /// What Entra answers.
    pub(crate) fn entra(status: u16, code: &str, number: u32, message: impl Into<String>) -> Self {
        Self {
            number: Some(number),
            ..Self::new(status, code, message)
        }
    }

    /// The error that a fault rule asks for. A code such as `AADSTS700016` is taken apart.
    pub(crate) fn of_fault(error: &ServiceError) -> Self {
        let digits = error.code.strip_prefix("AADSTS");
        let number = digits.and_then(|digits| digits.parse().ok());
        let code = match (number, error.status.as_u16()) {
            (None, _) => error.code.as_str(),
            (Some(_), 401) => "invalid_client",
            (Some(_), 429 | 503) => "temporarily_unavailable",
            (Some(_), 500..) => "server_error",
            (Some(_), _) => "invalid_request",
        };
        Self {
            number,
            ..Self::new(error.status.as_u16(), code, error.message.clone())
        }
    }

    /// The throttling answer of a service.
    pub(crate) fn throttled(service: Service) -> Self {
        match service {
            // The number of the vendor's list of codes; that of a real refusal varies.
            Service::Entra => Self::entra(
                429,
                "temporarily_unavailable",
                90055,
                "There are too many incoming requests for this tenant.",
            ),
            Service::ResourceManager => Self::new(
                429,
                "TooManyRequests",
                "The request is being throttled as the limit has been reached for operation type - Read_ObservationWindow_00:05:00.",
            ),
            Service::Registry => Self::new(429, "TOOMANYREQUESTS", "too many requests"),
        }
    }

    /// The answer in a service's shape.
    pub(crate) fn answer(&self, service: Service, call: &Call, now: i64) -> Answer {
        let request = Uuid::new_v4();
        let answer = match service {
            Service::Entra => self.entra_answer(call, request, now),
            Service::ResourceManager => {
                let body = json!({"error": {"code": self.code, "message": self.message}});
                answer::json(self.status, &body)
            }
            Service::Registry => {
                let body = json!({"errors": [{"code": self.code, "message": self.message}]});
                answer::json(self.status, &body)
            }
        };
        let header = match service {
            Service::Registry => "x-ms-correlation-request-id",
            Service::Entra | Service::ResourceManager => "x-ms-request-id",
        };
        answer::with_header(
            answer,
            HeaderName::from_static(header),
            &request.to_string(),
        )
    }

    fn entra_answer(&self, call: &Call, trace: Uuid, now: i64) -> Answer {
        let asked = call.header("client-request-id");
        let correlation = asked.and_then(|id| Uuid::try_parse(id).ok());
        let correlation = correlation.unwrap_or_else(Uuid::new_v4);
        let timestamp = utc_timestamp(now);
        let mut body = json!({
            "error": self.code,
            "error_description": format!(
                "{}{} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {timestamp}",
                self.prefix(), self.message
            ),
            "error_codes": self.number.into_iter().collect::<Vec<_>>(),
            "timestamp": timestamp,
            "trace_id": trace,
            "correlation_id": correlation,
        });
        if let (Some(number), Value::Object(fields)) = (self.number, &mut body) {
            let address = format!("https://{}/error?code={number}", call.host());
            fields.insert("error_uri".to_owned(), address.into());
        }
        let answer = answer::content(
            self.status,
            "application/json; charset=utf-8",
            body.to_string(),
        );
        answer::with_header(answer, CACHE_CONTROL, "no-store, no-cache")
    }

    fn prefix(&self) -> String {
        let number = self.number.map(|number| format!("AADSTS{number}: "));
        number.unwrap_or_default()
    }
}
