//! The token that GitHub answers with: what it says of itself.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::Secret;
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// GitHub's answer; it holds a count as well, which says nothing.
#[derive(Deserialize)]
pub(crate) struct Answer {
    value: Secret,
}

/// A token and what it says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: Secret,
    pub(crate) issuer: String,
    pub(crate) subject: String,
    pub(crate) audience: String,
    pub(crate) expires_at: SystemTime,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: String,
    exp: u64,
}

impl Token {
    /// Reads a token, whose signature is for its receiver to check. `None`: it is not one.
    pub(crate) fn read(answer: Answer) -> Option<Self> {
        let text = answer.value;
        let [header, claims, signature] = parts(text.expose())?;
        let encoded = |part: &str| !part.is_empty() && part.bytes().all(is_base64url);
        if ![header, claims, signature].into_iter().all(encoded) {
            return None;
        }
        let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
        let named = [&claims.iss, &claims.sub, &claims.aud];
        let printable = |text: &String| !text.is_empty() && !text.chars().any(char::is_control);
        let lifetime = Duration::from_secs(claims.exp);
        named.into_iter().all(printable).then_some(())?;
        Some(Self {
            expires_at: SystemTime::UNIX_EPOCH.checked_add(lifetime)?,
            issuer: claims.iss,
            subject: claims.sub,
            audience: claims.aud,
            text,
        })
    }
}

fn parts(text: &str) -> Option<[&str; 3]> {
    let mut parts = text.split('.');
    let three = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(three)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
