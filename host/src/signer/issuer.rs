//! The issuer of JSON Web Tokens: a URL that relying parties compare byte by byte.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// The path under an issuer where its configuration is found (OpenID Connect Discovery §4).
pub const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// The path under an issuer where we say that its keys are; SPIRE's discovery provider says so too.
pub const JWKS_PATH: &str = "/keys";

/// An `https` URL without user, query and fragment (OpenID Connect Discovery §3), in its canonical
/// spelling, since a relying party compares it with the claim `iss` byte by byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IssuerUrl(String);

impl IssuerUrl {
    /// The URL as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where its keys are.
    #[must_use]
    pub fn jwks_uri(&self) -> String {
        format!("{}{JWKS_PATH}", self.0.trim_end_matches('/'))
    }
}

impl FromStr for IssuerUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // A parsed URL ends in a slash where the path is empty, and an issuer need not.
        let canonical = |url: &Url| {
            let canonical = url.as_str();
            canonical == text || (url.path() == "/" && canonical.strip_suffix('/') == Some(text))
        };
        Url::parse(text)
            .ok()
            .filter(|url| url.scheme() == "https" && !text.contains(['@', '?', '#']))
            .filter(canonical)
            .map(|_| Self(text.into()))
            .ok_or_else(|| {
                Error::configuration(
                    "the issuer must be a URL https://HOST[:PORT][/PATH] in lower case, without user, query and fragment",
                )
            })
    }
}

impl fmt::Display for IssuerUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_keeps_its_spelling() {
        for (text, keys) in [
            ("https://issuer.example", "https://issuer.example/keys"),
            ("https://issuer.example/", "https://issuer.example/keys"),
            (
                "https://issuer.example:8443/a/b",
                "https://issuer.example:8443/a/b/keys",
            ),
            ("https://[2001:db8::1]", "https://[2001:db8::1]/keys"),
        ] {
            let issuer: IssuerUrl = text.parse().unwrap();
            assert_eq!(issuer.as_str(), text);
            assert_eq!(issuer.jwks_uri(), keys);
        }
    }

    #[test]
    fn what_two_parties_may_spell_differently_is_no_issuer() {
        for text in [
            "",
            "issuer.example",
            "http://issuer.example",
            "https://",
            "https://Issuer.example",
            "HTTPS://issuer.example",
            "https://issuer.example:443",
            "https://issuer.example/a/../b",
            "https://issuer.example/a b",
            "https://issuer.example?x=y",
            "https://issuer.example#x",
            "https://user:hunter2@issuer.example",
            "https://@issuer.example",
            " https://issuer.example",
            "spiffe://issuer.example",
        ] {
            let error = text.parse::<IssuerUrl>().unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{text}");
        }
    }
}
