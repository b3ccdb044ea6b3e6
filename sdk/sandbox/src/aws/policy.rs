//! Session policies: their size and their syntax, for STS packs them into the session.

use serde_json::Value;

use super::failure::Failure;
use super::form::{Constraints, Form, is_policy_character};
use crate::json::at;

/// Inline and managed policies together, in characters of plain text.
const MAXIMUM_CHARACTERS: usize = 2_048;
/// Managed policies per session.
const MAXIMUM_MANAGED: usize = 10;

/// The policies of a request.
#[derive(Debug)]
pub(crate) struct SessionPolicy {
    inline: Option<String>,
    managed: Vec<String>,
}

impl SessionPolicy {
    pub(crate) fn read(form: &Form, constraints: &mut Constraints) -> Self {
        let inline = form.value("Policy");
        constraints.length("policy", inline, 1, MAXIMUM_CHARACTERS);
        let pattern = "[\\u0009\\u000A\\u000D\\u0020-\\u00FF]+";
        constraints.characters("policy", inline, is_policy_character, pattern);
        let managed: Vec<String> = form
            .members("PolicyArns", ".arn")
            .map(str::to_owned)
            .collect();
        constraints.count("policyArns", managed.len(), MAXIMUM_MANAGED);
        for arn in &managed {
            constraints.length("policyArns.member.arn", Some(arn), 20, 2_048);
        }
        Self {
            inline: inline.map(str::to_owned),
            managed,
        }
    }

    /// Percent of the packed size that is used; none without policies.
    ///
    /// The packing itself is AWS's own; here the plain size stands for it.
    pub(crate) fn packed_percent(&self) -> Result<Option<i64>, Failure> {
        self.check_syntax()?;
        let inline = self
            .inline
            .as_ref()
            .map_or(0, |policy| policy.chars().count());
        let characters = inline
            + self
                .managed
                .iter()
                .map(|arn| arn.chars().count())
                .sum::<usize>();
        if characters == 0 {
            return Ok(None);
        }
        let percent =
            i64::try_from((characters * 100).div_ceil(MAXIMUM_CHARACTERS)).unwrap_or(i64::MAX);
        if characters > MAXIMUM_CHARACTERS {
            let message = format!(
                "Packed policy consumes {percent}% of allotted space, please use smaller policy."
            );
            return Err(Failure::new(400, "PackedPolicyTooLarge", message));
        }
        Ok(Some(percent))
    }

    fn check_syntax(&self) -> Result<(), Failure> {
        let Some(inline) = &self.inline else {
            return Ok(());
        };
        let malformed = |message: &str| Failure::new(400, "MalformedPolicyDocument", message);
        let policy: Value = serde_json::from_str(inline)
            .map_err(|_| malformed("This policy contains invalid Json"))?;
        let statement = at(&policy, &["Statement"]);
        if policy.is_object() && (statement.is_array() || statement.is_object()) {
            return Ok(());
        }
        Err(malformed("Syntax errors in policy."))
    }
}
