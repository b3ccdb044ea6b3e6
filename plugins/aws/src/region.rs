//! Regions, as they become labels of host names.

use crate::partition::Partition;
use gatepass_sdk::Error;

/// Longest label of a host name (RFC 1035 §2.3.4).
const MAX_LABEL: usize = 63;

/// A region whose name is safe as one label of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    name: String,
    partition: Partition,
}

impl Region {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is not one lower-case host label, or one of the names, such
    /// as `aws-global`, by which SDKs mean no region at all.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' is not the name of an AWS region: write it as in us-east-1",
                text.escape_debug()
            ))
        })
    }

    /// Reads a region; `None` if it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let fits = (1..=MAX_LABEL).contains(&text.len())
            && !text.starts_with('-')
            && !text.ends_with('-')
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        (fits && !text.starts_with("aws-")).then(|| Self {
            name: text.into(),
            partition: Partition::of_region(text),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn partition(&self) -> Partition {
        self.partition
    }
}

impl std::fmt::Display for Region {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_one_label_of_a_host() {
        for text in ["us-east-1", "cn-north-1", "x"] {
            assert_eq!(Region::parse("region", text).unwrap().name(), text);
        }
        for text in [
            "",
            "us-east-1.evil.example",
            "us-east-1/",
            "us-east-1@evil",
            "US-EAST-1",
            "-us",
            "us-",
            "us_east",
            "us east",
            "us-east-1\n",
            "é",
            "*",
            "aws-global",
            &"a".repeat(64),
        ] {
            assert!(Region::parse("region", text).is_err(), "{text}");
        }
    }
}
