//! AWS partitions: closed worlds of regions, with names of their own.

/// One partition. Suffixes and regions are those of the partition table that AWS ships with its
/// SDKs (`partitions.json` of botocore).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partition {
    Aws,
    China,
    UsGov,
    Iso,
    IsoB,
    IsoE,
    IsoF,
    EuSovereign,
}

impl Partition {
    pub(crate) const ALL: [Self; 8] = [
        Self::Aws,
        Self::China,
        Self::UsGov,
        Self::Iso,
        Self::IsoB,
        Self::IsoE,
        Self::IsoF,
        Self::EuSovereign,
    ];

    /// The partition of a region. A region that no partition claims may be younger than this
    /// table, and is taken to be of `aws`, as AWS's own SDKs do.
    pub(crate) fn of_region(region: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|partition| partition.claims(region))
            .unwrap_or(Self::Aws)
    }

    /// Whether a region is this prefix, a word and a number: `cn-` `north` `-1`.
    fn claims(self, region: &str) -> bool {
        let Some(rest) = self
            .region_prefix()
            .and_then(|prefix| region.strip_prefix(prefix))
        else {
            return false;
        };
        rest.split_once('-').is_some_and(|(word, number)| {
            !word.is_empty()
                && !number.is_empty()
                && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    }

    fn region_prefix(self) -> Option<&'static str> {
        match self {
            Self::Aws => None,
            Self::China => Some("cn-"),
            Self::UsGov => Some("us-gov-"),
            Self::Iso => Some("us-iso-"),
            Self::IsoB => Some("us-isob-"),
            Self::IsoE => Some("eu-isoe-"),
            Self::IsoF => Some("us-isof-"),
            Self::EuSovereign => Some("eusc-de-"),
        }
    }

    /// The partition of this name, as it stands in ARNs.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|partition| partition.name() == name)
    }

    /// The second part of every ARN.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::China => "aws-cn",
            Self::UsGov => "aws-us-gov",
            Self::Iso => "aws-iso",
            Self::IsoB => "aws-iso-b",
            Self::IsoE => "aws-iso-e",
            Self::IsoF => "aws-iso-f",
            Self::EuSovereign => "aws-eusc",
        }
    }

    /// The suffix of hosts that speak IPv4.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Aws | Self::UsGov => "amazonaws.com",
            Self::China => "amazonaws.com.cn",
            Self::Iso => "c2s.ic.gov",
            Self::IsoB => "sc2s.sgov.gov",
            Self::IsoE => "cloud.adc-e.uk",
            Self::IsoF => "csp.hci.ic.gov",
            Self::EuSovereign => "amazonaws.eu",
        }
    }

    /// The suffix of hosts that speak IPv4 and IPv6.
    pub(crate) fn dual_stack_suffix(self) -> &'static str {
        match self {
            Self::Aws | Self::UsGov => "api.aws",
            Self::China => "api.amazonwebservices.com.cn",
            Self::Iso => "api.aws.ic.gov",
            Self::IsoB => "api.aws.scloud",
            Self::IsoE => "api.cloud-aws.adc-e.uk",
            Self::IsoF => "api.aws.hci.ic.gov",
            Self::EuSovereign => "api.amazonwebservices.eu",
        }
    }

    /// The suffix of registries that speak IPv4 and IPv6, where AWS has announced one.
    pub(crate) fn dual_stack_registry_suffix(self) -> Option<&'static str> {
        match self {
            Self::Aws | Self::UsGov => Some("on.aws"),
            Self::China => Some("on.amazonwebservices.com.cn"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_belongs_to_one_partition() {
        for (region, partition) in [
            ("us-east-1", Partition::Aws),
            ("ap-southeast-7", Partition::Aws),
            ("cn-northwest-1", Partition::China),
            ("us-gov-east-1", Partition::UsGov),
            ("us-iso-west-1", Partition::Iso),
            ("us-isob-east-1", Partition::IsoB),
            ("eu-isoe-west-1", Partition::IsoE),
            ("us-isof-south-1", Partition::IsoF),
            ("eusc-de-east-1", Partition::EuSovereign),
            ("moon-north-1", Partition::Aws),
            ("cn-north", Partition::Aws),
            ("cn--1", Partition::Aws),
            ("cn-north-one", Partition::Aws),
        ] {
            assert_eq!(Partition::of_region(region), partition, "{region}");
        }
    }

    #[test]
    fn every_partition_is_found_by_its_name() {
        for partition in Partition::ALL {
            assert_eq!(Partition::named(partition.name()), Some(partition));
        }
        assert_eq!(Partition::named("aws-moon"), None);
    }
}
