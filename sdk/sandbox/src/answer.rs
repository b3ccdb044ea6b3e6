//! What a service answers, and the few shapes all of them share.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

pub(crate) type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;
pub(crate) type Answer = Response<AnswerBody>;

/// An error that a fault rule asks for; each service renders it in its own protocol's shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceError {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) message: String,
}

pub(crate) fn content(status: StatusCode, media_type: &str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(whole(body.into()));
    *answer.status_mut() = status;
    with_header(answer, CONTENT_TYPE, media_type)
}

pub(crate) fn json(status: StatusCode, value: &Value) -> Answer {
    content(status, "application/json", value.to_string())
}

pub(crate) fn plain(status: StatusCode, message: &str) -> Answer {
    content(status, "text/plain; charset=utf-8", message.to_owned())
}

pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(whole(Bytes::new()));
    *answer.status_mut() = status;
    answer
}

/// Sets a header; a value that HTTP does not allow is left out.
pub(crate) fn with_header(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
    answer
}

pub(crate) fn whole(body: Bytes) -> AnswerBody {
    let never = |infallible: Infallible| match infallible {};
    Full::new(body).map_err(never).boxed_unsync()
}
