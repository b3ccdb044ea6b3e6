//! Clusters that accept the ServiceAccount token as a bearer token.

use crate::exchange::require_subject_token;
use crate::identity;
use gatepass_sdk::{ClusterAccess, ClusterReference, Credential, Error, Request};

/// The one request for a token that a cluster needs. Its default audience is the address as the
/// caller wrote it, since the server compares audiences byte by byte.
///
/// # Errors
///
/// `invalid-configuration` if the reference is wrong, or the request holds a field that has no
/// effect.
pub(crate) fn access(
    reference: &ClusterReference,
    request: &Request,
) -> Result<Vec<Request>, Error> {
    let receiver = reference.written_address()?;
    Ok(vec![identity::access(request, receiver)?])
}

/// What a client of the cluster needs.
///
/// # Errors
///
/// As [`access`]; `internal` if the one credential in `access` is not the token.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    request: &Request,
) -> Result<ClusterAccess, Error> {
    identity::check(request)?;
    reference.client(access, require_subject_token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generic;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Material, Provider};
    use std::time::SystemTime;

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";

    fn reference(
        name: Option<&str>,
        address: Option<&str>,
        authority: Option<&str>,
    ) -> ClusterReference {
        ClusterReference {
            name: name.map(Into::into),
            address: address.map(Into::into),
            ca_certificate: authority.map(Into::into),
        }
    }

    fn config(reference: &ClusterReference, access: &[Credential]) -> Result<ClusterAccess, Error> {
        Generic.rest_config(
            reference,
            access,
            &None,
            &Request::default(),
            &ScriptedHost::new(),
        )
    }

    #[test]
    fn an_address_is_enough_and_is_the_audience_as_written() {
        for (address, authority, server) in [
            ("https://api.example", None, "https://api.example"),
            ("https://API.example:443/", Some(PEM), "https://api.example"),
            ("https://[::1]:6443", Some(PEM), "https://[::1]:6443"),
        ] {
            let reference = reference(None, Some(address), authority);
            let requests = Generic
                .cluster(&reference, &None, &Request::default())
                .unwrap();
            assert_eq!(requests.len(), 1);
            assert_eq!(requests[0].audiences, [address]);
            let expected = ClusterAccess {
                server: server.into(),
                ca_certificate: authority.map(Into::into),
                material: Material::SubjectToken,
                expires_at: None,
            };
            assert_eq!(
                config(&reference, &[Credential::subject_token()]),
                Ok(expected)
            );
        }
    }

    #[test]
    fn the_callers_audiences_win() {
        let request = Request {
            audiences: vec!["workload".into()],
            ..Request::default()
        };
        let reference = reference(None, Some("https://api.example"), None);
        let requests = Generic.cluster(&reference, &None, &request);
        assert_eq!(requests, Ok(vec![request]));
    }

    #[test]
    fn a_reference_that_is_wrong_says_what_to_change() {
        for (reference, word) in [
            (reference(None, None, None), "set address"),
            (reference(None, None, Some(PEM)), "set address"),
            (reference(Some("prod"), Some("https://a"), None), "'prod'"),
            (reference(None, Some("http://a"), None), "http://a"),
            (
                reference(None, Some("https://a/api"), None),
                "https://a/api",
            ),
            (reference(None, Some("https://u:p@a"), None), "without user"),
            (reference(None, Some("https://a?x"), None), "query"),
            (reference(None, Some(""), None), "address ''"),
            (reference(None, Some("https://a"), Some("QUJD")), "PEM"),
        ] {
            let error = Generic
                .cluster(&reference, &None, &Request::default())
                .unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            assert!(error.message().contains(word), "{error}");
            assert_eq!(
                config(&reference, &[Credential::subject_token()]),
                Err(error)
            );
        }
    }

    #[test]
    fn a_credential_that_is_not_the_token_is_internal() {
        let reference = reference(None, Some("https://api.example"), None);
        let token = Credential::subject_token();
        let bearer = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        for access in [&[][..], &[bearer], &[token.clone(), token]] {
            let error = config(&reference, access).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal);
        }
    }
}
