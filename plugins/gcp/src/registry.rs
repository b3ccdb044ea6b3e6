//! Logins to Artifact Registry and Container Registry: the access token is the password.

use crate::parameter::{Parameters, UNIVERSE};
use crate::token;
use crate::universe::{S3NS, Universe};
use gatepass_sdk::{Credential, Error, RegistryTarget, Request};

/// The user whose password is an access token
/// (<https://cloud.google.com/artifact-registry/docs/docker/authentication#token>).
const USERNAME: &str = "oauth2accesstoken";

/// One access token is good for every registry that it has access to.
const CACHE_INPUT: &str = "gcp";

/// The one registry of the universe of S3NS.
const S3NS_HOST: &str = "docker.s3nsregistry.fr";

/// The registry that a repository is in, and the access token that its login needs.
///
/// # Errors
///
/// `invalid-configuration` if it is none of Google's, or of another universe than the request.
pub(crate) fn target(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
    let host = repository
        .split('/')
        .next()
        .unwrap_or(repository)
        .to_ascii_lowercase();
    let universe = universe(&host).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "repository '{}' is not in a registry of Google: write LOCATION-docker.pkg.dev/PROJECT/REPOSITORY/NAME, gcr.io/PROJECT/NAME or {S3NS_HOST}/PROJECT/REPOSITORY/NAME, without scheme",
            repository.escape_debug()
        ))
    })?;
    let parameters = Parameters::parse(request)?;
    parameters.refuse_cluster_endpoint()?;
    let mut access = request.clone();
    let asked = access
        .parameters
        .entry(UNIVERSE.into())
        .or_insert_with(|| universe.as_str().into());
    if asked.as_str() != universe.as_str() {
        return Err(Error::invalid_configuration(format!(
            "parameter {UNIVERSE} '{asked}' is not that of registry {host}, which is {universe}: correct or remove it"
        )));
    }
    if universe.is_public() {
        // Left out where it is the default, so that equal requests share one token.
        access.parameters.remove(UNIVERSE);
    }
    Ok(RegistryTarget {
        host,
        cache_input: CACHE_INPUT.into(),
        access,
    })
}

/// The universe of a registry's host, label by label; `None` if it is none of Google's.
fn universe(host: &str) -> Option<Universe> {
    let labels: Vec<&str> = host.split('.').collect();
    let public = match labels.as_slice() {
        ["gcr", "io"] => true,
        [location, "gcr", "io"] => is_label(location),
        [name, "pkg", "dev"] => name.strip_suffix("-docker").is_some_and(is_label),
        _ => false,
    };
    if public {
        return Some(Universe::default());
    }
    (host == S3NS_HOST)
        .then(|| Universe::parse(UNIVERSE, S3NS).ok())
        .flatten()
}

fn is_label(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Logs in with the access token, which needs no request.
///
/// # Errors
///
/// `invalid-configuration` for another host; `internal` if `access` holds no bearer token, or no
/// expiry.
pub(crate) fn login(target: &RegistryTarget, access: &Credential) -> Result<Credential, Error> {
    if universe(&target.host).is_none() {
        return Err(Error::invalid_configuration(format!(
            "host '{}' is not a registry of Google",
            target.host.escape_debug()
        )));
    }
    let token = token::bearer(access)?;
    let expires_at = access
        .expires_at
        .ok_or_else(|| Error::internal("the access credential does not say when it expires"))?;
    Ok(Credential::basic(USERNAME, token.expose(), expires_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gcp;
    use gatepass_sdk::testing::ScriptedHost;
    use gatepass_sdk::{ErrorCode, Material, Provider};

    fn request(parameters: &[(&str, &str)]) -> Request {
        Request {
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Request::default()
        }
    }

    fn target_of(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
        Gcp.registry(repository, &None, request)
    }

    #[test]
    fn each_registry_of_google_is_known_by_its_host() {
        for (repository, host) in [
            ("gcr.io/my-project/app", "gcr.io"),
            ("eu.gcr.io/my-project/app:v1", "eu.gcr.io"),
            ("EU.gcr.io", "eu.gcr.io"),
            (
                "europe-west1-docker.pkg.dev/p/r/app@sha256:00",
                "europe-west1-docker.pkg.dev",
            ),
            ("us-docker.pkg.dev/p/r", "us-docker.pkg.dev"),
        ] {
            let target = target_of(repository, &request(&[])).unwrap();
            assert_eq!(target.host, host);
            assert_eq!(target.cache_input, "gcp");
            assert_eq!(target.access, request(&[]));
        }
    }

    #[test]
    fn other_hosts_are_not_googles() {
        for repository in [
            "",
            "/gcr.io/x",
            ".gcr.io/x",
            "-.gcr.io/x",
            "a.b.gcr.io/x",
            "gcr.io.evil.example/x",
            "evilgcr.io/x",
            "x@gcr.io/x",
            "gcr.io:443/x",
            "https://gcr.io/x",
            "-docker.pkg.dev/x",
            "docker.pkg.dev/x",
            "us-docker.pkg.dev.evil.example/x",
            "a.us-docker.pkg.dev/x",
            "us-maven.pkg.dev/x",
            "us_docker.pkg.dev/x",
            "é-docker.pkg.dev/x",
            "u-france-east1-docker.s3nsregistry.fr/x",
            "a.docker.s3nsregistry.fr/x",
            "docker.s3nsregistry.fr.evil.example/x",
            "ghcr.io/x",
        ] {
            let error = target_of(repository, &request(&[])).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            assert!(error.message().contains("not in a registry"), "{error}");
        }
    }

    #[test]
    fn the_token_is_of_the_registrys_universe() {
        let s3ns = [(UNIVERSE, "s3nsapis.fr")];
        let public = [(UNIVERSE, "googleapis.com")];
        let repository = "docker.s3nsregistry.fr/p/r/app";
        for asked in [&[][..], &s3ns] {
            let target = target_of(repository, &request(asked)).unwrap();
            assert_eq!(target.access, request(&s3ns));
        }
        let target = target_of("gcr.io/p/app", &request(&public)).unwrap();
        assert_eq!(target.access, request(&[]));
        for (repository, asked) in [(repository, public), ("gcr.io/p/app", s3ns)] {
            let error = target_of(repository, &request(&asked)).unwrap_err();
            assert!(error.message().contains(UNIVERSE), "{error}");
        }
        let error = target_of("gcr.io/p", &request(&[("cluster-endpoint", "dns")]));
        assert!(error.unwrap_err().message().contains("cluster-endpoint"));
    }

    #[test]
    fn the_access_token_is_the_password() {
        let target = target_of("gcr.io/p/app", &request(&[])).unwrap();
        let host = ScriptedHost::new();
        let access = Credential::bearer("token", host.now());
        let login = Gcp
            .registry_credentials(&target, &access, &None, &request(&[]), &host)
            .unwrap();
        let Material::Basic(basic) = &login.material else {
            panic!("{login:?}");
        };
        assert_eq!(basic.username, "oauth2accesstoken");
        assert_eq!(basic.password.expose(), "token");
        assert_eq!(login.expires_at, Some(host.now()));
        assert!(host.sent().is_empty());

        let endless = Credential {
            expires_at: None,
            ..access.clone()
        };
        let foreign = RegistryTarget {
            host: "evil.example".into(),
            ..target.clone()
        };
        for (target, access, code) in [
            (&target, &Credential::subject_token(), ErrorCode::Internal),
            (&target, &endless, ErrorCode::Internal),
            (&foreign, &access, ErrorCode::InvalidConfiguration),
        ] {
            let error = super::login(target, access).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
        }
    }
}
