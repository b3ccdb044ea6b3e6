//! Who a subject becomes, and what a checked request for it holds.

use crate::cloud::{Authority, Cloud, Resource};
use crate::discover::{Surroundings, TENANT_VARIABLE};
use crate::parameter::{CLOUD, Parameters, RESOURCE};
use crate::principal::{ClientId, Principal, Tenant};
use gatepass_sdk::{Error, Facts, Request, ServiceAccount, Subject};

/// The annotation that names the application or managed identity; the one that the webhook of
/// AKS reads.
pub(crate) const CLIENT_ID: &str = "azure.workload.identity/client-id";

/// The annotation that names the tenant.
pub(crate) const TENANT_ID: &str = "azure.workload.identity/tenant-id";

/// What `identity` answers for the process itself: only the exchange finds out which of its
/// sources works, and for whom.
const AMBIENT: &str = "ambient";

/// What every scope of this grant ends in (AADSTS1002012): all that is granted to the client.
pub(crate) const DEFAULT: &str = "/.default";

/// Longest scope that is taken.
const MAX_SCOPE: usize = 1_000;

/// A request for an access token, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) authority: Authority,
    pub(crate) scope: String,
}

impl Terms {
    /// Checks every field of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule; `needs-facts` where the
    /// host's environment decides.
    pub(crate) fn parse(request: &Request, facts: &Facts) -> Result<Self, Error> {
        request.refuse_region()?;
        let authority = authority(request, facts)?;
        let scope = scope(request, authority.cloud(), facts)?;
        Ok(Self { authority, scope })
    }

    /// The scope without its end: how the metadata service names what a token is for.
    pub(crate) fn audience(&self) -> &str {
        self.scope.strip_suffix(DEFAULT).unwrap_or(&self.scope)
    }
}

/// The authority: that of the endpoint, that of the cloud, the host's own, or the public one.
///
/// # Errors
///
/// As [`Terms::parse`].
pub(crate) fn authority(request: &Request, facts: &Facts) -> Result<Authority, Error> {
    let cloud = Parameters::parse(request)?.cloud;
    match (request.endpoint.as_deref(), cloud) {
        (Some(endpoint), _) => {
            let authority = Authority::parse("endpoint", endpoint)?;
            match cloud {
                Some(cloud) if cloud != authority.cloud() => {
                    Err(Error::invalid_configuration(format!(
                        "endpoint '{authority}' is of cloud {}, and parameter {CLOUD} is {cloud}: remove one of them",
                        authority.cloud()
                    )))
                }
                _ => Ok(authority),
            }
        }
        (None, Some(cloud)) => Ok(Authority::of(cloud)),
        (None, None) => own_authority(Surroundings::of(facts)?),
    }
}

fn own_authority(surroundings: Surroundings<'_>) -> Result<Authority, Error> {
    let own = surroundings.authority()?;
    Ok(own.unwrap_or_else(|| Authority::of(Cloud::Public)))
}

fn scope(request: &Request, cloud: Cloud, facts: &Facts) -> Result<String, Error> {
    let resource = Parameters::parse(request)?.resource;
    match (request.scopes.as_slice(), resource) {
        ([], Some(Resource::Management) | None) => resource_manager(request, cloud, facts),
        ([], Some(resource)) => Ok(cloud.scope(resource).into()),
        ([scope], None) => parse_scope(scope),
        ([scope, ..], Some(_)) => Err(Error::invalid_configuration(format!(
            "parameter {RESOURCE} has no effect beside scopes '{}': remove one of them",
            scope.escape_debug()
        ))),
        ([_, second, ..], None) => Err(Error::invalid_configuration(format!(
            "scopes: Entra gives an application a token for one resource at a time: remove '{}' and ask for it in a request of its own",
            second.escape_debug()
        ))),
    }
}

/// The scope of the cloud's resource manager: that of the host's environment file, unless the
/// request names a cloud.
///
/// # Errors
///
/// As [`Terms::parse`].
pub(crate) fn resource_manager(
    request: &Request,
    cloud: Cloud,
    facts: &Facts,
) -> Result<String, Error> {
    if !names_a_cloud(request) {
        let audience = Surroundings::of(facts)?.token_audience();
        if let Some(audience) = audience {
            return Ok(format!("{audience}{DEFAULT}"));
        }
    }
    Ok(cloud.scope(Resource::Management).into())
}

