//! Logins to ECR and ECR Public: `GetAuthorizationToken`.

use crate::arn::is_account;
use crate::endpoint::{PUBLIC_REGION, Service, Variant};
use crate::exchange::unexpired;
use crate::fault;
use crate::identity;
use crate::parameter::Parameters;
use crate::region::Region;
use crate::sign::{Signer, Unsigned, keys};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sdk::egress::Response;
use gatepass_sdk::{Credential, Error, Host, RegistryTarget, Request, Secret};
use serde::Deserialize;
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// Hosts of ECR Public: the first speaks IPv4 alone, the second IPv6 too.
const PUBLIC_HOSTS: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];

/// What stands between the account and the region of a private registry, and what it says.
const PRIVATE_FORMS: [(&str, Variant); 4] = [
    ("dkr.ecr.", variant(false, false)),
    ("dkr.ecr-fips.", variant(true, false)),
    ("dkr-ecr.", variant(false, true)),
    ("dkr-ecr-fips.", variant(true, true)),
];

/// The one user that ECR knows.
const USERNAME: &str = "AWS";

const fn variant(fips: bool, dual_stack: bool) -> Variant {
    Variant { fips, dual_stack }
}

/// A registry of AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registry {
    host: String,
    region: Region,
    service: Service,
    variant: Variant,
}

impl Registry {
    /// Reads `HOST[/PATH[:TAG][@DIGEST]]`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the host is none of AWS's registries.
    fn parse(repository: &str) -> Result<Self, Error> {
        let host = repository
            .split('/')
            .next()
            .unwrap_or(repository)
            .to_ascii_lowercase();
        public(&host).or_else(|| private(&host)).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "repository '{}' is not in a registry of AWS: write ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME or public.ecr.aws/NAME, without scheme",
                repository.escape_debug()
            ))
        })
    }

    fn cache_input(&self) -> &str {
        match self.service {
            Service::EcrPublic => PUBLIC_HOSTS[0],
            _ => self.region.name(),
        }
    }

    /// The operation that logs in.
    fn target(&self) -> &'static str {
        match self.service {
            Service::EcrPublic => "SpencerFrontendService.GetAuthorizationToken",
            _ => "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
        }
    }

    /// The token in an answer of the service.
    fn authorization(&self, response: &Response) -> Result<Authorization, Error> {
        match self.service {
            Service::EcrPublic => Ok(response.json::<PublicAnswer>()?.data),
            _ => response
                .json::<PrivateAnswer>()?
                .data
                .into_iter()
                .next()
                .ok_or_else(|| Error::unavailable("ECR answered no authorization data")),
        }
    }
}

fn public(host: &str) -> Option<Registry> {
    PUBLIC_HOSTS.contains(&host).then_some(())?;
    Some(Registry {
        host: host.into(),
        region: Region::read(PUBLIC_REGION)?,
        service: Service::EcrPublic,
        variant: variant(false, host == PUBLIC_HOSTS[1]),
    })
}

/// `ACCOUNT.dkr.ecr.REGION.SUFFIX` and its variants, label by label: the suffix is that of the
/// region's own partition, and nothing follows it.
fn private(host: &str) -> Option<Registry> {
    let (account, rest) = host.split_once('.')?;
    let (rest, variant) = PRIVATE_FORMS
        .iter()
        .find_map(|(form, variant)| Some((rest.strip_prefix(form)?, *variant)))?;
    let (region, suffix) = rest.split_once('.')?;
    let region = Region::read(region)?;
    let expected = match variant.dual_stack {
        true => region.partition().dual_stack_registry_suffix()?,
        false => region.partition().suffix(),
    };
    (is_account(account) && suffix == expected).then(|| Registry {
        host: host.into(),
        region,
        service: Service::Ecr,
        variant,
    })
}

/// Which registry a repository is in, and the request for the keys that its login needs.
///
/// # Errors
///
/// `invalid-configuration` if it is no registry of AWS, or the request's region is of another
/// partition.
pub(crate) fn target(repository: &str, request: &Request) -> Result<RegistryTarget, Error> {
    let registry = Registry::parse(repository)?;
    Ok(RegistryTarget {
        access: identity::access(request, &registry.region)?,
        cache_input: registry.cache_input().into(),
        host: registry.host,
    })
}

/// Logs in with the keys of `access`.
///
/// # Errors
///
/// `internal` if `access` holds no keys; what [`fault`] makes of AWS's refusals; `unavailable` if
/// its answer is no login.
pub(crate) fn login(
    target: &RegistryTarget,
    access: &Credential,
    request: &Request,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let registry = Registry::parse(&target.host)?;
    let variant = registry.variant.or(Parameters::parse(request)?.variant);
    let endpoint = registry.service.host(&registry.region, variant);
    let signer = Signer {
        keys: keys(access)?,
        service: registry.service.signing_name(),
        region: &registry.region,
        now: host.now(),
    };
    let request = signer.request(&Unsigned {
        method: "POST",
        url: &format!("https://{endpoint}/"),
        headers: &[
            ("content-type", "application/x-amz-json-1.1"),
            ("x-amz-target", registry.target()),
        ],
        body: b"{}",
    })?;
    let doing = format!("logging in to {} at {endpoint}", registry.host);
    let response = host.send(request)?;
    if response.status() != 200 {
        return Err(fault::classify(&doing, &response));
    }
    let authorization = registry.authorization(&response)?;
    let credential = authorization.credential().ok_or_else(|| {
        Error::unavailable(format!(
            "{doing}: the authorization token is not that of user {USERNAME}, or its expiry is no time"
        ))
    })?;
    unexpired(&doing, credential, host.now())
}

/// ECR answers a list, of which one item is filled since registries share a token.
#[derive(Deserialize)]
struct PrivateAnswer {
    #[serde(rename = "authorizationData")]
    data: Vec<Authorization>,
}

#[derive(Deserialize)]
struct PublicAnswer {
    #[serde(rename = "authorizationData")]
    data: Authorization,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authorization {
    authorization_token: Secret,
    /// Seconds since 1970, with a fraction.
    expires_at: f64,
}

impl Authorization {
    /// `None` unless the token is user and password, and the expiry a time.
    fn credential(&self) -> Option<Credential> {
        let decoded = Zeroizing::new(STANDARD.decode(self.authorization_token.expose()).ok()?);
        let (user, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
        let since = Duration::try_from_secs_f64(self.expires_at).ok()?;
        let expires_at = SystemTime::UNIX_EPOCH.checked_add(since)?;
        (user == USERNAME && !password.is_empty())
            .then(|| Credential::basic(user, password, expires_at))
    }
}

#[cfg(test)]
mod tests;
