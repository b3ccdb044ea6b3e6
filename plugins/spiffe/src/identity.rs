//! Who an object is: its SPIFFE ID, in the trust domain for which the host signs.

use crate::terms::Kind;
use gatepass_sdk::{Error, Facts, Host, ObjectReference, Request, Subject};
use std::collections::BTreeMap;

/// The fact that holds the trust domain.
const TRUST_DOMAIN: &str = "trust-domain";

/// The fact that holds the issuer of tokens, where there is one.
const ISSUER: &str = "issuer";

/// Longest ID that should be made (SPIFFE-ID §2.3).
const MAX_ID: usize = 2_048;

/// In whose name the host signs.
///
/// # Errors
///
/// `denied`: the host has no signer, or the operator has not granted it.
pub(crate) fn discover(host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
    let authority = host.authority()?;
    let mut facts = BTreeMap::from([(TRUST_DOMAIN.to_owned(), authority.trust_domain)]);
    facts.extend(authority.issuer.map(|issuer| (ISSUER.to_owned(), issuer)));
    Ok(facts)
}

/// The SPIFFE ID of the subject.
///
/// # Errors
///
/// `unsupported` for a subject that is no object; `invalid-configuration` if the request is wrong,
/// the host has no issuer for a token, or a part of the object's name cannot stand in an ID;
/// `needs-facts`.
pub(crate) fn identity(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
) -> Result<String, Error> {
    let object = object(subject)?;
    let kind = Kind::for_exchange(request)?;
    let facts = facts.as_ref().ok_or_else(Error::needs_facts)?;
    if kind == Kind::Jwt {
        issuer(facts)?;
    }
    id(fact(facts, TRUST_DOMAIN)?, object)
}

/// The issuer of tokens.
///
/// # Errors
///
/// `invalid-configuration` if the host has none.
pub(crate) fn issuer(facts: &BTreeMap<String, String>) -> Result<&str, Error> {
    fact(facts, ISSUER)
}

fn fact<'a>(facts: &'a BTreeMap<String, String>, name: &str) -> Result<&'a str, Error> {
    match facts.get(name).map(String::as_str) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(Error::invalid_configuration(format!(
            "this host has no SPIFFE {name}, which the request needs: its operator must set trust domain, signing secret and, for SpiffeJWT, issuer"
        ))),
    }
}

/// The object of a subject.
///
/// # Errors
///
/// `unsupported` for every other subject.
pub(crate) fn object(subject: &Subject) -> Result<&ObjectReference, Error> {
    match subject {
        Subject::Object(object) => Ok(object),
        Subject::Ambient | Subject::ServiceAccount(_) => Err(Error::unsupported(
            "the spiffe provider serves objects that are their own identity: name an object, and no service account",
        )),
    }
}

/// `spiffe://TRUST-DOMAIN/RESOURCE/NAMESPACE/NAME`, of the seed of this format: the RFC on
/// vendor-agnostic credentials.
fn id(trust_domain: &str, object: &ObjectReference) -> Result<String, Error> {
    for (field, text) in [
        ("resource", &object.resource),
        ("namespace", &object.namespace),
        ("name", &object.name),
    ] {
        check_segment(field, text)?;
    }
    let id = format!(
        "spiffe://{trust_domain}/{}/{}/{}",
        object.resource, object.namespace, object.name
    );
    if id.len() > MAX_ID {
        return Err(Error::invalid_configuration(format!(
            "the object's SPIFFE ID would have {} bytes, and may have {MAX_ID}: give it a shorter name",
            id.len()
        )));
    }
    Ok(id)
}

/// A segment of an ID's path (SPIFFE-ID §2.2).
fn check_segment(field: &str, text: &str) -> Result<(), Error> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !text.is_empty() && text != "." && text != ".." && text.bytes().all(legal) {
        return Ok(());
    }
    let shown: String = text.chars().take(100).collect();
    Err(Error::invalid_configuration(format!(
        "the object's {field} '{}' cannot stand in a SPIFFE ID: it must be letters, digits, '.', '-' and '_'",
        shown.escape_debug()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing::{self, ScriptedHost};
    use gatepass_sdk::{ErrorCode, testing::object as subject};

    fn facts(issuer: Option<&str>) -> Facts {
        let host = ScriptedHost::new().signer("example.com", issuer);
        Some(discover(&host).unwrap())
    }

    fn request(kind: &str) -> Request {
        Request {
            audiences: match kind {
                "SpiffeJWT" => vec!["https://registry.example".into()],
                _ => Vec::new(),
            },
            parameters: [("type".into(), kind.into())].into(),
            ..Request::default()
        }
    }

    #[test]
    fn an_object_is_its_spiffe_id() {
        let subject = subject("ocirepositories", "production", "my-app");
        let issuer = facts(Some("https://issuer.example"));
        for (facts, kind) in [
            (&issuer, "SpiffeJWT"),
            (&issuer, "SpiffeCertificate"),
            (&facts(None), "SpiffeCertificate"),
        ] {
            assert_eq!(
                identity(&subject, facts, &request(kind)).as_deref(),
                Ok("spiffe://example.com/ocirepositories/production/my-app")
            );
        }
    }

    #[test]
    fn a_token_without_issuer_is_the_operators_to_mend() {
        let subject = subject("ocirepositories", "production", "my-app");
        let error = identity(&subject, &facts(None), &request("SpiffeJWT")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains("issuer"), "{error}");
        let empty = Some(BTreeMap::new());
        let error = identity(&subject, &empty, &request("SpiffeCertificate")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains("trust-domain"), "{error}");
    }

    #[test]
    fn a_host_without_signer_has_no_facts() {
        let error = discover(&ScriptedHost::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Denied);
    }

    #[test]
    fn a_wrong_request_is_told_before_facts_are_asked_for() {
        let subject = subject("a", "b", "c");
        let error = identity(&subject, &None, &Request::default()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        let error = identity(&subject, &None, &request("SpiffeJWT")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NeedsFacts);
    }

    #[test]
    fn an_object_cannot_forge_the_id_of_another() {
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
            ("a", "b", "é"),
            ("a", "b", &long),
        ] {
            let facts = facts(Some("https://issuer.example"));
            let subject = subject(resource, namespace, name);
            let error = identity(&subject, &facts, &request("SpiffeJWT")).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        }
    }

    #[test]
    fn other_subjects_are_unsupported() {
        for subject in [
            Subject::Ambient,
            testing::service_account("team-a", "app", &[]),
        ] {
            let error = identity(&subject, &None, &request("SpiffeJWT")).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
    }
}
