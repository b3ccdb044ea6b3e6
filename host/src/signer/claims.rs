//! The claims of a token, and what must hold of them before they are signed.

use super::failure::SignerError;
use super::issuer::IssuerUrl;
use super::spiffe_id::SpiffeId;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// The longest life of what is signed: the hour of the RFC on vendor-agnostic credentials.
pub const MAX_LIFETIME: Duration = Duration::from_secs(3_600);

/// How far the times of issue may be from our clock. The provider reads the same clock, in the same
/// call.
pub(super) const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Largest text of claims: servers refuse headers not much longer.
const MAX_TEXT: usize = 8 * 1_024;

/// Longest name of a token.
const MAX_TOKEN_ID: usize = 255;

/// The claims of a JWT-SVID that is an OIDC token as well: these and no others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    aud: Vec<String>,
    exp: u64,
    nbf: u64,
    iat: u64,
    jti: String,
}

impl Claims {
    /// Reads claims and holds them against what may be signed. What is signed is what was read, in
    /// our own spelling, so that no other parser can read something else in the provider's.
    pub(super) fn parse(
        text: &str,
        issuer: &IssuerUrl,
        subject: &SpiffeId,
        now: SystemTime,
    ) -> Result<Self, SignerError> {
        if text.len() > MAX_TEXT {
            return Err(refused(format!(
                "the claims are longer than {MAX_TEXT} bytes"
            )));
        }
        // A list of the values in their order would be read as well.
        if !text.trim_start().starts_with('{') {
            return Err(refused("the claims must be a JSON object"));
        }
        let claims: Self = serde_json::from_str(text).map_err(|error| {
            refused(format!(
                "the claims must be exactly iss, sub, aud (a list), exp, nbf, iat and jti: {}",
                brief(&error.to_string())
            ))
        })?;
        claims.check_names(issuer, subject)?;
        claims.check_times(now)?;
        Ok(claims)
    }

    /// Holds the audiences against those that the request may have.
    pub(super) fn check_audiences(&self, allowed: &[String]) -> Result<(), SignerError> {
        match self.aud.iter().find(|audience| !allowed.contains(audience)) {
            None => Ok(()),
            Some(other) => Err(refused(format!(
                "claim aud must hold the request's audiences alone, and not '{}'",
                brief(other)
            ))),
        }
    }

    fn check_names(&self, issuer: &IssuerUrl, subject: &SpiffeId) -> Result<(), SignerError> {
        if self.iss != issuer.as_str() {
            return Err(refused(format!("claim iss must be {issuer}")));
        }
        if self.sub != subject.as_str() {
            return Err(refused(format!(
                "claim sub must be {subject}, the ID of the request's object"
            )));
        }
        let printable = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        if self.aud.is_empty() || !self.aud.iter().all(|audience| printable(audience)) {
            return Err(refused(
                "claim aud must name at least one audience, and none is empty",
            ));
        }
        if self.jti.len() > MAX_TOKEN_ID || !printable(&self.jti) {
            return Err(refused(format!(
                "claim jti must have 1 to {MAX_TOKEN_ID} printable characters"
            )));
        }
        Ok(())
    }

    fn check_times(&self, now: SystemTime) -> Result<(), SignerError> {
        let now = seconds(now);
        for (name, time) in [("iat", self.iat), ("nbf", self.nbf)] {
            if time.abs_diff(now) > CLOCK_TOLERANCE.as_secs() {
                return Err(refused(format!(
                    "claim {name} must be the time of the host's clock"
                )));
            }
        }
        let latest = self.iat.saturating_add(MAX_LIFETIME.as_secs());
        if self.exp <= now || self.exp <= self.nbf || self.exp > latest {
            return Err(refused(format!(
                "claim exp must be in the future, and at most {} s after iat",
                MAX_LIFETIME.as_secs()
            )));
        }
        Ok(())
    }
}

/// Seconds since 1970 (RFC 7519 §2, `NumericDate`), rounded down.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// The reader's words may quote the provider's.
fn brief(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    start.escape_debug().to_string()
}

