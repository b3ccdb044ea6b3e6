//! The fields of a request to STS, in its query protocol.

use super::Assumption;
use gatepass_sdk::egress::RequestBuilder;

/// The version of the query protocol of STS.
pub(crate) const STS_VERSION: &str = "2011-06-15";

/// Names and values, in their order.
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Begins an operation.
    pub(super) fn of(action: &str) -> Self {
        Self(Vec::new())
            .add("Action", action)
            .add("Version", STS_VERSION)
    }

    pub(super) fn add(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.push((name.into(), value.into()));
        self
    }

    pub(super) fn optional(self, name: &str, value: Option<impl Into<String>>) -> Self {
        match value {
            None => self,
            Some(value) => self.add(name, value),
        }
    }

    /// A list, numbered from one: `PREFIX.member.1SUFFIX`.
    pub(super) fn list<'a>(
        self,
        prefix: &str,
        suffix: &str,
        values: impl Iterator<Item = &'a str>,
    ) -> Self {
        values.enumerate().fold(self, |fields, (index, value)| {
            fields.add(format!("{prefix}.member.{}{suffix}", index + 1), value)
        })
    }

    /// What both ways to assume a role take.
    pub(super) fn session(self, assumption: &Assumption<'_>) -> Self {
        let policies = assumption.policy_arns.iter().map(|arn| arn.as_str());
        self.add("RoleArn", assumption.role.as_str())
            .add("RoleSessionName", assumption.session_name.as_str())
            .list("PolicyArns", ".arn", policies)
            .optional("Policy", assumption.policy)
            .optional(
                "DurationSeconds",
                assumption
                    .duration_seconds
                    .map(|seconds| seconds.to_string()),
            )
    }

    /// As a form, to which a token can be added.
    pub(super) fn form(&self, builder: RequestBuilder) -> RequestBuilder {
        self.0
            .iter()
            .fold(builder, |builder, (name, value)| builder.form(name, value))
    }

    /// As the bytes of a form, which can be signed.
    pub(super) fn encode(&self) -> String {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&self.0)
            .finish()
    }
}
