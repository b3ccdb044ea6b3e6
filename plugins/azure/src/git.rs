//! Tokens for Git remotes of Azure DevOps.

use crate::cloud::{Cloud, Resource};
use crate::identity;
use crate::registry::bearer;
use gatepass_sdk::{Authority, Credential, Error, Facts, GitTarget, Host, Request};

/// One token is good for every remote, so that remotes do not tell logins apart.
const CACHE_INPUT: &str = "azure-devops";

/// The one cloud that Azure DevOps is in.
const HOME: Cloud = Cloud::Public;

/// The host of every organisation.
const HOST: &str = "dev.azure.com";

/// The last labels of the older form, `ORGANISATION.visualstudio.com`.
const OLD_SUFFIX: &str = "visualstudio.com";

/// Which login a remote needs.
///
/// # Errors
///
/// `invalid-configuration` if it is no remote of Azure DevOps over HTTPS, or the request asks for
/// scopes of its own or another cloud.
pub(crate) fn target(url: &str, _facts: &Facts, request: &Request) -> Result<GitTarget, Error> {
    check(url)?;
    let scope = HOME.scope(Resource::DevOps);
    Ok(GitTarget {
        cache_input: CACHE_INPUT.into(),
        access: identity::access_at("Azure DevOps", HOME, request, scope)?,
    })
}

/// The access token itself, which Azure DevOps takes as a bearer token.
///
/// # Errors
///
/// As [`target`]; `internal` if `access` holds no token.
pub(crate) fn login(
    url: &str,
    access: &Credential,
    _facts: &Facts,
    _request: &Request,
    _host: &dyn Host,
) -> Result<Credential, Error> {
    check(url)?;
    bearer(access)?;
    Ok(access.clone())
}

/// Refuses what is no remote of Azure DevOps over HTTPS. The user that its own clone URLs have
/// (`https://ORGANISATION@dev.azure.com/…`) is let be; a password is not.
fn check(url: &str) -> Result<(), Error> {
    if is_remote(url) {
        return Ok(());
    }
    let shown = if url.contains(['@', '?', '#']) {
        String::new()
    } else {
        format!(" '{}'", url.escape_debug())
    };
    Err(Error::invalid_configuration(format!(
        "the URL{shown} is no Git remote of Azure DevOps: write https://{HOST}/ORGANISATION/PROJECT/_git/REPOSITORY or https://ORGANISATION.{OLD_SUFFIX}/PROJECT/_git/REPOSITORY, without password"
    )))
}

fn is_remote(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let Some(authority) = Authority::parse(host) else {
        return false;
    };
    let usual = authority.port().is_none_or(|port| port == 443);
    let old = authority.host().split_once('.');
    scheme.eq_ignore_ascii_case("https")
        && !user.contains([':', '@'])
        && usual
        && (authority.host() == HOST || old.is_some_and(|(_, suffix)| suffix == OLD_SUFFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;
    use gatepass_sdk::testing::ScriptedHost;
    use std::collections::BTreeMap;

    fn facts() -> Facts {
        Some(BTreeMap::new())
    }

    fn devops(url: &str) -> Result<GitTarget, Error> {
        target(url, &facts(), &Request::default())
    }

    #[test]
    fn every_form_of_a_remote_needs_a_token_for_devops() {
        for url in [
            "https://dev.azure.com/org/project/_git/repository",
            "https://org@dev.azure.com/org/project/_git/repository",
            "HTTPS://DEV.azure.com:443/org",
            "https://org.visualstudio.com/project/_git/repository",
            "https://org.visualstudio.com/DefaultCollection/project/_git/repository",
        ] {
            let target = devops(url).unwrap();
            assert_eq!(target.cache_input, "azure-devops");
            assert_eq!(
                target.access.scopes,
                ["499b84ac-1321-427f-aa17-267ca6975798/.default"]
            );
        }
    }

    #[test]
    fn what_is_no_remote_of_devops_is_refused_and_no_password_is_shown() {
        for url in [
            "",
            "dev.azure.com/org",
            "http://dev.azure.com/org",
            "ssh://git@ssh.dev.azure.com/v3/org",
            "git@ssh.dev.azure.com:v3/org",
            "https://dev.azure.com.evil.example/org",
            "https://evil.example/dev.azure.com",
            "https://evil.example?@dev.azure.com/",
            "https://evil.example\\@dev.azure.com/",
            "https://evil.example#@dev.azure.com/",
            "https://x.dev.azure.com/org",
            "https://visualstudio.com/org",
            "https://a.b.visualstudio.com/org",
            "https://dev.azure.com:8443/org",
            "https://user:hunter2@dev.azure.com/org",
            "https://a@b@dev.azure.com/org",
            "https://github.com/org/repository",
        ] {
            let error = devops(url).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{url}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_callers_own_scopes_and_another_cloud_are_refused() {
        let scopes = Request {
            scopes: vec!["https://vault.azure.net/.default".into()],
            ..Request::default()
        };
        let china = Request {
            parameters: [("cloud".into(), "china".into())].into(),
            ..Request::default()
        };
        for (request, word) in [(scopes, "vault.azure.net"), (china, "china")] {
            let error = target("https://dev.azure.com/org", &None, &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            assert!(error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn the_login_is_the_access_token() {
        let host = ScriptedHost::new();
        let access = Credential::bearer("token", host.now());
        let login = |url: &str, access: &Credential| {
            login(url, access, &facts(), &Request::default(), &host)
        };
        let url = "https://dev.azure.com/org";
        assert_eq!(login(url, &access), Ok(access.clone()));
        let error = login(url, &Credential::subject_token()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Internal);
        assert!(login("https://evil.example", &access).is_err());
    }
}
