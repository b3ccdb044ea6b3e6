//! AWS partitions: which DNS suffixes and regions belong together (the vendor's `partitions.json`).

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// As in `arn:PARTITION:`.
    pub(crate) name: &'static str,
    pub(crate) dns_suffix: &'static str,
    pub(crate) dual_stack_suffix: &'static str,
    region_prefixes: &'static [&'static str],
}

pub(crate) static ALL: [Partition; 8] = [
    Partition {
        name: "aws",
        dns_suffix: "amazonaws.com",
        dual_stack_suffix: "api.aws",
        region_prefixes: &["us", "eu", "ap", "sa", "ca", "me", "af", "il", "mx"],
    },
    Partition {
        name: "aws-cn",
        dns_suffix: "amazonaws.com.cn",
        dual_stack_suffix: "api.amazonwebservices.com.cn",
        region_prefixes: &["cn"],
    },
    Partition {
        name: "aws-us-gov",
        dns_suffix: "amazonaws.com",
        dual_stack_suffix: "api.aws",
        region_prefixes: &["us-gov"],
    },
    Partition {
        name: "aws-iso",
        dns_suffix: "c2s.ic.gov",
        dual_stack_suffix: "api.aws.ic.gov",
        region_prefixes: &["us-iso"],
    },
    Partition {
        name: "aws-iso-b",
        dns_suffix: "sc2s.sgov.gov",
        dual_stack_suffix: "api.aws.scloud",
        region_prefixes: &["us-isob"],
    },
    Partition {
        name: "aws-iso-e",
        dns_suffix: "cloud.adc-e.uk",
        dual_stack_suffix: "api.cloud-aws.adc-e.uk",
        region_prefixes: &["eu-isoe"],
    },
    Partition {
        name: "aws-iso-f",
        dns_suffix: "csp.hci.ic.gov",
        dual_stack_suffix: "api.aws.hci.ic.gov",
        region_prefixes: &["us-isof"],
    },
    Partition {
        name: "aws-eusc",
        dns_suffix: "amazonaws.eu",
        dual_stack_suffix: "api.amazonwebservices.eu",
        region_prefixes: &["eusc-de"],
    },
];

impl Partition {
    /// Whether a region is one of this partition: prefix, word, number.
    pub(crate) fn has_region(&self, region: &str) -> bool {
        self.region_prefixes.iter().any(|prefix| {
            let rest = region
                .strip_prefix(prefix)
                .and_then(|rest| rest.strip_prefix('-'));
            rest.and_then(|rest| rest.split_once('-'))
                .is_some_and(|(word, number)| {
                    is_word(word)
                        && !number.is_empty()
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                })
        })
    }

    pub(crate) fn of_region(region: &str) -> Option<&'static Self> {
        ALL.iter().find(|partition| partition.has_region(region))
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
