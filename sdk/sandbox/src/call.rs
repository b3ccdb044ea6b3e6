//! One request as the sandbox's services see it: read whole, so that signatures can be recomputed.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;

use crate::answer::{self, Answer};

/// No request of the protocols spoken here comes near; a flood ends in 413.
const MAXIMUM_BODY_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// The Host header in lower case, with the port if the client sent one.
    pub(crate) authority: String,
    /// The path as sent, still percent-encoded.
    pub(crate) path: String,
    /// The query as sent, still percent-encoded; empty if there is none.
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) async fn read(request: Request<Incoming>) -> Result<Self, Answer> {
        let (head, body) = request.into_parts();
        let Some(authority) = authority(&head) else {
            return Err(answer::plain(
                StatusCode::BAD_REQUEST,
                "the Host header is missing",
            ));
        };
        let Ok(body) = Limited::new(body, MAXIMUM_BODY_BYTES).collect().await else {
            let message = "the body is larger than 4 MiB or was cut off";
            return Err(answer::plain(StatusCode::PAYLOAD_TOO_LARGE, message));
        };
        Ok(Self {
            method: head.method,
            authority,
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: head.headers,
            body: body.to_bytes(),
        })
    }

    /// The host without its port.
    pub(crate) fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.authority,
        }
    }

    /// A header's value, if it is there, once, and text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        value.to_str().ok()
    }

    /// The path's segments, decoded; a trailing slash adds none.
    pub(crate) fn segments(&self) -> Vec<Cow<'_, str>> {
        let decode = |segment| percent_decode_str(segment).decode_utf8_lossy();
        let path = self.path.trim_matches('/');
        path.split('/')
            .filter(|part| !part.is_empty())
            .map(decode)
            .collect()
    }

    /// The first value of a query parameter, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        form_urlencoded::parse(self.query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// The media type of the body without its parameters.
    pub(crate) fn media_type(&self) -> &str {
        let value = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
    }

    /// The operation that an AWS request names, wherever its protocol puts it.
    pub(crate) fn action(&self) -> Option<String> {
        let target = self
            .header("x-amz-target")
            .and_then(|target| target.rsplit('.').next());
        let action = target
            .map(str::to_owned)
            .or_else(|| self.parameter("Action"))
            .or_else(|| self.form_action())?;
        let plausible =
            action.len() <= 64 && action.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plausible.then_some(action)
    }

    fn form_action(&self) -> Option<String> {
        if self.media_type() != "application/x-www-form-urlencoded" {
            return None;
        }
        form_urlencoded::parse(&self.body)
            .find(|(key, _)| key == "Action")
            .map(|(_, value)| value.into_owned())
    }
}

fn authority(head: &http::request::Parts) -> Option<String> {
    let header = head.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = header.or_else(|| head.uri.authority().map(http::uri::Authority::as_str))?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}
