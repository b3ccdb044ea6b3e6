//! Trust domains and SPIFFE IDs, by the syntax of the standard (SPIFFE-ID §2).

use crate::error::Error;
use crate::subject::ObjectReference;
use std::fmt;
use std::str::FromStr;

/// Longest trust domain (SPIFFE-ID §2.1).
const MAX_TRUST_DOMAIN: usize = 255;

/// Longest ID: every implementation must take this length, and none should make a longer one
/// (SPIFFE-ID §2.3).
const MAX_ID: usize = 2_048;

/// The scheme of every ID (SPIFFE-ID §2).
const SCHEME: &str = "spiffe";

/// A trust domain: those who believe one root of trust, as in `example.org`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrustDomain(String);

impl TrustDomain {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TrustDomain {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fits = (1..=MAX_TRUST_DOMAIN).contains(&text.len());
        let legal = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
        if fits && text.bytes().all(legal) {
            return Ok(Self(text.into()));
        }
        Err(Error::configuration(format!(
            "trust domain '{}' must be 1 to {MAX_TRUST_DOMAIN} lower-case letters, digits, '.', '-' and '_', without scheme and port",
            shown(text)
        )))
    }
}

impl fmt::Display for TrustDomain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A SPIFFE ID: `spiffe://TRUST-DOMAIN[/PATH]`.
///
/// ```
/// use gatepass::signer::SpiffeId;
///
/// let id: SpiffeId = "spiffe://example.org/ocirepositories/team-a/app".parse()?;
/// assert_eq!(id.trust_domain().as_str(), "example.org");
/// assert_eq!(id.path(), "/ocirepositories/team-a/app");
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpiffeId {
    trust_domain: TrustDomain,
    path: String,
    text: String,
}

impl SpiffeId {
    /// The ID of an object that is its own identity: `spiffe://TD/RESOURCE/NAMESPACE/NAME`. The
    /// group is no part of it: objects of two groups whose plural names are the same share an ID, so
    /// that a host signs for kinds whose names do not repeat.
    ///
    /// # Errors
    ///
    /// `Configuration`: a part of the reference cannot stand in an ID, or all are too long together.
    pub fn of_object(trust_domain: &TrustDomain, object: &ObjectReference) -> Result<Self, Error> {
        for (field, text) in [
            ("resource", &object.resource),
            ("namespace", &object.namespace),
            ("name", &object.name),
        ] {
            check_segment(&format!("the object's {field}"), text)?;
        }
        let path = format!("/{}/{}/{}", object.resource, object.namespace, object.name);
        Self::new(trust_domain.clone(), path)
    }

    /// Takes a path whose segments are checked.
    fn new(trust_domain: TrustDomain, path: String) -> Result<Self, Error> {
        let text = format!("{SCHEME}://{trust_domain}{path}");
        if text.len() > MAX_ID {
            return Err(Error::configuration(format!(
                "SPIFFE ID '{}' has {} bytes, and may have {MAX_ID}",
                shown(&text),
                text.len()
            )));
        }
        Ok(Self {
            trust_domain,
            path,
            text,
        })
    }

    /// The trust domain.
    #[must_use]
    pub fn trust_domain(&self) -> &TrustDomain {
        &self.trust_domain
    }

    /// The path, with its slash; empty for the ID of the trust domain itself.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole ID.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for SpiffeId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return Err(Error::configuration(format!(
                "SPIFFE ID '{}' must begin with {SCHEME}://",
                shown(text)
            )));
        }
        let Some((trust_domain, path)) = rest.split_once('/') else {
            return Self::new(rest.parse()?, String::new());
        };
        for segment in path.split('/') {
            check_segment(
                &format!("in SPIFFE ID '{}', a segment", shown(text)),
                segment,
            )?;
        }
        Self::new(trust_domain.parse()?, format!("/{path}"))
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// A segment of a path is not empty, is not relative, and is not percent-encoded (SPIFFE-ID §2.2).
fn check_segment(what: &str, text: &str) -> Result<(), Error> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !text.is_empty() && text != "." && text != ".." && text.bytes().all(legal) {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "{what} '{}' must be letters, digits, '.', '-' and '_', and neither '.' nor '..'",
        shown(text)
    )))
}

