//! Registries that trust the trust domain.

use crate::terms::Kind;
use gatepass_sdk::{Credential, Error, RegistryTarget, Request, registry_host};

/// Which registry a repository is in, and the request for a credential that goes there. The default
/// audience of a token is the registry's URL.
///
/// # Errors
///
/// `invalid-configuration` if it begins with no host, or the request is wrong.
pub(crate) fn target(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
    let host = registry_host(repository)?;
    let access = Kind::access(request, &format!("https://{host}"))?;
    Ok(RegistryTarget::direct(host, access))
}

/// The token or the certificate itself.
///
/// # Errors
///
/// `internal` if `access` is another credential; `invalid-configuration` if the request is wrong.
pub(crate) fn login(access: &Credential, request: &Request) -> Result<Credential, Error> {
    Kind::of(request)?.require(access)?;
    Ok(access.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spiffe;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Host, Provider, Signer};
    use std::time::{Duration, SystemTime};

    fn request(kind: &str) -> Request {
        Request {
            parameters: [("type".into(), kind.into())].into(),
            ..Request::default()
        }
    }

    #[test]
    fn the_registry_is_the_audience_of_a_token_alone() {
        for (repository, kind, audiences) in [
            (
                "Zot.Example:5000/team/app:v1",
                "SpiffeJWT",
                &["https://zot.example:5000"][..],
            ),
            ("zot.example", "SpiffeJWT", &["https://zot.example"]),
            ("zot.example/app", "SpiffeCertificate", &[]),
        ] {
            let target = Spiffe.registry(repository, &None, &request(kind)).unwrap();
            assert_eq!(target.access.audiences, audiences);
            assert_eq!(target.host, target.cache_input);
            assert!(Kind::for_exchange(&target.access).is_ok());
        }
    }

    #[test]
    fn the_callers_audiences_win() {
        let request = Request {
            audiences: vec!["zot".into()],
            ..request("SpiffeJWT")
        };
        let target = Spiffe.registry("zot.example/app", &None, &request);
        assert_eq!(target.unwrap().access, request);
    }

    #[test]
    fn a_wrong_repository_or_request_is_refused() {
        for (repository, request) in [
            ("oci://zot.example/app", request("SpiffeJWT")),
            ("", request("SpiffeJWT")),
            ("zot.example/app", request("Spiffe")),
        ] {
            let error = Spiffe.registry(repository, &None, &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        }
    }

    #[test]
    fn a_login_is_what_was_signed_and_nothing_else() {
        let host = ScriptedHost::new().signer("example.com", None);
        let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(7);
        let token = Credential::bearer("t", expiry);
        let certificate = host.issue_x509("spiffe://example.com/a", expiry).unwrap();
        let login = |kind: &str, access: &Credential, host: &dyn Host| {
            let target = Spiffe
                .registry("zot.example", &None, &request(kind))
                .unwrap();
            Spiffe.registry_credentials(&target, access, &None, &request(kind), host)
        };
        assert_eq!(login("SpiffeJWT", &token, &host), Ok(token.clone()));
        assert_eq!(
            login("SpiffeCertificate", &certificate, &host),
            Ok(certificate.clone())
        );
        for (kind, access) in [
            ("SpiffeJWT", certificate),
            ("SpiffeCertificate", token),
            ("SpiffeJWT", Credential::subject_token()),
        ] {
            let error = login(kind, &access, &host).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal);
        }
    }
}
