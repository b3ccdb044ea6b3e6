//! The parameters of a link of a chain: which role to assume with the keys before, and how.

use super::tag::{self, Tag};
use crate::arn::RoleArn;
use crate::session_name::SessionName;
use gatepass_sdk::{Error, Parameters};
use std::ops::RangeInclusive;

/// The parameter that makes a request a link.
pub(crate) const ROLE_ARN: &str = "role-arn";

const EXTERNAL_ID: &str = "external-id";
const SESSION_NAME: &str = "session-name";
const SOURCE_IDENTITY: &str = "source-identity";
const TAGS: &str = "tags";
const TRANSITIVE_TAGS: &str = "transitive-tags";

/// Lengths of an external ID (STS `ExternalId`).
const EXTERNAL_ID_LENGTH: RangeInclusive<usize> = 2..=1_224;

/// A role to assume, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) role: RoleArn,
    pub(crate) external_id: Option<String>,
    pub(crate) session_name: Option<SessionName>,
    pub(crate) source_identity: Option<SessionName>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) transitive_tags: Vec<String>,
}

impl Link {
    /// Takes the parameters of a link; `None` if there are none.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if one breaks its rule, or stands without `role-arn`.
    pub(super) fn take(parameters: &mut Parameters<'_>) -> Result<Option<Self>, Error> {
        let Some(role) = parameters.take(ROLE_ARN) else {
            return require_none(parameters);
        };
        let tags = parameters.take(TAGS).map(tag::tags).transpose()?;
        let tags = tags.unwrap_or_default();
        let transitive_tags = parameters
            .take(TRANSITIVE_TAGS)
            .map(|list| tag::transitive(list, &tags))
            .transpose()?;
        Ok(Some(Self {
            role: RoleArn::parse("parameter role-arn", role)?,
            external_id: parameters
                .take(EXTERNAL_ID)
                .map(|text| external_id("parameter external-id", text))
                .transpose()?,
            session_name: name(parameters, SESSION_NAME)?,
            source_identity: name(parameters, SOURCE_IDENTITY)?,
            tags,
            transitive_tags: transitive_tags.unwrap_or_default(),
        }))
    }
}

fn require_none(parameters: &mut Parameters<'_>) -> Result<Option<Link>, Error> {
    let companions = [
        EXTERNAL_ID,
        SESSION_NAME,
        SOURCE_IDENTITY,
        TAGS,
        TRANSITIVE_TAGS,
    ];
    match companions
        .into_iter()
        .find(|name| parameters.take(name).is_some())
    {
        None => Ok(None),
        Some(name) => Err(Error::invalid_configuration(format!(
            "parameter {name} has effect beside {ROLE_ARN} alone, in a link of a chain: add {ROLE_ARN}, or remove {name}"
        ))),
    }
}

fn name(parameters: &mut Parameters<'_>, name: &str) -> Result<Option<SessionName>, Error> {
    parameters
        .take(name)
        .map(|text| SessionName::parse(&format!("parameter {name}"), text))
        .transpose()
}

/// Reads an external ID.
///
/// # Errors
///
/// `invalid-configuration` naming the rule.
pub(crate) fn external_id(field: &str, text: &str) -> Result<String, Error> {
    let legal =
        |character: char| character.is_ascii_alphanumeric() || "_+=,.@:/-".contains(character);
    let fits = EXTERNAL_ID_LENGTH.contains(&text.len()) && text.chars().all(legal);
    fits.then(|| text.into()).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "{field} '{}' must be {} to {} letters, digits and signs of _+=,.@:/-",
            text.escape_debug(),
            EXTERNAL_ID_LENGTH.start(),
            EXTERNAL_ID_LENGTH.end()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Parameters, SCHEMA};
    use gatepass_sdk::{Error, Request};
    use serde_json::{Value, json};

    const ROLE: &str = "arn:aws:iam::123456789012:role/app";

    fn parse(parameters: &[(&str, &str)]) -> Result<Parameters, Error> {
        Parameters::parse(&Request {
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Request::default()
        })
    }

    /// Name, value, and whether it is right beside a role.
    fn table() -> Vec<(&'static str, String, bool)> {
        vec![
            ("external-id", "7a5b816a-7743-4377-a382".into(), true),
            ("external-id", "a:b/c=d,e.f@g+h_i".into(), true),
            ("external-id", "x".into(), false),
            ("external-id", "a b".into(), false),
            ("external-id", "a".repeat(1224), true),
            ("external-id", "a".repeat(1225), false),
            ("session-name", "cluster-spinner.acme.com".into(), true),
            ("session-name", "a".into(), false),
            ("session-name", "a/b".into(), false),
            ("source-identity", "alice@acme.com".into(), true),
            ("source-identity", "a".repeat(65), false),
            ("tags", "company=acme industries,größe=x".into(), true),
            ("tags", r"a\=b=c".into(), true),
            ("tags", "a=b\n".into(), false),
            ("tags", "a=b;c=d".into(), false),
            ("tags", String::new(), false),
        ]
    }

    #[test]
    fn each_parameter_of_a_link_keeps_its_rule_and_the_schema_says_the_same() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&schema)
            .unwrap();
        for (name, value, right) in table() {
            let parsed = parse(&[("role-arn", ROLE), (name, &value)]);
            assert_eq!(parsed.is_ok(), right, "{name} '{value}'");
            let document = json!({"role-arn": ROLE, name: value});
            assert_eq!(
                validator.is_valid(&document),
                right,
                "schema: {name} '{value}'"
            );
        }
        let transitive = json!({"transitive-tags": "a=b,größe"});
        assert!(validator.is_valid(&transitive));
    }

    #[test]
    fn a_link_is_read_whole() {
        let link = parse(&[
            ("role-arn", ROLE),
            ("external-id", "id"),
            ("tags", "company=acme,product=x"),
            ("transitive-tags", "product"),
        ]);
        let link = link.unwrap().link.unwrap();
        assert_eq!(link.role.as_str(), ROLE);
        assert_eq!(link.external_id.as_deref(), Some("id"));
        assert_eq!(link.tags.len(), 2);
        assert_eq!(link.transitive_tags, ["product"]);
        assert_eq!((link.session_name, link.source_identity), (None, None));
    }

    #[test]
    fn what_belongs_to_a_link_is_refused_without_its_role() {
        for name in [
            "external-id",
            "session-name",
            "source-identity",
            "tags",
            "transitive-tags",
        ] {
            let error = parse(&[(name, "a=b")]).unwrap_err();
            assert!(error.message().contains(name), "{error}");
            assert!(error.message().contains("role-arn"), "{error}");
        }
        let error = parse(&[("role-arn", ROLE), ("transitive-tags", "a")]).unwrap_err();
        assert!(error.message().contains("'a'"), "{error}");
    }
}
