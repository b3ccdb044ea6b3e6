//! What a service needs to know, so that it accepts the token.

use crate::identity;
use gatepass_sdk::{Error, Request, Subject};

/// Issuer, subject and audiences as JSON: what every verifier of OIDC tokens is configured with.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; `invalid-configuration` if the request is
/// wrong.
pub(crate) fn trust(
    subject: &Subject,
    identity: &str,
    issuer: &str,
    audiences: &[String],
    request: &Request,
) -> Result<String, Error> {
    subject.service_account()?;
    identity::check(request)?;
    let document = serde_json::json!({
        "issuer": issuer,
        "discovery": format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')),
        "subject": identity,
        "audiences": audiences,
    });
    Ok(format!("{document:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing;

    #[test]
    fn the_service_is_told_whom_to_trust_for_what() {
        let subject = testing::service_account("team-a", "app", &[]);
        let audiences = ["vault\"example".to_owned()];
        let issuer = "https://issuer.example/";
        let identity = "system:serviceaccount:team-a:app";
        let told = trust(&subject, identity, issuer, &audiences, &Request::default()).unwrap();
        let document: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(document["subject"], identity);
        assert_eq!(document["audiences"], serde_json::json!(audiences));
        let discovery = "https://issuer.example/.well-known/openid-configuration";
        assert_eq!(document["discovery"], discovery);
    }

    #[test]
    fn nobody_else_is_trusted() {
        let told = trust(
            &Subject::Ambient,
            "x",
            "https://i",
            &[],
            &Request::default(),
        );
        assert!(told.is_err());
    }
}
