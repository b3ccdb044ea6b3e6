//! Amazon Resource Names: of roles, of sessions, of policies and of clusters.

use crate::partition::Partition;
use crate::region::Region;
use gatepass_sdk::Error;
use std::ops::RangeInclusive;

/// Lengths of a role's or a policy's ARN (STS `AssumeRoleWithWebIdentity`, `arnType`).
const ARN_LENGTH: RangeInclusive<usize> = 20..=2048;

/// Longest path and name of a role or policy, and longest name of a cluster, that controllers
/// already in the field accept.
const MAX_NAME: usize = 200;

/// Longest account number. AWS's have 12 digits; those of emulators and of controllers already
/// in the field are not held to that.
const MAX_ACCOUNT: usize = 30;

/// `arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE`.
struct Parts<'a> {
    partition: Partition,
    service: &'a str,
    region: &'a str,
    account: &'a str,
    resource: &'a str,
}

impl<'a> Parts<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        if parts.next()? != "arn" {
            return None;
        }
        Some(Self {
            partition: Partition::named(parts.next()?)?,
            service: parts.next()?,
            region: parts.next()?,
            account: parts.next()?,
            resource: parts.next()?,
        })
    }

    /// The name after `kind/`, for a resource of a service without regions.
    fn global(&self, service: &str, kind: &str) -> Option<&'a str> {
        let matches = self.service == service && self.region.is_empty();
        let name = self.resource.strip_prefix(kind)?.strip_prefix('/')?;
        (matches && is_name(name)).then_some(name)
    }
}

/// Whether every character is one that IAM allows in paths and names (U+0021 to U+007E).
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text is an account number.
pub(crate) fn is_account(text: &str) -> bool {
    (1..=MAX_ACCOUNT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The ARN of an IAM role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoleArn {
    text: String,
    partition: Partition,
    account: String,
}

impl RoleArn {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the form.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be the ARN of a role, arn:PARTITION:iam::ACCOUNT:role/NAME",
                text.escape_debug()
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let parts = Parts::read(text).filter(|_| ARN_LENGTH.contains(&text.len()))?;
        parts.global("iam", "role")?;
        is_account(parts.account).then(|| Self {
            text: text.into(),
            partition: parts.partition,
            account: parts.account.into(),
        })
    }

    /// Whether an ARN is that of a session of this role's account, or of the role itself: services
    /// beside AWS that speak its protocol name the role.
    pub(crate) fn has_session(&self, arn: &str) -> bool {
        let of_the_account = |parts: Parts<'_>| {
            parts.global("sts", "assumed-role").is_some()
                && parts.partition == self.partition
                && parts.account == self.account
        };
        arn == self.text || Parts::read(arn).is_some_and(of_the_account)
    }

    pub(crate) fn partition(&self) -> Partition {
        self.partition
    }

    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for RoleArn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

/// The ARN of a policy of AWS or of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyArn {
    text: String,
    partition: Partition,
}

impl PolicyArn {
    /// Reads an ARN; `None` if it is not that of a policy.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let parts = Parts::read(text).filter(|_| ARN_LENGTH.contains(&text.len()))?;
        parts.global("iam", "policy")?;
        (parts.account == "aws" || is_account(parts.account)).then(|| Self {
            text: text.into(),
            partition: parts.partition,
        })
    }

    pub(crate) fn partition(&self) -> Partition {
        self.partition
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// The ARN of an EKS cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterArn {
    pub(crate) region: Region,
    pub(crate) account: String,
    /// Not yet checked to be a cluster's name.
    pub(crate) name: String,
}

