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
    /// `invalid-configuration` if it has not the form of a region's name.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' is not the name of an AWS region: write it as in us-east-1",
                text.escape_debug()
            ))
        })
    }

    /// Reads a region; `None` if it is none: `s3` is none, and `sts.s3.amazonaws.com` would be
    /// somebody's bucket; nor is `aws-global`, by which SDKs mean no region at all.
    pub(crate) fn read(text: &str) -> Option<Self> {
        (text.len() <= MAX_LABEL && is_name(text)).then(|| Self {
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

/// Whether a text is words of letters, at least two, and a number: `us-gov-west-1`. All regions in
/// the partition table of AWS's SDKs are (`regionRegex` in `partitions.json` of botocore).
fn is_name(text: &str) -> bool {
    let letters = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase());
    let Some((words, number)) = text.rsplit_once('-') else {
        return false;
    };
    let digits = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    digits && words.contains('-') && words.split('-').all(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_words_and_a_number() {
        for text in [
            "us-east-1",
            "ap-southeast-7",
            "me-central-1",
            "mx-central-1",
            "cn-northwest-1",
            "us-gov-west-1",
            "us-iso-east-1",
            "us-isob-east-1",
            "eu-isoe-west-1",
            "us-isof-south-1",
            "eusc-de-east-1",
            "moon-north-12",
        ] {
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
            "aws-cn-global",
            "aws-us-gov-global",
            "s3",
            "s3-us-west-2",
            "s3-external-1",
            "s3-website-us-east-1",
            "s3-1",
            "us",
            "us-1",
            "us-east",
            "us-east-",
            "us-east-1a",
            "us-east-a1",
            "us-east--1",
            "us--east-1",
            "-us-east-1",
            "us-e4st-1",
            "us-east-1-",
            "us-east-1-1",
            "us-east-\u{661}",
            "1-2-3",
            "--1",
            &"a".repeat(64),
            &format!("us-{}-1", "a".repeat(59)),
        ] {
            assert!(Region::parse("region", text).is_err(), "{text}");
        }
    }
}
