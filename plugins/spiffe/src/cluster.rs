//! Clusters that trust the trust domain: by OIDC, or by the certificate authority of clients.

use crate::terms::Kind;
use gatepass_sdk::{ClusterAccess, ClusterReference, Credential, Error, Request};

/// The one request for a credential that a cluster needs. The default audience of a token is the
/// address as the caller wrote it, since the server compares audiences byte by byte.
///
/// # Errors
///
/// `invalid-configuration` if the reference or the request is wrong.
pub(crate) fn access(
    reference: &ClusterReference,
    request: &Request,
) -> Result<Vec<Request>, Error> {
    let receiver = reference.written_address()?;
    Ok(vec![Kind::access(request, receiver)?])
}

/// What a client of the cluster needs.
///
/// # Errors
///
/// As [`access`]; `internal` if `access` is not the one credential that was signed.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    request: &Request,
) -> Result<ClusterAccess, Error> {
    reference.client(access, |access| Kind::of(request)?.require(access))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spiffe;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Material, Provider, Signer, X509};
    use std::time::{Duration, SystemTime};

    fn reference(address: Option<&str>) -> ClusterReference {
        ClusterReference {
            address: address.map(Into::into),
            ..ClusterReference::default()
        }
    }

    fn request(kind: &str) -> Request {
        Request {
            parameters: [("type".into(), kind.into())].into(),
            ..Request::default()
        }
    }

    #[test]
    fn the_address_as_written_is_the_audience_of_a_token_alone() {
        let reference = reference(Some("https://API.example:443/"));
        for (kind, audiences) in [
            ("SpiffeJWT", &["https://API.example:443/"][..]),
            ("SpiffeCertificate", &[]),
        ] {
            let requests = Spiffe.cluster(&reference, &None, &request(kind)).unwrap();
            assert_eq!(requests.len(), 1);
            assert_eq!(requests[0].audiences, audiences);
        }
    }

    #[test]
    fn what_was_signed_is_the_login() {
        let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(7);
        let host = ScriptedHost::new().signer("example.com", None);
        let token = Credential::bearer("t", expiry);
        let certificate = host.issue_x509("spiffe://example.com/a", expiry).unwrap();
        for (kind, access) in [("SpiffeJWT", token), ("SpiffeCertificate", certificate)] {
            let config = Spiffe.rest_config(
                &reference(Some("https://API.example:443/")),
                std::slice::from_ref(&access),
                &None,
                &request(kind),
                &host,
            );
            let expected = ClusterAccess {
                server: "https://api.example".into(),
                ca_certificate: None,
                material: access.material,
                expires_at: Some(expiry),
            };
            assert_eq!(config, Ok(expected));
        }
    }

    #[test]
    fn a_wrong_reference_or_request_is_refused() {
        for (reference, request) in [
            (reference(None), request("SpiffeJWT")),
            (reference(Some("http://a")), request("SpiffeJWT")),
            (reference(Some("https://a")), request("Spiffe")),
            (
                ClusterReference {
                    name: Some("prod".into()),
                    ..reference(Some("https://a"))
                },
                request("SpiffeJWT"),
            ),
        ] {
            let error = Spiffe.cluster(&reference, &None, &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        }
    }

    #[test]
    fn a_credential_that_was_not_signed_is_internal() {
        let reference = reference(Some("https://api.example"));
        let token = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        let x509 = Material::X509(X509 {
            certificate_chain: "c".into(),
            private_key: "k".into(),
        });
        let certificate = Credential::new(x509, SystemTime::UNIX_EPOCH);
        for access in [
            &[][..],
            &[certificate],
            &[token.clone(), token],
            &[Credential::subject_token()],
        ] {
            let error = rest_config(&reference, access, &request("SpiffeJWT")).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal);
        }
    }
}
