//! Access to AKS clusters: where the server is, and the token it takes.

mod kubeconfig;

use crate::cloud::Resource;
use crate::discover::Surroundings;
use crate::fault::{self, Service};
use crate::identity;
use crate::principal::uuid;
use crate::registry::bearer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sdk::egress::{self, Response};
use gatepass_sdk::{
    ClusterAccess, ClusterAdvice, ClusterLookup, ClusterReference, Credential, Error, Facts, Host,
    HttpsAddress, Material, Request, Secret,
};
use kubeconfig::Server;
use serde::Deserialize;
use std::fmt;

/// The version of the resource manager's protocol, that of Azure's Go SDK
/// (`armcontainerservice` v6.4.0).
const API_VERSION: &str = "2024-10-01";

/// Longest name of a resource group (learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules).
const MAX_GROUP: usize = 90;

/// Longest name of an AKS cluster (the same page).
const MAX_NAME: usize = 63;

/// The resource ID of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClusterId {
    subscription: String,
    group: String,
    name: String,
}

impl ClusterId {
    /// Reads `/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.ContainerService/managedClusters/NAME`,
    /// whose words are compared without regard to case.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the value and the rule.
    fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "cluster '{}' must be the resource ID of an AKS cluster: /subscriptions/UUID/resourceGroups/GROUP/providers/Microsoft.ContainerService/managedClusters/NAME",
                text.escape_debug()
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let [
            "",
            subscriptions,
            subscription,
            groups,
            group,
            providers,
            provider,
            clusters,
            name,
        ] = parts.as_slice()
        else {
            return None;
        };
        let words = [
            (subscriptions, "subscriptions"),
            (groups, "resourceGroups"),
            (providers, "providers"),
            (provider, "Microsoft.ContainerService"),
            (clusters, "managedClusters"),
        ];
        let fits = words
            .iter()
            .all(|(part, word)| part.eq_ignore_ascii_case(word))
            && is_name(group, MAX_GROUP)
            && is_name(name, MAX_NAME);
        fits.then_some(Self {
            subscription: uuid(subscription)?,
            group: (*group).into(),
            name: (*name).into(),
        })
    }

    fn url(&self, manager: &str, action: &str) -> String {
        format!("{manager}{self}{action}?api-version={API_VERSION}")
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.ContainerService/managedClusters/{}",
            self.subscription, self.group, self.name
        )
    }
}

/// Whether a text is the name of a resource, safe as a segment of a path. Names of groups in other
/// scripts are legal in Azure and refused here.
fn is_name(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && !text.ends_with('.')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.()".contains(&byte))
}

/// What to change in a reference.
const ADVICE: ClusterAdvice = ClusterAdvice {
    too_many: "address and ca-certificate leave nothing for the cluster's resource ID to look up: remove one of the three",
    too_few: "a cluster needs its resource ID, alone or with one of address and ca-certificate; or both of these: set name",
};

/// The requests for tokens that a cluster needs: one for its server and, where something is to be
/// looked up, one for the resource manager.
///
/// # Errors
///
/// `invalid-configuration` if the reference or the request is wrong; `needs-facts`.
pub(crate) fn access(
    reference: &ClusterReference,
    facts: &Facts,
    request: &Request,
) -> Result<Vec<Request>, Error> {
    let cluster = reference.lookup(ADVICE, ClusterId::parse)?;
    let cloud = identity::authority(request, facts)?.cloud();
    let mut wanted = vec![identity::access(
        request,
        cloud.scope(Resource::Kubernetes),
    )?];
    if let ClusterLookup::Named { .. } = cluster {
        let scope = identity::resource_manager(request, cloud, facts)?;
        wanted.push(identity::access(request, scope)?);
    }
    Ok(wanted)
}

/// What a client of the cluster needs.
///
/// # Errors
///
/// `invalid-configuration` if the reference is wrong, the cluster does not know Entra, or the
/// address is not the cluster's; `not-yet` while the cluster is being created; what [`fault`] makes
/// of Azure's refusals; `unavailable` if its answer is no cluster; `internal` if `access` does
/// not hold the tokens that were asked for.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    facts: &Facts,
    request: &Request,
    host: &dyn Host,
) -> Result<ClusterAccess, Error> {
    let cluster = reference.lookup(ADVICE, ClusterId::parse)?;
    let (token, server) = match (cluster, access) {
        (
            ClusterLookup::Known {
                address,
                certificate_authority,
            },
            [token],
        ) => (token, Server::new(address, certificate_authority)),
        (
            ClusterLookup::Named {
                name: id,
                address,
                certificate_authority,
            },
            [token, manager_token],
        ) => {
            let manager = Manager {
                url: manager_url(request, facts)?,
                token: bearer(manager_token)?,
                host,
            };
            let mut server = manager.server(&id, address.as_ref())?;
            if let Some(given) = certificate_authority {
                server.certificate_authority = given;
            }
            (token, server)
        }
        _ => {
            return Err(Error::internal(
                "a cluster of AKS needs one credential, and one more where it is looked up",
            ));
        }
    };
    Ok(ClusterAccess {
        server: server.address.to_string(),
        ca_certificate: Some(server.certificate_authority),
        material: Material::Bearer(bearer(token)?.clone()),
        expires_at: token.expires_at,
    })
}

