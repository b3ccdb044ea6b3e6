//! Access to EKS clusters: where the server is, and the token it takes.

use crate::arn::ClusterArn;
use crate::endpoint::{Service, Variant};
use crate::exchange::ACCOUNT;
use crate::fault;
use crate::identity;
use crate::parameter::{CLUSTER_NAME, Parameters};
use crate::region::Region;
use crate::sign::{RESERVED, Signer, Unsigned, keys};
use crate::terms;
use crate::token;
use gatepass_sdk::{
    ClusterAccess, ClusterReference, Credential, Error, Facts, Host, HttpsAddress, Material,
    Request, certificate_of_base64,
};
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;

/// Longest name of a cluster that controllers already in the field accept; EKS gives out 100.
const MAX_NAME: usize = 200;

/// A cluster as the caller gives it: its name and region, and what need not be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cluster {
    name: String,
    region: Region,
    /// The account, where an ARN says it.
    account: Option<String>,
    address: Option<HttpsAddress>,
    certificate_authority: Option<String>,
}

impl Cluster {
    /// Reads a reference. The caller gives the name, alone or with one of address and
    /// certificate authority, and the rest is looked up; or both of these, and then the
    /// parameter `cluster-name`, since a token of EKS is for one cluster name.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming what is missing, too much or wrong.
    fn parse(
        reference: &ClusterReference,
        facts: &Facts,
        request: &Request,
    ) -> Result<Self, Error> {
        let parameter = Parameters::parse(request)?.cluster_name;
        let address = reference.server_address()?;
        let certificate_authority = reference.certificate_authority()?.map(str::to_owned);
        let complete = address.is_some() && certificate_authority.is_some();
        let arn = match (&reference.name, parameter) {
            (Some(_), _) if complete => return Err(too_much()),
            (Some(_), Some(_)) => return Err(named_twice()),
            (Some(name), None) => located(name, facts, request)?,
            (None, Some(name)) if complete => plain(&name, facts, request)?,
            (None, None) if complete => return Err(nameless()),
            (None, _) => return Err(too_little()),
        };
        Ok(Self {
            name: arn.name,
            region: arn.region,
            account: arn.account,
            address,
            certificate_authority,
        })
    }