fn refused(message: impl Into<String>) -> SignerError {
    SignerError::Refused(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: u64 = 1_767_225_600;

    fn good() -> Value {
        json!({
            "iss": "https://issuer.example",
            "sub": "spiffe://example.org/apps/team-a/app",
            "aud": ["https://registry.example"],
            "exp": NOW + 3600,
            "nbf": NOW,
            "iat": NOW,
            "jti": "one",
        })
    }

    fn parse(text: &str) -> Result<Claims, SignerError> {
        Claims::parse(
            text,
            &"https://issuer.example".parse().unwrap(),
            &"spiffe://example.org/apps/team-a/app".parse().unwrap(),
            SystemTime::UNIX_EPOCH + Duration::from_secs(NOW),
        )
    }

    /// The good claims with one of them replaced.
    fn with(name: &str, value: Value) -> String {
        let mut claims = good();
        claims[name] = value;
        claims.to_string()
    }

    #[test]
    fn claims_of_the_object_are_taken() {
        for text in [
            good().to_string(),
            format!(" \n{}", good()),
            with("aud", json!(["a", "b"])),
            with("exp", json!(NOW + 1)),
            with("iat", json!(NOW + 60)),
            with("nbf", json!(NOW - 60)),
        ] {
            assert!(parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn any_other_claims_are_refused() {
        let id = "spiffe://example.org/apps/team-a/app";
        for (name, value) in [
            ("iss", json!("https://issuer.example/")),
            ("iss", json!("https://other.example")),
            ("iss", Value::Null),
            ("sub", json!("spiffe://example.org/apps/team-b/app")),
            ("sub", json!("spiffe://example.org/apps/team-a/app2")),
            ("sub", json!("SPIFFE://example.org/apps/team-a/app")),
            ("sub", json!([id])),
            ("sub", json!("")),
            ("aud", json!([])),
            ("aud", json!([""])),
            ("aud", json!(["a", ""])),
            ("aud", json!(["a\n"])),
            ("aud", json!("a")),
            ("aud", json!([1])),
            ("aud", Value::Null),
            ("exp", json!(NOW)),
            ("exp", json!(NOW - 1)),
            ("exp", json!(NOW + 3601)),
            ("exp", json!(u64::MAX)),
            ("exp", json!(-1)),
            ("exp", json!(1e300)),
            ("exp", json!(NOW as f64 + 0.5)),
            ("exp", json!((NOW + 60).to_string())),
            ("iat", json!(NOW + 61)),
            ("iat", json!(NOW - 61)),
            ("iat", json!(0)),
            ("iat", json!(u64::MAX)),
            ("nbf", json!(NOW + 61)),
            ("nbf", json!(NOW - 61)),
            ("jti", json!("")),
            ("jti", json!("a\u{0}")),
            ("jti", json!("a".repeat(256))),
            ("jti", json!(7)),
            ("scope", json!("admin")),
            ("aud ", json!(["a"])),
            ("kubernetes.io", json!({})),
        ] {
            let text = with(name, value);
            let error = parse(&text).unwrap_err();
            assert!(matches!(error, SignerError::Refused(_)), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_of_seven_claims_is_refused() {
        let list = r#"["https://issuer.example","spiffe://example.org/apps/team-a/app",["a"],1767229200,1767225600,1767225600,"one"]"#;
        let twice = good().to_string().replacen('{', r#"{"jti":"two","#, 1);
        let twice_the_subject = good().to_string().replacen(
            '{',
            r#"{"sub":"spiffe://example.org/apps/team-b/app","#,
            1,
        );
        let huge = with("jti", json!("a".repeat(9_000)));
        let nested = "[".repeat(5_000);
        for text in [
            "",
            "{}",
            "null",
            "{",
            "\"\"",
            good().to_string().trim_end_matches('}'),
            &format!("{}{}", good(), good()),
            list,
            &twice,
            &twice_the_subject,
            &huge,
            &nested,
            "{\"\u{0}",
        ] {
            assert!(
                matches!(parse(text), Err(SignerError::Refused(_))),
                "{text:.80}"
            );
        }
        for name in ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"] {
            let mut claims = good();
            claims.as_object_mut().unwrap().remove(name);
            let error = parse(&claims.to_string()).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
