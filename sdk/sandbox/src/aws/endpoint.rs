//! Which service, region and partition a host name stands for.
//!
//! The names are those of the vendor's endpoint rules: plain, FIPS and dual-stack per partition.

use super::partition::{ALL, Partition};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Sts,
    Ecr,
    EcrPublic,
    Eks,
}

impl Service {
    /// The name in a signature's credential scope.
    pub(crate) fn signing_name(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::Ecr => "ecr",
            Self::EcrPublic => "ecr-public",
            Self::Eks => "eks",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) service: Service,
    /// The region whose name a signature must carry.
    pub(crate) region: String,
    pub(crate) partition: &'static Partition,
    /// An interface endpoint inside a VPC.
    pub(crate) is_private_link: bool,
}

impl Endpoint {
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        if host == "sts.amazonaws.com" {
            // The global endpoint is the one of us-east-1.
            return Some(Self::new(
                Service::Sts,
                "us-east-1",
                Partition::of_region("us-east-1")?,
            ));
        }
        ALL.iter()
            .find_map(|partition| Self::in_partition(host, partition))
    }

    fn in_partition(host: &str, partition: &'static Partition) -> Option<Self> {
        // Dual-stack first: a suffix of one kind may end in one of the other.
        let dual = strip(host, partition.dual_stack_suffix).map(|labels| (labels, true));
        let (labels, dual_stack) =
            dual.or_else(|| strip(host, partition.dns_suffix).map(|labels| (labels, false)))?;
        let labels: Vec<&str> = labels.split('.').collect();
        let (service, region, is_private_link) = match (labels.as_slice(), dual_stack) {
            ([name, "sts", region, "vpce"], false) if name.starts_with("vpce-") => {
                (Service::Sts, *region, true)
            }
            ([name, region], true) => (dual_stack_service(name)?, *region, false),
            ([first, second, region], false) => {
                (three_labels(first, second, partition)?, *region, false)
            }
            ([name, region], false) => (two_labels(name, partition)?, *region, false),
            _ => return None,
        };
        let exists = partition.has_region(region)
            && (service != Service::EcrPublic || region == "us-east-1");
        let endpoint = Self::new(service, region, partition);
        exists.then_some(Self {
            is_private_link,
            ..endpoint
        })
    }

    fn new(service: Service, region: &str, partition: &'static Partition) -> Self {
        Self {
            service,
            region: region.to_owned(),
            partition,
            is_private_link: false,
        }
    }
}

fn strip<'a>(host: &'a str, suffix: &str) -> Option<&'a str> {
    host.strip_suffix(suffix)?.strip_suffix('.')
}

fn dual_stack_service(name: &str) -> Option<Service> {
    match name {
        "sts" | "sts-fips" => Some(Service::Sts),
        "ecr" | "ecr-fips" => Some(Service::Ecr),
        "ecr-public" => Some(Service::EcrPublic),
        "eks" | "eks-fips" => Some(Service::Eks),
        _ => None,
    }
}

fn three_labels(first: &str, second: &str, partition: &Partition) -> Option<Service> {
    match (first, second) {
        ("api", "ecr" | "ecr-fips") => Some(Service::Ecr),
        ("api", "ecr-public" | "ecr-public-fips") => Some(Service::EcrPublic),
        // The one partition that puts FIPS in front.
        ("fips", "eks") if partition.name == "aws" => Some(Service::Eks),
        _ => None,
    }
}

fn two_labels(name: &str, partition: &Partition) -> Option<Service> {
    // GovCloud's plain hosts are FIPS hosts already, and have no second name.
    let has_fips_name = partition.name != "aws-us-gov";
    match name {
        "sts" => Some(Service::Sts),
        "sts-fips" if has_fips_name => Some(Service::Sts),
        "eks" => Some(Service::Eks),
        "eks-fips" if has_fips_name && partition.name != "aws" => Some(Service::Eks),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_decides_service_region_and_partition() {
        for (host, expected) in [
            (
                "sts.us-east-1.amazonaws.com",
                Some((Service::Sts, "us-east-1", "aws")),
            ),
            (
                "sts.amazonaws.com",
                Some((Service::Sts, "us-east-1", "aws")),
            ),
            (
                "sts-fips.us-west-2.amazonaws.com",
                Some((Service::Sts, "us-west-2", "aws")),
            ),
            (
                "sts.eu-west-1.api.aws",
                Some((Service::Sts, "eu-west-1", "aws")),
            ),
            (
                "sts.cn-north-1.amazonaws.com.cn",
                Some((Service::Sts, "cn-north-1", "aws-cn")),
            ),
            (
                "sts.us-gov-west-1.amazonaws.com",
                Some((Service::Sts, "us-gov-west-1", "aws-us-gov")),
            ),
            ("sts-fips.us-gov-west-1.amazonaws.com", None),
            (
                "sts-fips.us-gov-west-1.api.aws",
                Some((Service::Sts, "us-gov-west-1", "aws-us-gov")),
            ),
            (
                "sts.eusc-de-east-1.amazonaws.eu",
                Some((Service::Sts, "eusc-de-east-1", "aws-eusc")),
            ),
            (
                "sts.us-isob-east-1.sc2s.sgov.gov",
                Some((Service::Sts, "us-isob-east-1", "aws-iso-b")),
            ),
            (
                "sts.us-isof-south-1.api.aws.hci.ic.gov",
                Some((Service::Sts, "us-isof-south-1", "aws-iso-f")),
            ),
            (
                "api.ecr.us-east-1.amazonaws.com",
                Some((Service::Ecr, "us-east-1", "aws")),
            ),
            (
                "ecr.us-east-1.api.aws",
                Some((Service::Ecr, "us-east-1", "aws")),
            ),
            (
                "api.ecr-public.us-east-1.amazonaws.com",
                Some((Service::EcrPublic, "us-east-1", "aws")),
            ),
            ("api.ecr-public.eu-west-1.amazonaws.com", None),
            (
                "fips.eks.us-east-1.amazonaws.com",
                Some((Service::Eks, "us-east-1", "aws")),
            ),
            ("eks-fips.us-east-1.amazonaws.com", None),
            (
                "eks-fips.cn-north-1.amazonaws.com.cn",
                Some((Service::Eks, "cn-north-1", "aws-cn")),
            ),
            ("sts.cn-north-1.amazonaws.com", None),
            ("sts.nowhere.amazonaws.com", None),
            ("s3.us-east-1.amazonaws.com", None),
            ("evilsts.us-east-1.amazonaws.com", None),
            ("example.com", None),
        ] {
            let found = Endpoint::of_host(host);
            let found = found
                .as_ref()
                .map(|found| (found.service, found.region.as_str(), found.partition.name));
            assert_eq!(found, expected, "{host}");
        }
    }

    #[test]
    fn a_private_link_host_is_known_as_one() {
        let endpoint = Endpoint::of_host("vpce-0a1b.sts.us-east-1.vpce.amazonaws.com").unwrap();
        assert!(endpoint.is_private_link);
    }
}
