//! What the host signs for the object: a token or a certificate.

use crate::identity;
use crate::terms::Kind;
use gatepass_sdk::{Credential, Error, Exchange, Host, Source};
use serde_json::json;
use std::time::{Duration, SystemTime};
use uuid::Uuid;

/// How long a credential lives: the hour of the RFC on vendor-agnostic credentials.
const LIFETIME: Duration = Duration::from_secs(3_600);

/// Asks the host to sign.
///
/// # Errors
///
/// `unsupported` for every other source or subject; `invalid-configuration` if the request is
/// wrong; what the host's signer answers.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    if exchange.source != Source::Signer {
        return Err(Error::unsupported(
            "spiffe signs for objects alone: the environment, tokens and other credentials are no source for it",
        ));
    }
    identity::object(&exchange.subject)?;
    match Kind::for_exchange(&exchange.request)? {
        Kind::Jwt => token(exchange, host),
        Kind::Certificate => host.issue_x509(&exchange.identity, host.now() + LIFETIME),
    }
}

fn token(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    let facts = exchange.facts.as_ref();
    let issuer = identity::issuer(facts.ok_or_else(|| {
        Error::internal("a token is signed in the name of an issuer, and there are no facts")
    })?)?;
    let now = seconds(host.now());
    let expires_at = now + LIFETIME.as_secs();
    let claims = json!({
        "iss": issuer,
        "sub": exchange.identity,
        "aud": exchange.request.audiences,
        "exp": expires_at,
        "nbf": now,
        "iat": now,
        "jti": Uuid::new_v4().to_string(),
    });
    let token = host.sign_jwt(&claims.to_string())?;
    let expires_at = SystemTime::UNIX_EPOCH + Duration::from_secs(expires_at);
    Ok(Credential::bearer(token, expires_at))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spiffe;
    use gatepass_sdk::testing::{self, NOW, ScriptedHost};
    use gatepass_sdk::{ErrorCode, Material, Provider, Request};
    use serde_json::Value;

    const ID: &str = "spiffe://example.com/ocirepositories/production/my-app";

    fn host() -> ScriptedHost {
        ScriptedHost::new().signer("example.com", Some("https://issuer.example"))
    }

    fn run(request: Request, host: &ScriptedHost) -> Result<Credential, Error> {
        let subject = testing::object("ocirepositories", "production", "my-app");
        testing::exchange_from(&Spiffe, subject, Source::Signer, request, host)
    }

    fn token_request() -> Request {
        Request {
            audiences: vec!["https://registry.example".into(), "other".into()],
            ..Request::default()
        }
    }

    fn certificate_request() -> Request {
        Request {
            parameters: [("type".into(), "SpiffeCertificate".into())].into(),
            ..Request::default()
        }
    }

    #[test]
    fn a_token_has_the_seven_claims_and_lives_an_hour() {
        let host = host();
        let credential = run(token_request(), &host).unwrap();
        assert_eq!(
            credential.material,
            Material::Bearer("scripted-jwt-1".into())
        );
        assert_eq!(credential.expires_at, Some(host.now() + LIFETIME));
        let signed = host.signed();
        assert_eq!(signed.len(), 1);
        let mut claims: Value = serde_json::from_str(&signed[0]).unwrap();
        let id = claims.as_object_mut().unwrap().remove("jti").unwrap();
        assert_eq!(id.as_str().unwrap().len(), 36);
        let now = NOW.as_secs();
        assert_eq!(
            claims,
            json!({
                "iss": "https://issuer.example",
                "sub": ID,
                "aud": ["https://registry.example", "other"],
                "exp": now + 3600,
                "nbf": now,
                "iat": now,
            })
        );
        assert!(host.issued().is_empty());
        assert!(host.sent().is_empty());
    }

    #[test]
    fn no_two_tokens_have_one_name() {
        let host = host();
        let mut names = std::collections::BTreeSet::new();
        for _ in 0..20 {
            run(token_request(), &host).unwrap();
        }
        for claims in host.signed() {
            let claims: Value = serde_json::from_str(&claims).unwrap();
            names.insert(claims["jti"].as_str().unwrap().to_owned());
        }
        assert_eq!(names.len(), 20);
    }

    #[test]
    fn a_certificate_is_issued_for_the_id_and_an_hour() {
        let host = host();
        let credential = run(certificate_request(), &host).unwrap();
        assert!(matches!(credential.material, Material::X509(_)));
        let hour = host.now() + LIFETIME;
        assert_eq!(credential.expires_at, Some(hour));
        assert_eq!(host.issued(), [(ID.to_owned(), hour)]);
        assert!(host.signed().is_empty());
    }

    #[test]
    fn what_the_signer_answers_is_passed_on() {
        for request in [token_request(), certificate_request()] {
            for error in [
                Error::denied("not granted"),
                Error::internal("refused"),
                Error::unavailable("no key"),
            ] {
                let host = host().signer_refuses(error.clone());
                assert_eq!(run(request.clone(), &host), Err(error));
            }
        }
    }

    #[test]
    fn other_sources_and_subjects_are_unsupported() {
        let object = testing::object("a", "b", "c");
        let account = testing::service_account("team-a", "app", &[]);
        for (subject, source) in [
            (object.clone(), Source::Ambient),
            (object.clone(), Source::SubjectToken),
            (object, Source::Credential(Credential::subject_token())),
            (account, Source::Signer),
        ] {
            let exchange = Exchange {
                subject,
                identity: ID.into(),
                facts: None,
                source,
                request: token_request(),
            };
            let error = Spiffe.exchange(&exchange, &host()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
    }

    #[test]
    fn a_token_without_facts_is_no_panic() {
        let exchange = Exchange {
            subject: testing::object("a", "b", "c"),
            identity: ID.into(),
            facts: None,
            source: Source::Signer,
            request: token_request(),
        };
        let error = Spiffe.exchange(&exchange, &host()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
    }
}
