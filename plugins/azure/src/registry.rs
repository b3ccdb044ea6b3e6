//! Logins to Azure Container Registry: an access token for a refresh token of the registry.

use crate::cloud::{Cloud, Resource};
use crate::discover::Surroundings;
use crate::fault::{self, Service};
use crate::identity::{self, DEFAULT};
use crate::token;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::{
    Authority, Credential, Error, Facts, Host, Material, RegistryTarget, Request, Secret, egress,
};
use serde::Deserialize;
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// The user of whoever logs in with a token
/// (learn.microsoft.com/azure/container-registry/container-registry-authentication).
const USERNAME: &str = "00000000-0000-0000-0000-000000000000";

/// What stands before the suffix of a regional endpoint, behind the region
/// (learn.microsoft.com/azure/container-registry/container-registry-endpoint-reference).
const REGIONAL: &str = "geo";

/// A registry of Azure.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registry {
    host: String,
    home: Home,
}

/// Where a registry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Cloud(Cloud),
    /// In the cloud of the host's environment file.
    Environment,
}

impl Registry {
    /// Reads `HOST[/PATH[:TAG][@DIGEST]]`. The host is `NAME.SUFFIX`, or `NAME.REGION.geo.SUFFIX`
    /// for one region of a registry that has several, label by label.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the host is none of Azure's registries; `needs-facts`.
    fn parse(repository: &str, facts: &Facts) -> Result<Self, Error> {
        let host = repository.split('/').next().unwrap_or(repository);
        let host = Authority::parse(host).filter(|host| host.port().is_none());
        let host = host.as_ref().map(Authority::host);
        if let Some((host, cloud)) = host.and_then(|host| Some((host, cloud(host)?))) {
            return Ok(Self {
                host: host.into(),
                home: Home::Cloud(cloud),
            });
        }
        let suffix = Surroundings::of(facts)?.registry_suffix();
        let own = host.zip(suffix).filter(|(host, suffix)| {
            let name = host.strip_suffix(suffix);
            name.is_some_and(|name| name.len() > 1 && name.ends_with('.'))
        });
        own.map(|(host, _)| Self {
            host: host.into(),
            home: Home::Environment,
        })
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "repository '{}' is not in a registry of Azure: write NAME.azurecr.io/REPOSITORY (azurecr.cn, azurecr.us; NAME.REGION.geo.azurecr.io for one region), without scheme and port",
                repository.escape_debug()
            ))
        })
    }

    /// The request for the token that the login needs: in the registry's own cloud. The registries
    /// of an environment file take tokens of its resource manager.
    fn access(&self, facts: &Facts, request: &Request) -> Result<Request, Error> {
        match self.home {
            Home::Cloud(home) => {
                let what = format!("registry {}", self.host);
                let scope = home.scope(Resource::ContainerRegistry);
                identity::access_at(&what, home, request, scope)
            }
            Home::Environment => {
                let manager = Surroundings::of(facts)?.resource_manager();
                let manager = manager.ok_or_else(|| {
                    Error::invalid_configuration(
                        "the environment file of the host names registries and no resourceManagerEndpoint: add it",
                    )
                })?;
                identity::access(request, format!("{manager}{DEFAULT}"))
            }
        }
    }
}

/// The cloud of a registry's host.
fn cloud(host: &str) -> Option<Cloud> {
    let labels: Vec<&str> = host.split('.').collect();
    let suffix = match labels.as_slice() {
        [_, first, last] | [_, _, REGIONAL, first, last] => (*first, *last),
        _ => return None,
    };
    Cloud::ALL
        .into_iter()
        .find(|cloud| cloud.registry_suffix().split_once('.') == Some(suffix))
}

/// Patterns for every registry.
pub(crate) fn wishes() -> impl Iterator<Item = String> {
    Cloud::ALL.into_iter().flat_map(|cloud| {
        let suffix = cloud.registry_suffix();
        [
            format!("https://*.{suffix}"),
            format!("https://*.*.{REGIONAL}.{suffix}"),
        ]
    })
}

/// Which registry a repository is in, and the request for the token that its login needs.
///
/// # Errors
///
/// `invalid-configuration` if it is no registry of Azure, or the request is about another cloud;
/// `needs-facts`.
pub(crate) fn target(
    repository: &str,
    facts: &Facts,
    request: &Request,
) -> Result<RegistryTarget, Error> {
    let registry = Registry::parse(repository, facts)?;
    Ok(RegistryTarget {
        access: registry.access(facts, request)?,
        cache_input: registry.host.clone(),
        host: registry.host,
    })
}

/// Logs in with the token of `access`.
///
/// # Errors
///
/// `internal` if `access` holds no token; what [`fault`] makes of the registry's refusals;
/// `unavailable` if its answer is no token, or one that does not say when it expires.
pub(crate) fn login(
    target: &RegistryTarget,
    access: &Credential,
    facts: &Facts,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let registry = Registry::parse(&target.host, facts)?.host;
    let request = egress::Request::post(format!("https://{registry}/oauth2/exchange"))
        .header("accept", "application/json")
        .form("grant_type", "access_token")
        .form("service", &registry)
        .form("access_token", bearer(access)?.expose())
        .build();
    let doing = format!("logging in to {registry}");
    let now = host.now();
    let response = host.send(request)?;
    if response.status() != 200 {
        return Err(fault::classify(Service::Registry, &doing, &response));
    }
    let wrong = |what: &str| Error::unavailable(format!("{doing}: the answer {what}"));
    let answer: Answer = response
        .json()
        .map_err(|_| wrong("is cut off, or holds no refresh token"))?;
    let expires_at = expiry(&answer.refresh_token)
        .ok_or_else(|| wrong("holds a token that is none, or does not say when it expires"))?;
    let expires_at = token::plausible(expires_at, now).map_err(wrong)?;
    Ok(Credential::basic(
        USERNAME,
        answer.refresh_token,
        expires_at,
    ))
}

#[derive(Deserialize)]
struct Answer {
    refresh_token: Secret,
}

/// The claim `exp` of a JWT. Its signature is for the registry alone to check: the registry
/// itself answered it.
fn expiry(token: &Secret) -> Option<SystemTime> {
    #[derive(Deserialize)]
    struct Claims {
        exp: u64,
    }
    if !token::is_token(token) {
        return None;
    }
    let mut parts = token.expose().split('.');
    let (_header, claims, _signature) = (parts.next()?, parts.next()?, parts.next()?);
    let claims = Zeroizing::new(URL_SAFE_NO_PAD.decode(claims).ok()?);
    let Claims { exp } = serde_json::from_slice(&claims).ok()?;
    let three = parts.next().is_none();
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_secs(exp))
        .filter(|_| three)
}

/// The token in a credential of this provider's `exchange`.
///
/// # Errors
///
/// `internal` if there is none.
pub(crate) fn bearer(access: &Credential) -> Result<&Secret, Error> {
    match &access.material {
        Material::Bearer(token) => Ok(token),
        _ => Err(Error::internal(
            "the access credential holds no token of Entra",
        )),
    }
}

#[cfg(test)]
mod tests;
