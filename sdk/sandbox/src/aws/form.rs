//! Parameters of the query protocol and the checks that the service model puts on them.

use super::failure::Failure;
use crate::call::Call;

/// The parameters of one request, in the order sent.
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// The form of a POST, or the query of a GET.
    pub(crate) fn read(call: &Call) -> Self {
        let is_form = call.media_type() == "application/x-www-form-urlencoded";
        let body: &[u8] = if is_form { &call.body } else { b"" };
        let query = form_urlencoded::parse(call.query.as_bytes());
        let pairs = query.chain(form_urlencoded::parse(body));
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// `PREFIX.member.1SUFFIX`, `PREFIX.member.2SUFFIX`, … as far as they go without a gap.
    pub(crate) fn members<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        (1..).map_while(move |number| self.value(&format!("{prefix}.member.{number}{suffix}")))
    }
}

/// Collects what is wrong with a request's parameters; STS reports all of it at once.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    violations: Vec<String>,
}

/// The characters of session names and source identities: `[\w+=,.@-]*`.
pub(crate) fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_+=,.@-".contains(character)
}

/// The characters of external IDs: `[\w+=,.@:\/-]*`.
pub(crate) fn is_external_id_character(character: char) -> bool {
    is_name_character(character) || ":/".contains(character)
}

/// The characters of an inline policy.
pub(crate) fn is_policy_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{ff}')
}

impl Constraints {
    pub(crate) fn required(&mut self, field: &str, value: Option<&str>) {
        if value.is_none() {
            self.violate(format!(
                "Value null at '{field}' failed to satisfy constraint: Member must not be null"
            ));
        }
    }

    /// Lengths count characters; the value itself is not repeated, it may be a token.
    pub(crate) fn length(
        &mut self,
        field: &str,
        value: Option<&str>,
        shortest: usize,
        longest: usize,
    ) {
        let Some(length) = value.map(|value| value.chars().count()) else {
            return;
        };
        if length < shortest {
            self.bound(field, "length greater than or equal to", shortest);
        }
        if length > longest {
            self.bound(field, "length less than or equal to", longest);
        }
    }

    pub(crate) fn characters(
        &mut self,
        field: &str,
        value: Option<&str>,
        allowed: fn(char) -> bool,
        pattern: &str,
    ) {
        if value.is_some_and(|value| !value.chars().all(allowed)) {
            self.violate(format!(
                "Value at '{field}' failed to satisfy constraint: Member must satisfy regular expression pattern: {pattern}"
            ));
        }
    }

    /// A whole number within bounds, or the default.
    pub(crate) fn number(
        &mut self,
        field: &str,
        value: Option<&str>,
        least: i64,
        most: i64,
        default: i64,
    ) -> i64 {
        let Some(value) = value else { return default };
        match value.parse::<i64>() {
            Ok(number) if number < least => {
                self.bound(field, "value greater than or equal to", least);
            }
            Ok(number) if number > most => self.bound(field, "value less than or equal to", most),
            Ok(number) => return number,
            Err(_) => self.violate(format!(
                "Value at '{field}' failed to satisfy constraint: Member must be a whole number"
            )),
        }
        default
    }

    pub(crate) fn count(&mut self, field: &str, count: usize, most: usize) {
        if count > most {
            self.bound(field, "length less than or equal to", most);
        }
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        let count = self.violations.len();
        if count == 0 {
            return Ok(());
        }
        let noun = if count == 1 { "error" } else { "errors" };
        let all = self.violations.join("; ");
        Err(Failure::validation(format!(
            "{count} validation {noun} detected: {all}"
        )))
    }

    fn bound(&mut self, field: &str, rule: &str, bound: impl std::fmt::Display) {
        self.violate(format!(
            "Value at '{field}' failed to satisfy constraint: Member must have {rule} {bound}"
        ));
    }

    fn violate(&mut self, violation: String) {
        self.violations.push(violation);
    }
}