/// The beginning of a text that may be anything.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(100).collect();
    start.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn object(resource: &str, namespace: &str, name: &str) -> ObjectReference {
        ObjectReference {
            api_version: "source.toolkit.fluxcd.io/v1".into(),
            kind: "OCIRepository".into(),
            resource: resource.into(),
            namespace: namespace.into(),
            name: name.into(),
            uid: "u".into(),
        }
    }

    #[test]
    fn a_trust_domain_is_a_lower_case_name() {
        let longest = "a".repeat(255);
        for text in ["example.org", "prod_1", "a", "1.2.3.4", "-", &longest] {
            assert_eq!(text.parse::<TrustDomain>().unwrap().as_str(), text);
        }
        let too_long = "a".repeat(256);
        for text in [
            "",
            "Example.org",
            "example.org:443",
            "user@example.org",
            "spiffe://example.org",
            "example.org/",
            "exa mple",
            "ex%61mple",
            "é.org",
            "a\n",
            "*",
            &too_long,
        ] {
            let error = text.parse::<TrustDomain>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{text}");
        }
    }

    #[test]
    fn an_id_is_read_and_shown_alike() {
        for text in [
            "spiffe://example.org",
            "spiffe://example.org/a",
            "spiffe://example.org/ns/team-a/sa/App_1.2",
            "spiffe://example.org/...",
        ] {
            assert_eq!(text.parse::<SpiffeId>().unwrap().to_string(), text);
        }
        let shouted: SpiffeId = "SPIFFE://example.org/a".parse().unwrap();
        assert_eq!(shouted.as_str(), "spiffe://example.org/a");
    }

    #[test]
    fn what_breaks_the_syntax_is_no_id() {
        let too_long = format!("spiffe://example.org/{}", "a".repeat(2_048));
        for text in [
            "",
            "spiffe:",
            "spiffe://",
            "spiffe:///a",
            "spiffe:/example.org/a",
            "https://example.org/a",
            "example.org/a",
            "spiffe://example.org/",
            "spiffe://example.org/a/",
            "spiffe://example.org//a",
            "spiffe://example.org/a//b",
            "spiffe://example.org/.",
            "spiffe://example.org/a/../b",
            "spiffe://example.org/a?x=y",
            "spiffe://example.org/a#x",
            "spiffe://example.org/%61",
            "spiffe://example.org/a b",
            "spiffe://example.org/é",
            "spiffe://example.org/a:b",
            "spiffe://user@example.org/a",
            "spiffe://example.org:1/a",
            "spiffe://Example.org/a",
            " spiffe://example.org/a",
            &too_long,
        ] {
            let error = text.parse::<SpiffeId>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration, "{text}");
        }
    }

    #[test]
    fn an_object_is_its_resource_namespace_and_name() {
        let trust_domain = "example.com".parse().unwrap();
        let object = object("ocirepositories", "production", "my-app");
        let id = SpiffeId::of_object(&trust_domain, &object).unwrap();
        assert_eq!(
            id.as_str(),
            "spiffe://example.com/ocirepositories/production/my-app"
        );
        assert_eq!(id.as_str().parse::<SpiffeId>().unwrap(), id);
    }

    #[test]
    fn an_object_cannot_forge_the_id_of_another() {
        let trust_domain = "example.com".parse().unwrap();
        let long = "a".repeat(2_048);
        for (resource, namespace, name) in [
            ("a/b", "c", "d"),
            ("a", "b/c", "d"),
            ("a", "b", "c/d"),
            ("", "b", "c"),
            ("a", "", "c"),
            ("a", "b", ""),
            ("a", "..", "c"),
            ("a", "b", "."),
            ("a", "b", "c?d"),
            ("a", "b", "c%2fd"),
            ("a", "b", "system:c"),
            ("a", "b", &long),
        ] {
            let object = object(resource, namespace, name);
            assert!(
                SpiffeId::of_object(&trust_domain, &object).is_err(),
                "{resource} {namespace} {name}"
            );
        }
    }
}