    /// Refuses keys of another account than the cluster's: EKS looks a name up in the account
    /// of the keys, and would find nothing, or another cluster of that name.
    fn require_account(&self, access: &Credential) -> Result<(), Error> {
        let owner = access.attributes.iter().find(|(name, _)| name == ACCOUNT);
        match (&self.account, owner) {
            (Some(account), Some((_, owner))) if account != owner => {
                Err(Error::invalid_configuration(format!(
                    "cluster {} is in account {account}, and the role in account {owner}: EKS looks clusters up in the role's own account, so annotate a role of account {account}",
                    self.name
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Where a cluster is.
struct Location {
    name: String,
    region: Region,
    account: Option<String>,
}

/// An ARN, or a plain name in the request's region.
fn located(name: &str, facts: &Facts, request: &Request) -> Result<Location, Error> {
    if !name.starts_with("arn:") {
        return plain(name, facts, request);
    }
    let arn = ClusterArn::read(name).filter(|arn| is_name(&arn.name));
    let arn = arn.ok_or_else(|| {
        Error::invalid_configuration(format!(
            "cluster '{}' must be arn:PARTITION:eks:REGION:ACCOUNT:cluster/NAME, with a region of that partition",
            name.escape_debug()
        ))
    })?;
    Ok(Location {
        name: arn.name,
        region: arn.region,
        account: Some(arn.account),
    })
}

fn plain(name: &str, facts: &Facts, request: &Request) -> Result<Location, Error> {
    if !is_name(name) {
        return Err(Error::invalid_configuration(format!(
            "cluster name '{}' must be letters, digits and signs, at most {MAX_NAME}, a letter or digit first",
            name.escape_debug()
        )));
    }
    Ok(Location {
        name: name.into(),
        region: terms::region(request, facts)?,
        account: None,
    })
}

/// Whether a text fits a header and a path, where `.` and `..` would lead elsewhere.
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

fn too_much() -> Error {
    Error::invalid_configuration(format!(
        "address and ca-certificate leave nothing for the cluster's ARN to look up: remove one of the three, or write parameter {CLUSTER_NAME} and region in place of the ARN"
    ))
}

fn named_twice() -> Error {
    Error::invalid_configuration(format!(
        "parameter {CLUSTER_NAME} has no effect beside the cluster's name: remove one of them"
    ))
}

fn nameless() -> Error {
    Error::invalid_configuration(format!(
        "address and ca-certificate do not name the cluster, and EKS accepts a token for one cluster name alone: set parameter {CLUSTER_NAME} and region"
    ))
}

fn too_little() -> Error {
    Error::invalid_configuration(
        "a cluster needs its name (an ARN, or a plain name with region), alone or with one of address and ca-certificate: set name",
    )
}

/// The one request for keys that a cluster needs.
///
/// # Errors
///
/// `invalid-configuration` if the reference is wrong, or the request's region of another
/// partition.
pub(crate) fn access(
    reference: &ClusterReference,
    facts: &Facts,
    request: &Request,
) -> Result<Vec<Request>, Error> {
    let cluster = Cluster::parse(reference, facts, request)?;
    Ok(vec![identity::access(request, &cluster.region)?])
}

/// What a client of the cluster needs.
///
/// # Errors
///
/// `invalid-configuration` if the reference is wrong, its address is not the cluster's, or its
/// account not that of the keys; `not-yet` while the cluster is being created; what [`fault`]
/// makes of AWS's refusals; `unavailable` if its answer is no cluster; `internal` if `access`
/// holds no keys or they make no token.
pub(crate) fn rest_config(
    reference: &ClusterReference,
    access: &[Credential],
    facts: &Facts,
    request: &Request,
    host: &dyn Host,
) -> Result<ClusterAccess, Error> {
    let cluster = Cluster::parse(reference, facts, request)?;
    let variant = Parameters::parse(request)?.variant;
    let [access] = access else {
        return Err(Error::internal("a cluster of EKS needs one credential"));
    };
    cluster.require_account(access)?;
    let (server, certificate_authority) = match (&cluster.address, &cluster.certificate_authority) {
        (Some(address), Some(authority)) => (address.clone(), authority.clone()),
        _ => describe(&cluster, variant, access, host)?.reach(&cluster)?,
    };
    let now = host.now();
    let bearer = token::token(keys(access)?, &cluster.name, &cluster.region, variant, now)?;
    let expiry = now + token::LIFETIME;
    Ok(ClusterAccess {
        server: server.to_string(),
        ca_certificate: Some(certificate_authority),
        material: Material::Bearer(bearer),
        expires_at: Some(access.expires_at.map_or(expiry, |keys| keys.min(expiry))),
    })
}

/// Asks EKS for the cluster.
fn describe(
    cluster: &Cluster,
    variant: Variant,
    access: &Credential,
    host: &dyn Host,
) -> Result<Description, Error> {
    let endpoint = Service::Eks.host(&cluster.region, variant);
    let signer = Signer {
        keys: keys(access)?,
        service: Service::Eks.signing_name(),
        region: &cluster.region,
        now: host.now(),
    };
    let name = utf8_percent_encode(&cluster.name, RESERVED);
    let request = signer.request(&Unsigned {
        method: "GET",
        url: &format!("https://{endpoint}/clusters/{name}"),
        headers: &[],
        body: b"",
    })?;
    let doing = format!("describing cluster {} at {endpoint}", cluster.name);
    let response = host.send(request)?;
    if response.status() != 200 {
        return Err(fault::classify(&doing, &response));
    }
    let answer: Answer = response.json()?;
    Ok(answer.cluster)
}

#[derive(Deserialize)]
struct Answer {
    cluster: Description,
}

/// What EKS says of a cluster.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    endpoint: Option<String>,
    certificate_authority: Option<CertificateAuthority>,
    status: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CertificateAuthority {
    data: Option<String>,
}

impl Description {
    /// The server and its certificate authority: the caller's, where given.
    fn reach(&self, cluster: &Cluster) -> Result<(HttpsAddress, String), Error> {
        let endpoint = self.endpoint.as_deref().filter(|text| !text.is_empty());
        let endpoint = endpoint.ok_or_else(|| self.unready(cluster, "endpoint"))?;
        let endpoint = HttpsAddress::parse("endpoint", endpoint).map_err(|_| {
            Error::unavailable(format!(
                "EKS answered an endpoint of cluster {} that is no address",
                cluster.name
            ))
        })?;
        if let Some(address) = cluster.address.as_ref().filter(|given| **given != endpoint) {
            return Err(Error::invalid_configuration(format!(
                "address '{address}' is not that of cluster {}, which is '{endpoint}': correct or remove it",
                cluster.name
            )));
        }
        match &cluster.certificate_authority {
            Some(authority) => Ok((endpoint, authority.clone())),
            None => Ok((endpoint, self.authority(cluster)?)),
        }
    }

    fn authority(&self, cluster: &Cluster) -> Result<String, Error> {
        let data = self
            .certificate_authority
            .as_ref()
            .and_then(|authority| authority.data.as_deref())
            .ok_or_else(|| self.unready(cluster, "certificate authority"))?;
        certificate_of_base64(data).ok_or_else(|| {
            Error::unavailable(format!(
                "EKS answered a certificate authority of cluster {} that is no PEM",
                cluster.name
            ))
        })
    }

    /// A cluster that is being created gets its endpoint last.
    fn unready(&self, cluster: &Cluster, what: &str) -> Error {
        match self.status.as_deref() {
            Some("CREATING" | "PENDING") => Error::not_yet(format!(
                "cluster {} has no {what} yet: it is being created",
                cluster.name
            )),
            _ => Error::unavailable(format!(
                "EKS answered no {what} of cluster {}",
                cluster.name
            )),
        }
    }
}

#[cfg(test)]
mod tests;
