//! Clusters that trust GitHub's issuer.

use crate::identity;
use crate::registry::require_token;
use gatepass_sdk::{ClusterAccess, ClusterReference, Credential, Error, Request};

/// The one request for a token that a cluster needs. Its default audience is the address as the
/// caller wrote it, since the server compares audiences byte by byte.
///
/// # Errors
///
/// `invalid-configuration` if the reference or the request is wrong.
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
/// As [`access`]; `internal` if `access` is not the one token.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    request: &Request,
) -> Result<ClusterAccess, Error> {
    identity::audience(request)?;
    reference.client(access, require_token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GitHub;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Material, Provider};
    use std::time::SystemTime;

    fn reference(address: Option<&str>) -> ClusterReference {
        ClusterReference {
            address: address.map(Into::into),
            ..ClusterReference::default()
        }
    }

    fn config(reference: &ClusterReference, access: &[Credential]) -> Result<ClusterAccess, Error> {
        let (request, host) = (Request::default(), ScriptedHost::new());
        GitHub.rest_config(reference, access, &None, &request, &host)
    }

    #[test]
    fn the_token_is_the_login_and_the_address_its_audience() {
        let reference = reference(Some("https://API.example:443/"));
        let requests = GitHub.cluster(&reference, &None, &Request::default());
        assert_eq!(requests.unwrap()[0].audiences, ["https://API.example:443/"]);
        let token = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        let expected = ClusterAccess {
            server: "https://api.example".into(),
            ca_certificate: None,
            material: Material::Bearer("t".into()),
            expires_at: Some(SystemTime::UNIX_EPOCH),
        };
        assert_eq!(config(&reference, &[token]), Ok(expected));
    }

    #[test]
    fn a_wrong_reference_says_what_to_change() {
        let named = ClusterReference {
            name: Some("prod".into()),
            ..reference(Some("https://a"))
        };
        for reference in [reference(None), reference(Some("http://a")), named] {
            let error = GitHub
                .cluster(&reference, &None, &Request::default())
                .unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        }
    }

    #[test]
    fn a_credential_that_is_not_the_token_is_internal() {
        let reference = reference(Some("https://api.example"));
        let token = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        for access in [
            &[][..],
            &[token.clone(), token],
            &[Credential::subject_token()],
        ] {
            let error = config(&reference, access).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal);
        }
    }
}
