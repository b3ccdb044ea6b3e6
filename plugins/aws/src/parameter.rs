//! The parameters of a request: what they are, and their JSON Schema.

mod link;
mod tag;

pub(crate) use link::{Link, external_id};
pub(crate) use tag::Tag;

use crate::arn::{PolicyArn, is_account};
use crate::endpoint::Variant;
use gatepass_sdk::{Error, Request};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The JSON Schema of the parameters. Values are strings, so numbers are patterns.
pub(crate) const SCHEMA: &str = include_str!("parameters.json");

/// Lifetimes of a session in seconds (STS `DurationSeconds`); the role may allow less.
const DURATION_SECONDS: RangeInclusive<u32> = 900..=43_200;

/// Characters of inline and managed policies together (STS `AssumeRoleWithWebIdentity`).
const MAX_POLICY: usize = 2_048;

/// Managed policies of a session (STS `PolicyArns`).
const MAX_POLICY_ARNS: usize = 10;

/// The parameter that names a cluster whose address and certificate authority are given.
pub(crate) const CLUSTER_NAME: &str = "cluster-name";

/// The parameter that names the account which the keys must be of.
pub(crate) const EXPECTED_ACCOUNT: &str = "expected-account";

/// The parameters, parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) duration_seconds: Option<u32>,
    /// A JSON object that limits the session.
    pub(crate) policy: Option<String>,
    /// Managed policies that limit the session.
    pub(crate) policy_arns: Vec<PolicyArn>,
    pub(crate) variant: Variant,
    pub(crate) cluster_name: Option<String>,
    /// The account that the keys must be of.
    pub(crate) expected_account: Option<String>,
    /// The role to assume with the keys of the link before.
    pub(crate) link: Option<Link>,
}

impl Parameters {
    /// Reads all parameters of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the first that is unknown or breaks its rule.
    pub(crate) fn parse(request: &Request) -> Result<Self, Error> {
        let mut parameters = request.take_parameters();
        let parsed = Self {
            duration_seconds: parameters
                .take("duration-seconds")
                .map(|text| duration("parameter duration-seconds", text))
                .transpose()?,
            policy: parameters.take("policy").map(policy).transpose()?,
            policy_arns: parameters
                .take("policy-arns")
                .map(policy_arns)
                .transpose()?
                .unwrap_or_default(),
            variant: Variant {
                fips: parameters.flag("fips")?,
                dual_stack: parameters.flag("dual-stack")?,
            },
            cluster_name: parameters.take(CLUSTER_NAME).map(str::to_owned),
            expected_account: parameters.take(EXPECTED_ACCOUNT).map(account).transpose()?,
            link: Link::take(&mut parameters)?,
        };
        parameters.finish()?;
        parsed.check_policy_size()?;
        Ok(parsed)
    }

    fn check_policy_size(&self) -> Result<(), Error> {
        let inline = self.policy.as_ref().map_or(0, |text| text.chars().count());
        let managed: usize = self.policy_arns.iter().map(|arn| arn.as_str().len()).sum();
        if inline + managed <= MAX_POLICY {
            return Ok(());
        }
        Err(Error::invalid_configuration(format!(
            "parameters policy and policy-arns have {} characters together, and STS accepts {MAX_POLICY}",
            inline + managed
        )))
    }
}

/// Reads the lifetime of a session in seconds.
///
/// # Errors
///
/// `invalid-configuration` naming the rule.
pub(crate) fn duration(field: &str, text: &str) -> Result<u32, Error> {
    let canonical = |seconds: &u32| seconds.to_string() == text;
    text.parse()
        .ok()
        .filter(|seconds| DURATION_SECONDS.contains(seconds) && canonical(seconds))
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be a whole number from {} to {}",
                text.escape_debug(),
                DURATION_SECONDS.start(),
                DURATION_SECONDS.end()
            ))
        })
}

fn account(text: &str) -> Result<String, Error> {
    is_account(text).then(|| text.into()).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "parameter {EXPECTED_ACCOUNT} '{}' must be the number of an account",
            text.escape_debug()
        ))
    })
}

fn policy(text: &str) -> Result<String, Error> {
    let legal = |character| matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{ff}');
    if text.chars().count() > MAX_POLICY || !text.chars().all(legal) {
        return Err(Error::invalid_configuration(format!(
            "parameter policy must be at most {MAX_POLICY} characters of Latin-1, without control characters"
        )));
    }
    match serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text) {
        Ok(_) => Ok(text.into()),
        Err(error) => Err(Error::invalid_configuration(format!(
            "parameter policy must be a JSON object: {error}"
        ))),
    }
}

