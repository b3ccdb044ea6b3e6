//! Access tokens in the answers of Google's services.

use gatepass_sdk::{Credential, Error, Material, Secret, egress};
use jiff::Timestamp;
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// Longest access token (the documentation of the token service).
const MAX_TOKEN: usize = 12_288;

/// A lifetime beyond this is a broken answer: no access token of Google lives for more than twelve
/// hours, and the two clocks may differ.
const MAX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The answer of an OAuth endpoint and of the metadata server (RFC 6749 §5.1).
#[derive(Deserialize)]
struct OauthAnswer {
    access_token: Secret,
    expires_in: i64,
    token_type: Option<String>,
}

/// The answer of IAM Credentials.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImpersonationAnswer {
    access_token: Secret,
    /// RFC 3339.
    expire_time: String,
}

/// The token in the answer of an OAuth endpoint.
///
/// # Errors
///
/// `unavailable` if it is cut off, no bearer token, or of no sensible lifetime.
pub(crate) fn of_oauth(
    doing: &str,
    response: &egress::Response,
    now: SystemTime,
) -> Result<Credential, Error> {
    let answer: OauthAnswer = response.json().map_err(|_| unreadable(doing, response))?;
    let bearer = answer
        .token_type
        .as_deref()
        .is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !bearer {
        return Err(Error::unavailable(format!(
            "{doing}: the token in the answer is not of type Bearer"
        )));
    }
    let lifetime = u64::try_from(answer.expires_in).ok();
    let expires_at = lifetime.and_then(|seconds| now.checked_add(Duration::from_secs(seconds)));
    credential(doing, answer.access_token, expires_at, now)
}

/// The token in the answer of IAM Credentials.
///
/// # Errors
///
/// As [`of_oauth`].
pub(crate) fn of_impersonation(
    doing: &str,
    response: &egress::Response,
    now: SystemTime,
) -> Result<Credential, Error> {
    let answer: ImpersonationAnswer = response.json().map_err(|_| unreadable(doing, response))?;
    let expires_at = answer.expire_time.parse::<Timestamp>().ok();
    credential(doing, answer.access_token, expires_at.map(Into::into), now)
}

fn credential(
    doing: &str,
    token: Secret,
    expires_at: Option<SystemTime>,
    now: SystemTime,
) -> Result<Credential, Error> {
    if !is_token(token.expose()) {
        return Err(Error::unavailable(format!(
            "{doing}: the answer holds a token of {} bytes that is empty, too long or no token",
            token.expose().len()
        )));
    }
    let sensible = |expiry: &SystemTime| {
        expiry
            .duration_since(now)
            .is_ok_and(|lifetime| !lifetime.is_zero() && lifetime <= MAX_LIFETIME)
    };
    match expires_at.filter(sensible) {
        Some(expires_at) => Ok(Credential::bearer(token, expires_at)),
        None => Err(Error::unavailable(format!(
            "{doing}: the token in the answer has expired, or does not say when it expires within {} hours: check the host's clock",
            MAX_LIFETIME.as_secs() / 3600
        ))),
    }
}

/// Whether a text fits a header (RFC 6750 §2.1, more widely).
fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn unreadable(doing: &str, response: &egress::Response) -> Error {
    Error::unavailable(format!(
        "{doing}: the answer of {} bytes is cut off, or holds no token",
        response.body().len()
    ))
}