impl ClusterArn {
    /// Reads an ARN; `None` if it is not that of a cluster, or its region is not of its partition.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let parts = Parts::read(text).filter(|parts| parts.service == "eks")?;
        let region = Region::read(parts.region)?;
        let consistent = region.partition() == parts.partition && is_account(parts.account);
        let name = parts.resource.strip_prefix("cluster/")?.to_owned();
        consistent.then(|| Self {
            region,
            account: parts.account.into(),
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roles_arn_says_its_partition_and_account() {
        for (text, partition, account) in [
            (
                "arn:aws:iam::123456789012:role/app",
                Partition::Aws,
                "123456789012",
            ),
            (
                "arn:aws-cn:iam::123456789012:role/team/a/app",
                Partition::China,
                "123456789012",
            ),
            ("arn:aws-us-gov:iam::1:role/a", Partition::UsGov, "1"),
            (
                "arn:aws-eusc:iam::123456789012:role/x=y,z.@-",
                Partition::EuSovereign,
                "123456789012",
            ),
        ] {
            let role = RoleArn::parse("role", text).unwrap();
            assert_eq!(role.partition(), partition, "{text}");
            assert_eq!(role.account(), account, "{text}");
            assert_eq!(role.as_str(), text);
        }
    }

    #[test]
    fn what_is_no_roles_arn_is_refused() {
        let long_account = format!("arn:aws:iam::{}:role/app", "1".repeat(31));
        let long_name = format!("arn:aws:iam::123456789012:role/{}", "a".repeat(201));
        for text in [
            "",
            "app",
            "arn:aws:iam::123456789012:role/",
            "arn:aws:iam::123456789012:role",
            "arn:aws:iam::123456789012:user/app",
            "arn:aws:iam:us-east-1:123456789012:role/app",
            "arn:aws:sts::123456789012:role/app",
            "arn:aws:iam::12345678901x:role/app",
            "arn:aws:iam:::role/app",
            "arn:aws:iam::aws:role/app",
            "arn:aws-moon:iam::123456789012:role/app",
            "arn:azure:iam::123456789012:role/app",
            " arn:aws:iam::123456789012:role/app",
            "arn:aws:iam::123456789012:role/app ",
            "arn:aws:iam::123456789012:role/a\nb",
            "arn:aws:iam::123456789012:role/é",
            "xarn:aws:iam::123456789012:role/app",
            &long_account,
            &long_name,
        ] {
            let error = RoleArn::parse("role", text).unwrap_err();
            assert!(!error.message().contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_session_belongs_to_the_roles_account() {
        let role = RoleArn::parse("role", "arn:aws:iam::123456789012:role/app").unwrap();
        for (arn, belongs) in [
            ("arn:aws:sts::123456789012:assumed-role/app/session", true),
            ("arn:aws:sts::999999999999:assumed-role/app/session", false),
            (
                "arn:aws-cn:sts::123456789012:assumed-role/app/session",
                false,
            ),
            (
                "arn:aws:sts::123456789012:assumed-role/app/\u{1b}[2J",
                false,
            ),
            ("arn:aws:iam::123456789012:role/app", true),
            ("arn:aws:iam::123456789012:role/other", false),
            ("", false),
        ] {
            assert_eq!(role.has_session(arn), belongs, "{arn}");
        }
    }

    #[test]
    fn a_policy_is_of_aws_or_of_an_account() {
        for text in [
            "arn:aws:iam::aws:policy/ReadOnlyAccess",
            "arn:aws-cn:iam::123456789012:policy/a/b",
        ] {
            assert_eq!(PolicyArn::read(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "arn:aws:iam::aws:role/x",
            "arn:aws:iam::bws:policy/x",
            "arn:aws:iam::aws:policy/",
            "arn:aws:s3::aws:policy/x",
        ] {
            assert_eq!(PolicyArn::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_clusters_arn_says_where_it_is() {
        let arn = ClusterArn::read("arn:aws:eks:eu-west-1:123456789012:cluster/prod").unwrap();
        assert_eq!(arn.region.name(), "eu-west-1");
        assert_eq!(
            (arn.account.as_str(), arn.name.as_str()),
            ("123456789012", "prod")
        );
        for text in [
            "prod",
            "arn:aws:eks::123456789012:cluster/prod",
            "arn:aws:eks:eu-west-1:123456789012:nodegroup/prod",
            "arn:aws:ecs:eu-west-1:123456789012:cluster/prod",
            "arn:aws:eks:cn-north-1:123456789012:cluster/prod",
            "arn:aws-cn:eks:eu-west-1:123456789012:cluster/prod",
            "arn:aws:eks:evil.example/:123456789012:cluster/prod",
            "arn:aws:eks:s3:123456789012:cluster/prod",
            "arn:aws:eks:s3-us-west-2:123456789012:cluster/prod",
        ] {
            assert_eq!(ClusterArn::read(text), None, "{text}");
        }
    }
}