/// Whether a request says which cloud it is about, so that the host's own does not count.
pub(crate) fn names_a_cloud(request: &Request) -> bool {
    request.endpoint.is_some() || request.parameters.contains_key(CLOUD)
}

fn parse_scope(text: &str) -> Result<String, Error> {
    let resource = text.strip_suffix(DEFAULT).unwrap_or_default();
    let fits = !resource.is_empty()
        && text.len() <= MAX_SCOPE
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        return Ok(text.into());
    }
    Err(Error::invalid_configuration(format!(
        "scopes '{}' must be the URI or ID of a resource and {DEFAULT}, without spaces: https://vault.azure.net/.default",
        text.escape_debug()
    )))
}

/// What a subject becomes under a request: `TENANT/CLIENT` of an account's annotations.
///
/// # Errors
///
/// `unsupported` for an object; `invalid-configuration` if an annotation or the request is
/// wrong; `needs-facts`.
pub(crate) fn identity(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
) -> Result<String, Error> {
    if *subject == Subject::Ambient {
        Terms::parse(request, facts)?;
        return Ok(AMBIENT.into());
    }
    let account = subject.service_account()?;
    let text = account.required_annotation(CLIENT_ID)?;
    let client = ClientId::parse(&field(account, CLIENT_ID), text)?;
    let terms = Terms::parse(request, facts)?;
    let tenant = match account.annotation(TENANT_ID) {
        Some(text) => Tenant::parse(&field(account, TENANT_ID), text)?,
        None => own_tenant(account, terms.authority.cloud(), facts)?,
    };
    Ok(Principal { tenant, client }.to_string())
}

fn field(account: &ServiceAccount, annotation: &str) -> String {
    format!("service account '{account}': annotation {annotation}")
}

/// The host's own tenant, for an account that names none. A tenant is of one cloud alone.
fn own_tenant(account: &ServiceAccount, cloud: Cloud, facts: &Facts) -> Result<Tenant, Error> {
    let surroundings = Surroundings::of(facts)?;
    let tenant = surroundings.tenant()?.ok_or_else(|| {
        Error::invalid_configuration(format!(
            "service account '{account}' lacks the annotation {TENANT_ID}, and the host has no tenant of its own ({TENANT_VARIABLE}): annotate the account"
        ))
    })?;
    let home = own_authority(surroundings)?.cloud();
    if home != cloud {
        return Err(Error::invalid_configuration(format!(
            "service account '{account}' lacks the annotation {TENANT_ID}, and the host's own tenant '{tenant}' is of cloud {home}, not {cloud}: annotate the account"
        )));
    }
    Ok(tenant)
}

/// The audience of a ServiceAccount's token, which is that of the cloud.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; otherwise as [`Terms::parse`].
pub(crate) fn audience(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
) -> Result<Vec<String>, Error> {
    subject.service_account()?;
    Ok(vec![authority(request, facts)?.cloud().audience().into()])
}

/// The request for an access token with this scope, whatever else it is that the caller asks
/// for with it.
///
/// # Errors
///
/// `invalid-configuration` if the caller asks for a scope or a resource of its own.
pub(crate) fn access(request: &Request, scope: impl Into<String>) -> Result<Request, Error> {
    request.refuse_scopes()?;
    request.refuse_region()?;
    if let Some(resource) = Parameters::parse(request)?.resource {
        return Err(Error::invalid_configuration(format!(
            "parameter {RESOURCE} '{}' has no effect here, where the token is for one service: remove it",
            resource.name()
        )));
    }
    let mut access = request.clone();
    access.scopes = vec![scope.into()];
    Ok(access)
}

/// [`access`] to a resource in cloud `home`, which is where its token comes from, whatever the
/// host's own cloud is.
///
/// # Errors
///
/// As [`access`]; `invalid-configuration` too if the request names another cloud.
pub(crate) fn access_at(
    what: &str,
    home: Cloud,
    request: &Request,
    scope: impl Into<String>,
) -> Result<Request, Error> {
    let mut access = access(request, scope)?;
    if !names_a_cloud(request) {
        access.parameters.insert(CLOUD.into(), home.name().into());
    }
    // Where the request names a cloud, facts do not count.
    let cloud = authority(&access, &None)?.cloud();
    if cloud == home {
        return Ok(access);
    }
    Err(Error::invalid_configuration(format!(
        "{what} is of cloud {home}, and the request asks for cloud {cloud}: remove endpoint and parameter {CLOUD}, or correct them"
    )))
}

#[cfg(test)]
mod tests;