/// `https://HOST` of the resource manager: that of the host's environment file, unless the request
/// names a cloud.
fn manager_url(request: &Request, facts: &Facts) -> Result<String, Error> {
    if !identity::names_a_cloud(request) {
        let own = Surroundings::of(facts)?.resource_manager();
        if let Some(url) = own {
            return Ok(url.into());
        }
    }
    let cloud = identity::authority(request, facts)?.cloud();
    Ok(format!("https://{}", cloud.resource_manager()))
}

/// The resource manager, with a token for it.
struct Manager<'a> {
    url: String,
    token: &'a Secret,
    host: &'a dyn Host,
}

impl Manager<'_> {
    /// Finds the server: the one at `address`, or the first.
    fn server(&self, id: &ClusterId, address: Option<&HttpsAddress>) -> Result<Server, Error> {
        let cluster = self.describe(id)?;
        let credentials = self.list_credentials(id)?;
        let mut servers = Vec::new();
        for (index, kubeconfig) in credentials
            .kubeconfigs
            .unwrap_or_default()
            .iter()
            .enumerate()
        {
            servers.extend(kubeconfig.servers(id, index)?);
        }
        let Some(address) = address else {
            let first = servers.into_iter().next();
            return first.ok_or_else(|| cluster.unready(id));
        };
        let known: Vec<String> = servers
            .iter()
            .map(|server| format!("'{}'", server.address))
            .collect();
        let found = servers
            .into_iter()
            .find(|server| server.address == *address);
        found.ok_or_else(|| match known.as_slice() {
            [] => cluster.unready(id),
            known => Error::invalid_configuration(format!(
                "address '{address}' is not that of cluster {}, which is {}: correct or remove it",
                id.name,
                known.join(" or ")
            )),
        })
    }

    /// Asks for the cluster, and refuses one whose server does not know Entra's tokens.
    fn describe(&self, id: &ClusterId) -> Result<Properties, Error> {
        let doing = format!("describing cluster {}", id.name);
        let request = egress::Request::get(id.url(&self.url, ""));
        let response = self.send(request, &doing)?;
        let answer: Description = read(&doing, &response)?;
        let properties = answer.properties.unwrap_or_default();
        match properties.entra {
            Some(_) => Ok(properties),
            None => Err(Error::invalid_configuration(format!(
                "cluster {} does not take tokens of Entra: enable its Microsoft Entra integration (az aks update --enable-aad)",
                id.name
            ))),
        }
    }

    fn list_credentials(&self, id: &ClusterId) -> Result<Credentials, Error> {
        let doing = format!("listing the user credentials of cluster {}", id.name);
        let url = id.url(&self.url, "/listClusterUserCredential");
        let response = self.send(egress::Request::post(url), &doing)?;
        read(&doing, &response)
    }

    fn send(&self, request: egress::RequestBuilder, doing: &str) -> Result<Response, Error> {
        let request = request
            .header("accept", "application/json")
            .bearer(self.token.expose())
            .build();
        let response = self.host.send(request)?;
        match response.status() {
            200 => Ok(response),
            _ => Err(fault::classify(Service::ResourceManager, doing, &response)),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(doing: &str, response: &Response) -> Result<T, Error> {
    response.json().map_err(|_| {
        Error::unavailable(format!(
            "{doing}: the answer of {} bytes is cut off, or is not a cluster's",
            response.body().len()
        ))
    })
}

#[derive(Deserialize)]
struct Description {
    properties: Option<Properties>,
}

/// What Azure says of a cluster.
#[derive(Debug, Default, Deserialize)]
struct Properties {
    /// There where the server takes tokens of Entra; what is in it does not matter.
    #[serde(rename = "aadProfile")]
    entra: Option<serde::de::IgnoredAny>,
    #[serde(rename = "provisioningState")]
    state: Option<String>,
}

impl Properties {
    fn unready(&self, id: &ClusterId) -> Error {
        match self.state.as_deref() {
            Some("Creating") => Error::not_yet(format!(
                "cluster {} has no server yet: it is being created",
                id.name
            )),
            _ => Error::unavailable(format!("Azure answered no server of cluster {}", id.name)),
        }
    }
}

#[derive(Deserialize)]
struct Credentials {
    kubeconfigs: Option<Vec<Encoded>>,
}

/// A kubeconfig in base64.
#[derive(Deserialize)]
struct Encoded {
    value: Secret,
}

impl Encoded {
    fn servers(&self, id: &ClusterId, index: usize) -> Result<Vec<Server>, Error> {
        let decoded = STANDARD.decode(self.value.expose()).ok();
        let decoded = decoded.map(zeroize::Zeroizing::new);
        let text = decoded
            .as_ref()
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.and_then(kubeconfig::servers).ok_or_else(|| {
            Error::unavailable(format!(
                "Azure answered a kubeconfig of cluster {} (number {index}) that is none, or holds no https server with a certificate authority",
                id.name
            ))
        })
    }
}

#[cfg(test)]
mod tests;
