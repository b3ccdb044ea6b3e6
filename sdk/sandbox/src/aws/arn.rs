//! Amazon Resource Names: `arn:partition:service:region:account:resource`.

use std::fmt;

use super::partition;

/// Why a name or address given to [`super::Aws`] is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct AwsError {
    value: String,
    expected: &'static str,
}

impl AwsError {
    pub(crate) fn new(value: &str, expected: &'static str) -> Self {
        Self {
            value: value.to_owned(),
            expected,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arn {
    pub(crate) partition: String,
    pub(crate) service: String,
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) resource: String,
}

impl Arn {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(6, ':');
        let mut next = || parts.next().map(str::to_owned);
        let prefix = next()?;
        let arn = Self {
            partition: next()?,
            service: next()?,
            region: next()?,
            account: next()?,
            resource: next()?,
        };
        let known = partition::ALL
            .iter()
            .any(|partition| partition.name == arn.partition);
        let account =
            arn.account.len() == 12 && arn.account.bytes().all(|byte| byte.is_ascii_digit());
        (prefix == "arn" && known && account && !arn.resource.is_empty()).then_some(arn)
    }

    /// An IAM entity: `role/path/name` or `user/path/name`.
    pub(crate) fn of_iam(text: &str, kind: &str) -> Option<Self> {
        let arn = Self::parse(text)?;
        let name = arn.resource.strip_prefix(kind)?.strip_prefix('/')?;
        let fits = arn.service == "iam"
            && arn.region.is_empty()
            && !name.is_empty()
            && !name.ends_with('/');
        fits.then_some(arn)
    }

    /// The last part of the resource: a role's name without its path.
    pub(crate) fn name(&self) -> &str {
        self.resource.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Arn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            partition,
            service,
            region,
            account,
            resource,
        } = self;
        write!(
            formatter,
            "arn:{partition}:{service}:{region}:{account}:{resource}"
        )
    }
}
