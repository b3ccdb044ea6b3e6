//! Access tokens as Entra and the metadata service answer them.

use gatepass_sdk::egress::Response;
use gatepass_sdk::{Credential, Error, Secret};
use serde::{Deserialize, Deserializer};
use std::time::{Duration, SystemTime};

/// The longest lifetime that is believed. Tokens of applications live an hour, those of managed
/// identities a day, those under continuous access evaluation up to 28 hours
/// (learn.microsoft.com/entra/identity-platform/access-tokens).
const MAX_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A number of seconds: Entra writes a number, the metadata service digits in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seconds(u64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Number(u64),
            Text(String),
        }
        match Spelling::deserialize(deserializer)? {
            Spelling::Number(seconds) => Ok(Self(seconds)),
            Spelling::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text
                .parse()
                .map(Self)
                .map_err(|_| serde::de::Error::custom("no number of seconds")),
            Spelling::Text(_) => Err(serde::de::Error::custom("no number of seconds")),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: Secret,
    token_type: Option<String>,
    expires_on: Option<Seconds>,
    expires_in: Option<Seconds>,
}

/// The token in an answer. `asked_at` is when it was asked for, from which its lifetime counts.
///
/// # Errors
///
/// `unavailable` if it is not whole, no bearer token, expired already, or valid for longer than
/// any token is.
pub(crate) fn read(
    doing: &str,
    response: &Response,
    asked_at: SystemTime,
) -> Result<Credential, Error> {
    let wrong = |what: &str| Error::unavailable(format!("{doing}: the answer {what}"));
    let answer: Answer = response.json().map_err(|_| {
        wrong(&format!(
            "of {} bytes is cut off, or is not a token",
            response.body().len()
        ))
    })?;
    let bearer = answer.token_type.as_deref();
    if bearer.is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(wrong("is no bearer token"));
    }
    if !is_token(&answer.access_token) {
        return Err(wrong("has a token that is empty or does not fit a header"));
    }
    let expires_at = match (answer.expires_on, answer.expires_in) {
        (Some(Seconds(on)), _) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(on)),
        (None, Some(Seconds(lifetime))) => asked_at.checked_add(Duration::from_secs(lifetime)),
        (None, None) => return Err(wrong("does not say when the token expires")),
    };
    let expires_at = expires_at.ok_or_else(|| wrong(IMPLAUSIBLE))?;
    let expires_at = plausible(expires_at, asked_at).map_err(wrong)?;
    Ok(Credential::bearer(answer.access_token, expires_at))
}

/// Whether a text is a bearer token (RFC 6750 §2.1): nothing in it can end a header early.
pub(crate) fn is_token(token: &Secret) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    !token.expose().is_empty() && token.expose().bytes().all(legal)
}

const EXPIRED: &str = "has already expired: check the host's clock";
const IMPLAUSIBLE: &str = "is valid for longer than any token of Azure";

/// Refuses an expiry that is of no use, or that no token has.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn plausible(
    expires_at: SystemTime,
    now: SystemTime,
) -> Result<SystemTime, &'static str> {
    match expires_at.duration_since(now) {
        Ok(lifetime) if lifetime.is_zero() => Err(EXPIRED),
        Ok(lifetime) if lifetime > MAX_LIFETIME => Err(IMPLAUSIBLE),
        Ok(_) => Ok(expires_at),
        Err(_) => Err(EXPIRED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing::NOW;
    use gatepass_sdk::{ErrorCode, Material};

    fn parse(body: &str) -> Result<Credential, Error> {
        let now = SystemTime::UNIX_EPOCH + NOW;
        read("doing", &Response::new(200, body.as_bytes()), now)
    }

    #[test]
    fn the_moment_of_expiry_goes_before_the_lifetime() {
        let hour = NOW.as_secs() + 3600;
        for (fields, expected) in [
            (
                r#""expires_in":3600,"ext_expires_in":3600"#.to_owned(),
                3600,
            ),
            (r#""expires_in":"86400""#.to_owned(), 86_400),
            (format!(r#""expires_on":{hour},"expires_in":60"#), 3600),
            (format!(r#""expires_on":"{hour}","expires_in":"60""#), 3600),
            (r#""expires_in":1,"expires_on":null"#.to_owned(), 1),
        ] {
            let body = format!(r#"{{"token_type":"Bearer",{fields},"access_token":"at","x":[]}}"#);
            let credential = parse(&body).unwrap();
            let expiry = SystemTime::UNIX_EPOCH + NOW + Duration::from_secs(expected);
            assert_eq!(credential.expires_at, Some(expiry), "{fields}");
            assert_eq!(credential.material, Material::Bearer("at".into()));
        }
    }

    #[test]
    fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
        let with = |fields: &str| format!(r#"{{"access_token":"hunter2",{fields}}}"#);
        let now = NOW.as_secs();
        for body in [
            String::new(),
            "null".into(),
            "[]".into(),
            "{}".into(),
            "<html>hunter2</html>".into(),
            "[".repeat(20_000),
            r#"{"access_token":"hunter2","expires_in":36"#.into(),
            r#"{"access_token":"hunter2"}"#.into(),
            r#"{"access_token":"","expires_in":3600}"#.into(),
            r#"{"access_token":null,"expires_in":3600}"#.into(),
            r#"{"access_token":["hunter2"],"expires_in":3600}"#.into(),
            r#"{"access_token":"hunter2","access_token":"x","expires_in":3600}"#.into(),
            r#"{"access_token":"hunter2\r\nx: y","expires_in":3600}"#.into(),
            r#"{"access_token":"hunter2 x","expires_in":3600}"#.into(),
            r#"{"access_token":"hunter2é","expires_in":3600}"#.into(),
            r#"{"expires_in":3600}"#.into(),
            with(r#""expires_in":0"#),
            with(r#""expires_in":-1"#),
            with(r#""expires_in":"-1""#),
            with(r#""expires_in":3600.5"#),
            with(r#""expires_in":"""#),
            with(r#""expires_in":"soon""#),
            with(r#""expires_in":"+60""#),
            with(r#""expires_in":{}"#),
            with(r#""expires_in":604801"#),
            with(r#""expires_in":18446744073709551615"#),
            with(r#""expires_in":99999999999999999999999"#),
            with(r#""expires_on":"99999999999999999999999""#),
            with(&format!(r#""expires_on":{now}"#)),
            with(&format!(r#""expires_on":"{}""#, now - 1)),
            with(&format!(r#""expires_on":0,"expires_in":{now}"#)),
            with(r#""expires_on":18446744073709551615"#),
            with(r#""token_type":"pop","expires_in":3600"#),
            with(r#""token_type":7,"expires_in":3600"#),
        ] {
            let error = parse(&body).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unavailable, "{body:.80}");
            assert!(error.message().starts_with("doing: "), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let bytes = Response::new(200, &[0xff; 16]);
        assert!(read("doing", &bytes, SystemTime::UNIX_EPOCH + NOW).is_err());
    }

    #[test]
    fn an_answer_that_is_cut_off_anywhere_is_an_error() {
        let whole = r#"{"token_type":"Bearer","expires_in":3600,"access_token":"hunter2"}"#;
        assert!(parse(whole).is_ok());
        for end in 0..whole.len() {
            let error = parse(whole.split_at(end).0).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unavailable, "{end}");
        }
    }
}
