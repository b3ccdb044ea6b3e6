//! No exchange at all: the token is the credential.

use crate::identity;
use gatepass_sdk::{Credential, Error, Exchange, Material, Source};

/// The subject's token, whose value and expiry only the host knows.
///
/// # Errors
///
/// `unsupported` for every other source; `invalid-configuration` if the request is wrong.
pub(crate) fn exchange(exchange: &Exchange) -> Result<Credential, Error> {
    if exchange.source != Source::SubjectToken {
        return Err(Error::unsupported(
            "generic gives out ServiceAccount tokens alone: name a service account",
        ));
    }
    identity::check(&exchange.request)?;
    Ok(Credential::subject_token())
}

/// Refuses an access credential that is not of this provider's exchange.
///
/// # Errors
///
/// `internal` if it is another.
pub(crate) fn require_subject_token(access: &Credential) -> Result<(), Error> {
    match access.material {
        Material::SubjectToken => Ok(()),
        _ => Err(Error::internal(
            "the access credential is not the ServiceAccount token",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::Generic;
    use gatepass_sdk::testing::{self, ScriptedHost};
    use gatepass_sdk::{Credential, ErrorCode, Exchange, Provider, Request, Source};

    #[test]
    fn the_token_itself_is_the_credential_and_nothing_is_sent() {
        let host = ScriptedHost::new();
        let subject = testing::service_account("team-a", "app", &[]);
        let credential = testing::exchange(&Generic, subject, Request::default(), &host);
        assert_eq!(credential, Ok(Credential::subject_token()));
        assert!(host.sent().is_empty());
    }

    #[test]
    fn other_sources_are_unsupported() {
        for source in [
            Source::Ambient,
            Source::Signer,
            Source::Credential(Credential::subject_token()),
        ] {
            let exchange = Exchange {
                subject: testing::service_account("team-a", "app", &[]),
                identity: "system:serviceaccount:team-a:app".into(),
                facts: None,
                source,
                request: Request::default(),
            };
            let error = Generic.exchange(&exchange, &ScriptedHost::new());
            assert_eq!(error.unwrap_err().code(), ErrorCode::Unsupported);
        }
    }
}
