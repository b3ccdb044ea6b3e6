//! Access to GKE clusters: where the server is. The access token is the bearer token.

use crate::fault::{self, Step};
use crate::parameter::{CLUSTER_ENDPOINT, ClusterEndpoint, Parameters};
use crate::token;
use crate::universe::Service;
use gatepass_sdk::{
    ClusterAccess, ClusterAdvice, ClusterLookup, ClusterReference, Credential, Error, Host,
    HttpsAddress, Material, Request, certificate_of_base64, egress,
};
use serde::Deserialize;
use std::net::Ipv6Addr;

/// Longest part of a cluster's name that controllers already in the field accept.
const MAX_PART: usize = 200;

/// What to change in a reference.
const ADVICE: ClusterAdvice = ClusterAdvice {
    too_many: "address and ca-certificate leave nothing for the cluster's name to look up: remove one of the three",
    too_few: "a cluster needs its name (projects/PROJECT/locations/LOCATION/clusters/NAME), alone or with one of address and ca-certificate, or both of these: set name",
};

/// How a cluster is found.
///
/// # Errors
///
/// `invalid-configuration` naming what is missing, too much or wrong.
fn lookup(
    reference: &ClusterReference,
    parameters: &Parameters,
) -> Result<ClusterLookup<String>, Error> {
    let address = reference.server_address()?;
    reference.certificate_authority()?;
    if address.is_some() && parameters.cluster_endpoint.is_some() {
        return Err(Error::invalid_configuration(format!(
            "parameter {CLUSTER_ENDPOINT} has no effect beside address: remove one of them"
        )));
    }
    reference.lookup(ADVICE, parse_name)
}

/// The name becomes the path of a URL, where `.` and `..` would lead elsewhere.
fn parse_name(text: &str) -> Result<String, Error> {
    let segments: Vec<&str> = text.split('/').collect();
    let named = match segments.as_slice() {
        [
            "projects",
            project,
            "locations",
            location,
            "clusters",
            cluster,
        ] => [project, location, cluster]
            .into_iter()
            .all(|part| is_part(part)),
        _ => false,
    };
    if named {
        return Ok(text.into());
    }
    Err(Error::invalid_configuration(format!(
        "cluster '{}' must be projects/PROJECT/locations/LOCATION/clusters/NAME",
        text.escape_debug()
    )))
}

/// Projects of a domain are written `example.com:app`.
fn is_part(text: &str) -> bool {
    (1..=MAX_PART).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

/// The one request for a token that a cluster needs.
///
/// # Errors
///
/// `invalid-configuration` if the reference or a parameter is wrong.
pub(crate) fn access(
    reference: &ClusterReference,
    request: &Request,
) -> Result<Vec<Request>, Error> {
    lookup(reference, &Parameters::parse(request)?)?;
    let mut access = request.clone();
    access.parameters.remove(CLUSTER_ENDPOINT);
    Ok(vec![access])
}

/// What a client of the cluster needs.
///
/// # Errors
///
/// As [`access`]; `not-yet` while the cluster is being created; what [`fault`] makes of Google's
/// refusals; `unavailable` if its answer is no cluster; `internal` if `access` holds no token.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    request: &Request,
    host: &dyn Host,
) -> Result<ClusterAccess, Error> {
    let parameters = Parameters::parse(request)?;
    let cluster = lookup(reference, &parameters)?;
    let [access] = access else {
        return Err(Error::internal("a cluster of GKE needs one credential"));
    };
    let bearer = token::bearer(access)?;
    let (server, ca_certificate) = match cluster {
        ClusterLookup::Known {
            address,
            certificate_authority,
        } => (address, Some(certificate_authority)),
        ClusterLookup::Named {
            name,
            address,
            certificate_authority,
        } => {
            let service = parameters.universe.host(Service::Container);
            let request = egress::Request::get(format!("https://{service}/v1/{name}"))
                .bearer(bearer.expose())
                .build();
            let doing = format!("describing cluster {name} at {service}");
            let endpoint = parameters
                .cluster_endpoint
                .unwrap_or(ClusterEndpoint::Public);
            let description = describe(&doing, request, host)?;
            description.reach(&doing, address, certificate_authority, endpoint)?
        }
    };
    Ok(ClusterAccess {
        server: server.to_string(),
        ca_certificate,
        material: Material::Bearer(bearer.clone()),
        expires_at: access.expires_at,
    })
}

fn describe(doing: &str, request: egress::Request, host: &dyn Host) -> Result<Description, Error> {
    let response = host
        .send(request)
        .map_err(|error| fault::no_answer(doing, error))?;
    if response.status() != 200 {
        return Err(fault::classify(Step::Cluster, doing, &response));
    }
    response.json().map_err(|_| {
        Error::unavailable(format!(
            "{doing}: the answer of {} bytes is cut off, or is no cluster",
            response.body().len()
        ))
    })
}

