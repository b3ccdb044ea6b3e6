//! Registries that accept the ServiceAccount token as a bearer token.

use crate::exchange::require_subject_token;
use crate::identity;
use gatepass_sdk::{Credential, Error, RegistryTarget, Request, registry_host};

/// Which registry a repository is in, and the request for a token that goes there.
///
/// The default audience is the repository as the caller wrote it: the URL of the artifact, by
/// which a controller's users know it. It has no scheme, since none reaches a provider; who wants
/// one, or the host alone, sets audiences.
///
/// # Errors
///
/// `invalid-configuration` if it begins with no host, holds what no reference does, or the
/// request holds a field that has no effect.
pub(crate) fn target(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
    let host = registry_host(repository)?;
    let access = identity::access(request, repository)?;
    Ok(RegistryTarget::direct(host, access))
}

/// The token itself.
///
/// # Errors
///
/// `internal` if `access` is another credential; `invalid-configuration` if the request is wrong.
pub(crate) fn login(access: &Credential, request: &Request) -> Result<Credential, Error> {
    identity::check(request)?;
    require_subject_token(access)?;
    Ok(Credential::subject_token())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generic;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Provider};
    use std::time::SystemTime;

    #[test]
    fn any_registry_is_a_target_and_its_repository_the_audience() {
        for (repository, host) in [
            ("zot.example", "zot.example"),
            ("zot.example/", "zot.example"),
            ("Zot.Example:5000/team/app:v1", "zot.example:5000"),
            ("10.0.0.1:5000/app@sha256:00", "10.0.0.1:5000"),
            ("[2001:db8::1]:5000/app", "[2001:db8::1]:5000"),
            ("localhost/app", "localhost"),
        ] {
            let target = Generic
                .registry(repository, &None, &Request::default())
                .unwrap();
            assert_eq!(
                (target.host.as_str(), target.cache_input.as_str()),
                (host, host)
            );
            assert_eq!(target.access.audiences, [repository]);
        }
    }

    #[test]
    fn the_callers_audiences_win() {
        let request = Request {
            audiences: vec!["zot".into()],
            ..Request::default()
        };
        let target = Generic
            .registry("zot.example/app", &None, &request)
            .unwrap();
        assert_eq!(target.access, request);
    }

    #[test]
    fn what_begins_with_no_host_is_refused() {
        for repository in [
            "",
            "/app",
            "oci://zot.example/app",
            "https://zot.example/app",
            "zot.example//app",
            "zot.example:/app",
            "zot.example:99999/app",
            "user@zot.example/app",
            "zot_example/app",
            "zot.example/a b",
            "zot.example/é",
            "zot.example/a\nb",
            "-zot.example",
        ] {
            let error = Generic.registry(repository, &None, &Request::default());
            let error = error.unwrap_err();
            assert_eq!(
                error.code(),
                ErrorCode::InvalidConfiguration,
                "{repository}"
            );
        }
    }

    #[test]
    fn a_login_is_the_token_itself() {
        let request = Request::default();
        let target = Generic
            .registry("zot.example/app", &None, &request)
            .unwrap();
        let host = ScriptedHost::new();
        let login = |access: &Credential| {
            Generic.registry_credentials(&target, access, &None, &request, &host)
        };
        let token = Credential::subject_token();
        assert_eq!(login(&token), Ok(token));
        let other = Credential::bearer("t", SystemTime::UNIX_EPOCH);
        assert_eq!(login(&other).unwrap_err().code(), ErrorCode::Internal);
        assert!(host.sent().is_empty());
    }
}
