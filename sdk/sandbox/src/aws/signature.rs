//! Signature version 4, the verifying side: what a request presents, and what it should have been.
//!
//! Written against the vendor's description of the canonical request; services other than S3 encode
//! the path a second time and hash the body they received.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::call::Call;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// RFC 3986's unreserved characters stay as they are.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A signature as presented, its parts read but nothing proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Presented {
    pub(crate) access_key_id: String,
    pub(crate) date: String,
    pub(crate) region: String,
    pub(crate) service: String,
    pub(crate) signed_headers: Vec<String>,
    /// `20260131T235959Z`, as signed.
    pub(crate) timestamp: String,
    pub(crate) signed_at: i64,
    pub(crate) session_token: Option<String>,
    /// In the query: a presigned URL.
    pub(crate) is_presigned: bool,
    signature: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    Missing,
    /// What is missing or malformed.
    Incomplete(&'static str),
}

impl Presented {
    pub(crate) fn read(call: &Call) -> Result<Self, Unreadable> {
        if let Some(authorization) = call.header("authorization") {
            return Self::of_header(call, authorization);
        }
        if call.parameter("X-Amz-Algorithm").is_some() {
            return Self::of_query(call);
        }
        Err(Unreadable::Missing)
    }

    fn of_header(call: &Call, authorization: &str) -> Result<Self, Unreadable> {
        let fields = authorization
            .strip_prefix(ALGORITHM)
            .ok_or(Unreadable::Missing)?;
        let field = |name: &str| {
            let fields = fields
                .split(',')
                .filter_map(|field| field.trim().split_once('='));
            fields
                .into_iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let parts = Parts {
            credential: field("Credential"),
            signed_headers: field("SignedHeaders"),
            signature: field("Signature"),
            timestamp: call.header("x-amz-date").map(str::to_owned),
            session_token: call.header("x-amz-security-token").map(str::to_owned),
        };
        parts.assemble(false)
    }

    fn of_query(call: &Call) -> Result<Self, Unreadable> {
        if call.parameter("X-Amz-Algorithm").as_deref() != Some(ALGORITHM) {
            return Err(Unreadable::Incomplete("X-Amz-Algorithm"));
        }
        let parts = Parts {
            credential: call.parameter("X-Amz-Credential"),
            signed_headers: call.parameter("X-Amz-SignedHeaders"),
            signature: call.parameter("X-Amz-Signature"),
            timestamp: call.parameter("X-Amz-Date"),
            session_token: call.parameter("X-Amz-Security-Token"),
        };
        parts.assemble(true)
    }

    /// Whether the signature is the one that `secret` gives for this request.
    pub(crate) fn is_proven_by(&self, call: &Call, secret: &str) -> bool {
        let canonical = self.canonical_request(call);
        let scope = format!(
            "{}/{}/{}/aws4_request",
            self.date, self.region, self.service
        );
        let hashed = hex(digest(&SHA256, canonical.as_bytes()).as_ref());
        let text = format!("{ALGORITHM}\n{}\n{scope}\n{hashed}", self.timestamp);
        let mut key = format!("AWS4{secret}").into_bytes();
        for part in [&self.date, &self.region, &self.service, "aws4_request"] {
            key = keyed(&key, part);
        }
        let expected = hex(&keyed(&key, &text));
        verify_slices_are_equal(expected.as_bytes(), self.signature.as_bytes()).is_ok()
    }

    fn canonical_request(&self, call: &Call) -> String {
        let path = canonical_path(&call.path);
        let query = canonical_query(&call.query);
        let headers: String = self
            .signed_headers
            .iter()
            .map(|name| canonical_header(call, name))
            .collect();
        let names = self.signed_headers.join(";");
        let body = hex(digest(&SHA256, &call.body).as_ref());
        format!(
            "{}\n{path}\n{query}\n{headers}\n{names}\n{body}",
            call.method
        )
    }
}

struct Parts {
    credential: Option<String>,
    signed_headers: Option<String>,
    signature: Option<String>,
    timestamp: Option<String>,
    session_token: Option<String>,
}

impl Parts {
    fn assemble(self, is_presigned: bool) -> Result<Presented, Unreadable> {
        let credential = self
            .credential
            .ok_or(Unreadable::Incomplete("Credential"))?;
        let scope: Vec<&str> = credential.split('/').collect();
        let [access_key_id, date, region, service, "aws4_request"] = scope.as_slice() else {
            return Err(Unreadable::Incomplete("Credential"));
        };
        let signed_headers = self
            .signed_headers
            .ok_or(Unreadable::Incomplete("SignedHeaders"))?;
        let signed_headers: Vec<String> = signed_headers.split(';').map(str::to_owned).collect();
        if !signed_headers.iter().any(|name| name == "host") {
            return Err(Unreadable::Incomplete("SignedHeaders"));
        }
        let timestamp = self.timestamp.ok_or(Unreadable::Incomplete("X-Amz-Date"))?;
        let signed_at = moment(&timestamp).ok_or(Unreadable::Incomplete("X-Amz-Date"))?;
        if !timestamp.starts_with(date) {
            return Err(Unreadable::Incomplete("Credential"));
        }
        Ok(Presented {
            access_key_id: (*access_key_id).to_owned(),
            date: (*date).to_owned(),
            region: (*region).to_owned(),
            service: (*service).to_owned(),
            signed_headers,
            signed_at,
            session_token: self.session_token,
            signature: self.signature.ok_or(Unreadable::Incomplete("Signature"))?,
            timestamp,
            is_presigned,
        })
    }
}

/// ISO 8601 basic format in UTC, to seconds.
pub(crate) fn moment(timestamp: &str) -> Option<i64> {
    let civil = DateTime::strptime("%Y%m%dT%H%M%SZ", timestamp).ok()?;
    let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

/// The inverse of [`moment`].
pub(crate) fn timestamp(seconds: i64) -> String {
    let moment = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    moment.strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn canonical_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            other => segments.push(other),
        }
    }
    let encoded: Vec<String> = segments
        .iter()
        .map(|segment| encode(segment.as_bytes()))
        .collect();
    let tail = if path.len() > 1 && path.ends_with('/') && !encoded.is_empty() {
        "/"
    } else {
        ""
    };
    format!("/{}{tail}", encoded.join("/"))
}

fn canonical_query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(String, String)> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(name, _)| *name != "X-Amz-Signature")
        .map(|(name, value)| (recode(name), recode(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn canonical_header(call: &Call, name: &str) -> String {
    let values = call.headers.get_all(name).iter();
    let values: Vec<String> = values
        .map(|value| {
            String::from_utf8_lossy(value.as_bytes())
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    format!("{name}:{}\n", values.join(","))
}

fn recode(text: &str) -> String {
    encode(&percent_decode_str(text).collect::<Vec<u8>>())
}

fn encode(bytes: &[u8]) -> String {
    percent_encode(bytes, RESERVED).to_string()
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