/// What GKE says of a cluster (`container.v1.Cluster`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    status: Option<String>,
    endpoint: Option<String>,
    master_auth: Option<MasterAuth>,
    private_cluster_config: Option<PrivateEndpoint>,
    control_plane_endpoints_config: Option<ControlPlaneEndpointsConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MasterAuth {
    cluster_ca_certificate: Option<String>,
}

/// What `privateClusterConfig` and `ipEndpointsConfig` share.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrivateEndpoint {
    private_endpoint: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ControlPlaneEndpointsConfig {
    dns_endpoint_config: Option<DnsEndpointConfig>,
    ip_endpoints_config: Option<PrivateEndpoint>,
}

#[derive(Debug, Deserialize)]
struct DnsEndpointConfig {
    endpoint: Option<String>,
}

impl Description {
    /// The server and its certificate authority: the caller's, where given.
    fn reach(
        &self,
        doing: &str,
        address: Option<HttpsAddress>,
        certificate_authority: Option<String>,
        endpoint: ClusterEndpoint,
    ) -> Result<(HttpsAddress, Option<String>), Error> {
        // A cluster that is being created gets its parts one after another.
        if self.status.as_deref() == Some("PROVISIONING") {
            return Err(Error::not_yet(format!(
                "{doing}: it is still being created"
            )));
        }
        // Taken as it is: the cluster may be behind a proxy or another name, and the
        // certificate authority proves that it is the cluster.
        let server = match address {
            Some(address) => address,
            None => self.server(doing, endpoint)?,
        };
        let authority = match certificate_authority {
            Some(authority) => Some(authority),
            None => self.authority_of(doing, &server)?,
        };
        Ok((server, authority))
    }

    fn server(&self, doing: &str, endpoint: ClusterEndpoint) -> Result<HttpsAddress, Error> {
        let text = match endpoint {
            ClusterEndpoint::Public => self.endpoint.as_deref(),
            ClusterEndpoint::Private => self.private_endpoint(),
            ClusterEndpoint::Dns => self.dns_endpoint(),
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Err(lacking(doing, endpoint));
        };
        parse_endpoint(text).ok_or_else(|| {
            Error::unavailable(format!("{doing}: its endpoint in the answer is no address"))
        })
    }

    /// The newer of both places holds it for clusters whose nodes are not private.
    fn private_endpoint(&self) -> Option<&str> {
        let older = self.private_cluster_config.as_ref();
        let older = older.and_then(|config| config.private_endpoint.as_deref());
        older.or_else(|| {
            let config = self.control_plane_endpoints_config.as_ref()?;
            config
                .ip_endpoints_config
                .as_ref()?
                .private_endpoint
                .as_deref()
        })
    }

    fn dns_endpoint(&self) -> Option<&str> {
        let config = self.control_plane_endpoints_config.as_ref()?;
        config.dns_endpoint_config.as_ref()?.endpoint.as_deref()
    }

    /// The cluster's own authority. Its DNS endpoint alone has a certificate of a public one,
    /// which the system knows.
    fn authority_of(&self, doing: &str, server: &HttpsAddress) -> Result<Option<String>, Error> {
        let dns = self.dns_endpoint().and_then(parse_endpoint);
        if dns.is_some_and(|dns| dns == *server) {
            return Ok(None);
        }
        let data = self
            .master_auth
            .as_ref()
            .and_then(|auth| auth.cluster_ca_certificate.as_deref())
            .ok_or_else(|| {
                Error::unavailable(format!(
                    "{doing}: the answer holds no certificate authority"
                ))
            })?;
        certificate_of_base64(data).map(Some).ok_or_else(|| {
            Error::unavailable(format!(
                "{doing}: the certificate authority in the answer is no PEM"
            ))
        })
    }
}

/// A cluster of which every part is there, but for the endpoint that is asked for.
fn lacking(doing: &str, endpoint: ClusterEndpoint) -> Error {
    match endpoint {
        ClusterEndpoint::Public => Error::invalid_configuration(format!(
            "{doing}: it has no public endpoint: set parameter {CLUSTER_ENDPOINT} to private or dns"
        )),
        ClusterEndpoint::Private => Error::invalid_configuration(format!(
            "{doing}: it has no private endpoint: set parameter {CLUSTER_ENDPOINT} to public or dns"
        )),
        ClusterEndpoint::Dns => Error::invalid_configuration(format!(
            "{doing}: it has no DNS endpoint: enable it in the cluster, or set parameter {CLUSTER_ENDPOINT} to public or private"
        )),
    }
}

/// GKE answers addresses and names without scheme.
fn parse_endpoint(text: &str) -> Option<HttpsAddress> {
    let authority = match text.parse::<Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => text.to_owned(),
    };
    HttpsAddress::parse("endpoint", &format!("https://{authority}")).ok()
}

#[cfg(test)]
mod tests;