fn policy_arns(list: &str) -> Result<Vec<PolicyArn>, Error> {
    let arns: Vec<PolicyArn> = list
        .split(',')
        .map(policy_arn)
        .collect::<Result<_, Error>>()?;
    if arns.len() > MAX_POLICY_ARNS {
        return Err(Error::invalid_configuration(format!(
            "parameter policy-arns names {} policies, and STS accepts {MAX_POLICY_ARNS}",
            arns.len()
        )));
    }
    Ok(arns)
}

fn policy_arn(text: &str) -> Result<PolicyArn, Error> {
    PolicyArn::read(text).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "parameter policy-arns: '{}' must be the ARN of a policy, arn:PARTITION:iam::ACCOUNT:policy/NAME, separated from the next by a comma alone",
            text.escape_debug()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parse(name: &str, value: &str) -> Result<Parameters, Error> {
        Parameters::parse(&Request {
            parameters: [(name.into(), value.into())].into(),
            ..Request::default()
        })
    }

    const ROLE: &str = "arn:aws:iam::123456789012:role/app";

    const ARN: &str = "arn:aws:iam::aws:policy/ReadOnlyAccess";

    /// Name, value, and whether it is right.
    fn table() -> Vec<(&'static str, String, bool)> {
        let arns = |count| vec![ARN; count].join(",");
        vec![
            ("duration-seconds", "900".into(), true),
            ("duration-seconds", "3600".into(), true),
            ("duration-seconds", "43200".into(), true),
            ("duration-seconds", "899".into(), false),
            ("duration-seconds", "43201".into(), false),
            ("duration-seconds", "0900".into(), false),
            ("duration-seconds", "+900".into(), false),
            ("duration-seconds", "900.0".into(), false),
            ("duration-seconds", "1h".into(), false),
            ("duration-seconds", "99999999999999999999".into(), false),
            ("duration-seconds", String::new(), false),
            ("policy", "{}".into(), true),
            (
                "policy",
                "{\"Version\":\"2012-10-17\",\n\t\"x\":\"ÿ\"}".into(),
                true,
            ),
            ("policy", "{\"x\":\"\u{100}\"}".into(), false),
            ("policy", format!("{{{}}}", " ".repeat(2046)), true),
            ("policy", format!("{{{}}}", " ".repeat(2047)), false),
            ("policy-arns", arns(1), true),
            ("policy-arns", arns(10), true),
            ("policy-arns", arns(11), false),
            ("policy-arns", format!("{ARN},"), false),
            ("policy-arns", format!("{ARN}, {ARN}"), false),
            ("policy-arns", "ReadOnlyAccess".into(), false),
            ("policy-arns", String::new(), false),
            ("policy-arns", "arn:aws:iam::1:policy/a-b/c!~+".into(), true),
            ("policy-arns", "arn:aws:iam::1:policy/a b".into(), false),
            ("fips", "true".into(), true),
            ("fips", "false".into(), true),
            ("fips", "TRUE".into(), false),
            ("dual-stack", "true".into(), true),
            ("dual-stack", "1".into(), false),
            ("cluster-name", "prod".into(), true),
            ("expected-account", "123456789012".into(), true),
            ("expected-account", "1234-5678".into(), false),
            ("expected-account", String::new(), false),
            ("role", ROLE.into(), false),
            ("role-arn", ROLE.into(), true),
            ("role-arn", "app".into(), false),
            ("role-arn", "arn:aws:iam::1:user/app".into(), false),
        ]
    }

    #[test]
    fn each_parameter_keeps_its_rule_and_the_schema_says_the_same() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        // The engine whose time is linear, which is the one that judges patterns of others.
        let validator = jsonschema::options()
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&schema)
            .unwrap();
        for (name, value, right) in table() {
            assert_eq!(parse(name, &value).is_ok(), right, "{name} '{value}'");
            assert_eq!(
                validator.is_valid(&json!({name: value})),
                right,
                "schema: {name} '{value}'"
            );
        }
    }

    #[test]
    fn a_policy_is_a_json_object() {
        for text in ["[]", "\"x\"", "{", "{}{}", "null", "{\"a\":1,}"] {
            let error = parse("policy", text).unwrap_err();
            assert!(error.message().contains("JSON object"), "{error}");
        }
    }

    #[test]
    fn policies_are_measured_together() {
        let request = |inline: usize| Request {
            parameters: [
                ("policy".into(), format!("{{{}}}", " ".repeat(inline - 2))),
                ("policy-arns".into(), ARN.into()),
            ]
            .into(),
            ..Request::default()
        };
        assert!(Parameters::parse(&request(2048 - ARN.len())).is_ok());
        let error = Parameters::parse(&request(2049 - ARN.len())).unwrap_err();
        assert!(
            error.message().contains("2049 characters together"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let error = parse("durationSeconds", "900").unwrap_err();
        assert!(error.message().contains("durationSeconds"), "{error}");
    }
}
