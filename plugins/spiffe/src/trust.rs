//! What a relying party needs to trust the object.

use crate::identity;
use crate::terms::Kind;
use gatepass_sdk::{Error, Request, Subject};
use serde_json::{Value, json};

/// A JSON document for the administrator of the other side: for a token its issuer, subject and
/// audiences; for a certificate its name and where the authority's certificate is. Every value is a
/// JSON string, so that none can say more than itself.
///
/// # Errors
///
/// `unsupported` for a subject that is no object; `invalid-configuration` if the request is wrong.
pub(crate) fn trust(
    subject: &Subject,
    identity: &str,
    issuer: &str,
    audiences: &[String],
    request: &Request,
) -> Result<String, Error> {
    identity::object(subject)?;
    let document = match Kind::of(request)? {
        Kind::Jwt => token(identity, issuer, audiences),
        Kind::Certificate => certificate(identity),
    };
    Ok(format!("{document:#}\n"))
}

fn token(identity: &str, issuer: &str, audiences: &[String]) -> Value {
    let base = issuer.trim_end_matches('/');
    json!({
        "issuer": issuer,
        "discovery": format!("{base}/.well-known/openid-configuration"),
        "jwks_uri": format!("{base}/keys"),
        "subject": identity,
        "audiences": audiences,
    })
}

fn certificate(identity: &str) -> Value {
    json!({
        "uri_san": identity,
        "certificate_authority": "the certificate tls.crt of the host's signing secret, or the keys with use x509-svid of its SPIFFE bundle",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing;

    #[test]
    fn a_relying_party_learns_issuer_subject_and_audience() {
        let subject = testing::object("ocirepositories", "a", "b");
        let audiences = ["zot\",\"x".to_owned()];
        let id = "spiffe://example.com/ocirepositories/a/b";
        let text = trust(
            &subject,
            id,
            "https://issuer.example/",
            &audiences,
            &Request::default(),
        );
        let document: Value = serde_json::from_str(&text.unwrap()).unwrap();
        let expected = json!({
            "issuer": "https://issuer.example/",
            "discovery": "https://issuer.example/.well-known/openid-configuration",
            "jwks_uri": "https://issuer.example/keys",
            "subject": id,
            "audiences": ["zot\",\"x"],
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn for_a_certificate_it_learns_the_name() {
        let subject = testing::object("ocirepositories", "a", "b");
        let request = Request {
            parameters: [("type".into(), "SpiffeCertificate".into())].into(),
            ..Request::default()
        };
        let text = trust(&subject, "spiffe://example.com/x", "", &[], &request).unwrap();
        assert!(
            text.contains("\"uri_san\": \"spiffe://example.com/x\""),
            "{text}"
        );
        assert!(trust(&Subject::Ambient, "x", "", &[], &request).is_err());
    }
}
