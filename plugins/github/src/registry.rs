//! Registries that trust GitHub's issuer.

use crate::identity;
use gatepass_sdk::{Credential, Error, Material, RegistryTarget, Request, registry_host};

/// Which registry a repository is in, and the request for a token that goes there. The default
/// audience is the URL of the artifact, as who pushes it writes it.
///
/// # Errors
///
/// `invalid-configuration` if it begins with no host, or the request is wrong.
pub(crate) fn target(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
    let host = registry_host(repository)?;
    let access = identity::access(request, &format!("oci://{repository}"))?;
    Ok(RegistryTarget::direct(host, access))
}

/// The token itself.
///
/// # Errors
///
/// `internal` if `access` is another credential; `invalid-configuration` if the request is wrong.
pub(crate) fn login(access: &Credential, request: &Request) -> Result<Credential, Error> {
    identity::audience(request)?;
    require_token(access)?;
    Ok(access.clone())
}

/// Refuses an access credential that is not of this provider's exchange.
///
/// # Errors
///
/// `internal` if it is another.
pub(crate) fn require_token(access: &Credential) -> Result<(), Error> {
    match access.material {
        Material::Bearer(_) => Ok(()),
        _ => Err(Error::internal(
            "the access credential is not a job's token",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GitHub;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Provider};
    use std::time::SystemTime;

    #[test]
    fn the_artifacts_url_is_the_audience_unless_the_caller_names_one() {
        let target = GitHub
            .registry("Zot.Example:5000/team/app:v1", &None, &Request::default())
            .unwrap();
        assert_eq!(target.host, "zot.example:5000");
        assert_eq!(target.cache_input, target.host);
        assert_eq!(
            target.access.audiences,
            ["oci://Zot.Example:5000/team/app:v1"]
        );
        let named = Request {
            audiences: vec!["zot".into()],
            ..Request::default()
        };
        let target = GitHub.registry("zot.example/app", &None, &named);
        assert_eq!(target.unwrap().access, named);
    }

    #[test]
    fn a_wrong_repository_or_request_is_refused() {
        let several = Request {
            audiences: vec!["a".into(), "b".into()],
            ..Request::default()
        };
        for (repository, request) in [
            ("oci://zot.example/app", Request::default()),
            ("", Request::default()),
            ("zot.example/app", several),
        ] {
            let error = GitHub.registry(repository, &None, &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        }
    }

    #[test]
    fn a_login_is_the_token_itself() {
        let request = Request::default();
        let target = GitHub.registry("zot.example", &None, &request).unwrap();
        let host = ScriptedHost::new();
        let login = |access: &Credential| {
            GitHub.registry_credentials(&target, access, &None, &request, &host)
        };
        let token = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        assert_eq!(login(&token), Ok(token));
        let error = login(&Credential::subject_token()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
        assert!(host.sent().is_empty());
    }
}
