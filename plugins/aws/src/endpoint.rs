//! Hosts of the AWS services that this provider calls.

use crate::partition::Partition;
use crate::region::Region;
use gatepass_sdk::{Error, HttpsAddress};
use std::collections::BTreeSet;

/// The one region of ECR Public.
pub(crate) const PUBLIC_REGION: &str = "us-east-1";

/// The token service's host before there were regional ones.
const GLOBAL_STS: &str = "sts.amazonaws.com";

/// The region for which requests to it are signed.
const GLOBAL_STS_REGION: &str = "us-east-1";

/// A service that this provider calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Sts,
    Ecr,
    EcrPublic,
    Eks,
}

/// Which of a service's hosts is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Cryptography validated by FIPS 140.
    pub(crate) fips: bool,
    /// IPv6 beside IPv4.
    pub(crate) dual_stack: bool,
}

impl Variant {
    /// What either asks for.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            fips: self.fips || other.fips,
            dual_stack: self.dual_stack || other.dual_stack,
        }
    }
}

impl Service {
    /// The host in a region.
    pub(crate) fn host(self, region: &Region, variant: Variant) -> String {
        self.host_of(region.name(), region.partition(), variant)
    }

    /// The name in the scope of a signature.
    pub(crate) fn signing_name(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::Ecr => "ecr",
            Self::EcrPublic => "ecr-public",
            Self::Eks => "eks",
        }
    }

    fn host_of(self, region: &str, partition: Partition, variant: Variant) -> String {
        let suffix = match variant.dual_stack {
            true => partition.dual_stack_suffix(),
            false => partition.suffix(),
        };
        let prefix = self.prefix(partition, variant);
        format!("{prefix}.{region}.{suffix}")
    }

    /// What stands before the region. The irregular rows are those of the endpoint rule sets
    /// that AWS ships with its SDKs.
    fn prefix(self, partition: Partition, variant: Variant) -> &'static str {
        match (self, variant.fips, variant.dual_stack, partition) {
            (Self::Sts, true, false, Partition::UsGov) => "sts",
            (Self::Sts, true, ..) => "sts-fips",
            (Self::Sts, false, ..) => "sts",
            (Self::Ecr, false, false, _) => "api.ecr",
            (Self::Ecr, false, true, _) => "ecr",
            (Self::Ecr, true, false, _) => "api.ecr-fips",
            (Self::Ecr, true, true, _) => "ecr-fips",
            (Self::EcrPublic, false, true, Partition::Aws) => "ecr-public",
            (Self::EcrPublic, false, ..) => "api.ecr-public",
            (Self::EcrPublic, true, ..) => "api.ecr-public-fips",
            (Self::Eks, true, false, Partition::Aws) => "fips.eks",
            (Self::Eks, true, false, Partition::UsGov) => "eks",
            (Self::Eks, true, ..) => "eks-fips",
            (Self::Eks, false, ..) => "eks",
        }
    }
}

/// The token service's host: `endpoint` in place of the usual one, if there is one.
///
/// An `endpoint` is a host of the token service in the request's own region: the answer to a
/// request elsewhere would be keys of another region's service, under a cache key that names
/// this one. So neither a token nor keys go anywhere but to AWS, whatever the operator grants.
///
/// # Errors
///
/// `invalid-configuration` naming the endpoint and what it may be.
pub(crate) fn sts_host(
    region: &Region,
    variant: Variant,
    endpoint: Option<&str>,
) -> Result<String, Error> {
    let usual = Service::Sts.host(region, variant);
    let Some(endpoint) = endpoint else {
        return Ok(usual);
    };
    let address = HttpsAddress::parse("endpoint", endpoint)?;
    let host = address.host();
    if address.port().is_some() || !is_sts_host(host, region) {
        return Err(Error::invalid_configuration(format!(
            "endpoint '{address}' is not the STS of region {region}: remove it, or use https://{usual} or a VPC endpoint of {region}"
        )));
    }
    if variant.fips && !is_fips_host(host, region) {
        return Err(Error::invalid_configuration(format!(
            "endpoint '{address}' is not a FIPS endpoint, which parameter fips asks for: change one of them"
        )));
    }
    Ok(host.into())
}

/// The region in the scope of a signature for a host of the token service: the host without a
/// region takes that of its partition's first one (botocore, `aws-global`).
pub(crate) fn sts_signing_region(host: &str, region: &Region) -> Region {
    let global = (host == GLOBAL_STS).then(|| Region::read(GLOBAL_STS_REGION));
    global.flatten().unwrap_or_else(|| region.clone())
}

fn is_sts_host(host: &str, region: &Region) -> bool {
    let partition = region.partition();
    let global = partition == Partition::Aws && host == GLOBAL_STS;
    global
        || ["sts", "sts-fips"].iter().any(|service| {
            let regional = format!("{service}.{region}.");
            host.strip_prefix(&regional).is_some_and(|suffix| {
                suffix == partition.suffix() || suffix == partition.dual_stack_suffix()
            }) || is_vpc_endpoint(host, &regional, partition)
        })
}

/// `vpce-ID.sts.REGION.vpce.SUFFIX`: one label, then the service's.
fn is_vpc_endpoint(host: &str, regional: &str, partition: Partition) -> bool {
    host.split_once('.').is_some_and(|(id, rest)| {
        id.starts_with("vpce-") && rest == format!("{regional}vpce.{}", partition.suffix())
    })
}

fn is_fips_host(host: &str, region: &Region) -> bool {
    let fips = Variant {
        fips: true,
        dual_stack: false,
    };
    host.split('.').take(2).any(|label| label == "sts-fips")
        || host == Service::Sts.host(region, fips)
}

/// Patterns for every host that this provider can call, in every partition.
pub(crate) fn wishes() -> Vec<String> {
    let mut hosts = BTreeSet::from([GLOBAL_STS.to_owned()]);
    for partition in Partition::ALL {
        for service in ["sts", "sts-fips"] {
            hosts.insert(format!("*.{service}.*.vpce.{}", partition.suffix()));
        }
        for service in [Service::Sts, Service::Ecr, Service::Eks] {
            hosts.extend(variants().map(|variant| service.host_of("*", partition, variant)));
        }
    }
    hosts.extend(
        variants()
            .map(|variant| Service::EcrPublic.host_of(PUBLIC_REGION, Partition::Aws, variant)),
    );
    hosts
        .into_iter()
        .map(|host| format!("https://{host}"))
        .collect()
}

fn variants() -> impl Iterator<Item = Variant> {
    [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .map(|(fips, dual_stack)| Variant { fips, dual_stack })
}

#[cfg(test)]
mod tests;