/// The bearer token of a credential that this provider made.
///
/// # Errors
///
/// `internal` if there is none.
pub(crate) fn bearer(access: &Credential) -> Result<&Secret, Error> {
    match &access.material {
        Material::Bearer(token) => Ok(token),
        _ => Err(Error::internal(
            "the access credential holds no bearer token",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::egress::Response;
    use gatepass_sdk::testing::ScriptedHost;

    type Read = fn(&str, &Response, SystemTime) -> Result<Credential, Error>;

    fn read(with: Read, body: &str) -> Result<Credential, Error> {
        let response = Response::new(200, body.as_bytes());
        with("doing", &response, ScriptedHost::new().now())
    }

    #[test]
    fn a_token_has_its_expiry() {
        for (with, body, seconds) in [
            (
                of_oauth as Read,
                r#"{"access_token":"t.1","expires_in":3599,"token_type":"Bearer"}"#,
                3599,
            ),
            (
                of_oauth,
                r#"{"access_token":"t.1","expires_in":1,"token_type":"bearer","scope":"x"}"#,
                1,
            ),
            (
                of_oauth,
                r#"{"access_token":"t.1","expires_in":86400}"#,
                86400,
            ),
            (
                of_impersonation,
                r#"{"accessToken":"t.1","expireTime":"2026-01-01T01:00:00Z"}"#,
                3600,
            ),
            (
                of_impersonation,
                r#"{"accessToken":"t.1","expireTime":"2026-01-01T02:00:00+01:00"}"#,
                3600,
            ),
            (
                of_impersonation,
                r#"{"accessToken":"t.1","expireTime":"2026-01-01T12:00:00.000Z"}"#,
                43200,
            ),
        ] {
            let credential = read(with, body).unwrap();
            assert_eq!(bearer(&credential).unwrap().expose(), "t.1");
            let expiry = ScriptedHost::new().now() + Duration::from_secs(seconds);
            assert_eq!(credential.expires_at, Some(expiry), "{body}");
        }
    }

    #[test]
    fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
        let long = format!(
            r#"{{"access_token":"{}","expires_in":3599}}"#,
            "secret".repeat(3000)
        );
        let oauth = [
            "",
            "null",
            "{}",
            "[]",
            "<html>secret</html>",
            r#"{"access_token":"secret""#,
            r#"{"access_token":"secret"}"#,
            r#"{"access_token":"secret","expires_in":null}"#,
            r#"{"access_token":"secret","expires_in":"secret"}"#,
            r#"{"access_token":"secret","expires_in":0}"#,
            r#"{"access_token":"secret","expires_in":-1}"#,
            r#"{"access_token":"secret","expires_in":86401}"#,
            r#"{"access_token":"secret","expires_in":9223372036854775807}"#,
            r#"{"access_token":"secret","expires_in":1e400}"#,
            r#"{"access_token":"secret","expires_in":3599,"token_type":"mac"}"#,
            r#"{"access_token":"","expires_in":3599}"#,
            r#"{"access_token":null,"expires_in":3599}"#,
            r#"{"access_token":["secret"],"expires_in":3599}"#,
            r#"{"access_token":"sec ret","expires_in":3599}"#,
            r#"{"access_token":"sec\r\nret: x","expires_in":3599}"#,
            r#"{"access_token":"secrét","expires_in":3599}"#,
            r#"{"expires_in":3599}"#,
            &long,
        ];
        let impersonation = [
            "",
            "{}",
            r#"{"accessToken":"secret"}"#,
            r#"{"accessToken":"secret","expireTime":null}"#,
            r#"{"accessToken":"secret","expireTime":""}"#,
            r#"{"accessToken":"secret","expireTime":"secret"}"#,
            r#"{"accessToken":"secret","expireTime":"2026-01-01T01:00:00"}"#,
            r#"{"accessToken":"secret","expireTime":1767229200}"#,
            r#"{"accessToken":"secret","expireTime":"2026-01-01T00:00:00Z"}"#,
            r#"{"accessToken":"secret","expireTime":"1969-01-01T00:00:00Z"}"#,
            r#"{"accessToken":"secret","expireTime":"2026-01-02T00:00:01Z"}"#,
            r#"{"accessToken":"secret","expireTime":"99999-01-01T00:00:00Z"}"#,
            r#"{"accessToken":"","expireTime":"2026-01-01T01:00:00Z"}"#,
            r#"{"expireTime":"2026-01-01T01:00:00Z"}"#,
        ];
        let cases = oauth
            .map(|body| (of_oauth as Read, body))
            .into_iter()
            .chain(impersonation.map(|body| (of_impersonation as Read, body)));
        for (with, body) in cases {
            let error = read(with, body).unwrap_err();
            assert_eq!(
                error.code(),
                gatepass_sdk::ErrorCode::Unavailable,
                "{error}"
            );
            assert!(error.message().starts_with("doing: "), "{error}");
            assert!(!error.message().contains("sec"), "{error}: {body:.100}");
        }
    }

    #[test]
    fn a_credential_that_is_no_bearer_token_is_internal() {
        let error = bearer(&Credential::subject_token()).unwrap_err();
        assert_eq!(error.code(), gatepass_sdk::ErrorCode::Internal);
    }
}
