//! The parameters of a request: what they are, and their JSON Schema.

use crate::email::Email;
use crate::universe::Universe;
use gatepass_sdk::{Error, Request};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The JSON Schema of the parameters. Values are strings, so numbers are patterns.
pub(crate) const SCHEMA: &str = include_str!("parameters.json");

/// Lifetimes of an impersonated account's token in seconds: what Google's own SDKs accept
/// (`token_lifetime_seconds`, <https://google.aip.dev/auth/4117>).
pub(crate) const LIFETIME_SECONDS: RangeInclusive<u32> = 600..=43_200;

/// The lifetime unless another is asked for, and the longest without an organisation policy.
pub(crate) const DEFAULT_LIFETIME: u32 = 3_600;

/// Accounts between the caller and the impersonated one. IAM documents no limit; this is ours.
const MAX_DELEGATES: usize = 10;

/// The parameter that sets the lifetime.
pub(crate) const LIFETIME: &str = "lifetime-seconds";

/// The parameter that names the accounts in between.
pub(crate) const DELEGATES: &str = "delegates";

/// The parameter that names the universe.
pub(crate) const UNIVERSE: &str = "universe-domain";

/// The parameter that names the account of a further link.
pub(crate) const IMPERSONATE: &str = "impersonate";

/// The parameter that chooses a cluster's endpoint.
pub(crate) const CLUSTER_ENDPOINT: &str = "cluster-endpoint";

/// An endpoint of a GKE cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterEndpoint {
    /// The address that the internet reaches.
    Public,
    /// The address within the cluster's network.
    Private,
    /// The name that IAM guards, with a certificate of a public authority.
    Dns,
}

impl FromStr for ClusterEndpoint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "public" => Ok(Self::Public),
            "private" => Ok(Self::Private),
            "dns" => Ok(Self::Dns),
            _ => Err(()),
        }
    }
}

/// The parameters, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) lifetime_seconds: Option<u32>,
    pub(crate) delegates: Vec<Email>,
    pub(crate) universe: Universe,
    pub(crate) impersonate: Option<Email>,
    pub(crate) cluster_endpoint: Option<ClusterEndpoint>,
}

impl Parameters {
    /// Reads all parameters of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the first that is unknown or breaks its rule.
    pub(crate) fn parse(request: &Request) -> Result<Self, Error> {
        let mut parameters = request.take_parameters();
        let universe = parameters.take(UNIVERSE);
        let parsed = Self {
            lifetime_seconds: lifetime(parameters.take(LIFETIME))?,
            delegates: delegates(parameters.take(DELEGATES))?,
            universe: universe.map_or_else(
                || Ok(Universe::default()),
                |text| Universe::parse(&format!("parameter {UNIVERSE}"), text),
            )?,
            impersonate: parameters
                .take(IMPERSONATE)
                .map(|text| Email::parse(&format!("parameter {IMPERSONATE}"), text))
                .transpose()?,
            cluster_endpoint: parameters.parse(CLUSTER_ENDPOINT, "public, private or dns")?,
        };
        parameters.finish()?;
        Ok(parsed)
    }

    /// Refuses the parameter that means something for a cluster alone.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is there.
    pub(crate) fn refuse_cluster_endpoint(&self) -> Result<(), Error> {
        match self.cluster_endpoint {
            None => Ok(()),
            Some(_) => Err(Error::invalid_configuration(format!(
                "parameter {CLUSTER_ENDPOINT} has effect for a cluster alone: remove it"
            ))),
        }
    }

    /// Refuses what means something for an impersonated account alone; `why` says why there is none.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the parameter.
    pub(crate) fn refuse_impersonation(&self, why: &str) -> Result<(), Error> {
        let name = match (self.lifetime_seconds, self.delegates.is_empty()) {
            (None, true) => return Ok(()),
            (Some(_), _) => LIFETIME,
            (None, false) => DELEGATES,
        };
        Err(Error::invalid_configuration(format!(
            "parameter {name} has effect for the token of an impersonated service account alone, and {why}: remove it"
        )))
    }
}

fn lifetime(value: Option<&str>) -> Result<Option<u32>, Error> {
    let Some(text) = value else { return Ok(None) };
    let canonical = |seconds: &u32| seconds.to_string() == text;
    text.parse()
        .ok()
        .filter(|seconds| LIFETIME_SECONDS.contains(seconds) && canonical(seconds))
        .map(Some)
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "parameter {LIFETIME} '{}' must be a whole number from {} to {}",
                text.escape_debug(),
                LIFETIME_SECONDS.start(),
                LIFETIME_SECONDS.end()
            ))
        })
}

fn delegates(list: Option<&str>) -> Result<Vec<Email>, Error> {
    let field = format!("parameter {DELEGATES}:");
    let emails: Vec<Email> = list
        .into_iter()
        .flat_map(|list| list.split(','))
        .map(|text| Email::parse(&field, text))
        .collect::<Result<_, Error>>()?;
    if emails.len() > MAX_DELEGATES {
        return Err(Error::invalid_configuration(format!(
            "parameter {DELEGATES} names {} accounts, and {MAX_DELEGATES} are the most",
            emails.len()
        )));
    }
    Ok(emails)
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

    const EMAIL: &str = "app@my-project.iam.gserviceaccount.com";

    /// Name, value, and whether it is right.
    fn table() -> Vec<(&'static str, String, bool)> {
        let emails = |count| vec![EMAIL; count].join(",");
        vec![
            (LIFETIME, "600".into(), true),
            (LIFETIME, "3600".into(), true),
            (LIFETIME, "43200".into(), true),
            (LIFETIME, "599".into(), false),
            (LIFETIME, "43201".into(), false),
            (LIFETIME, "0600".into(), false),
            (LIFETIME, "+600".into(), false),
            (LIFETIME, "600.0".into(), false),
            (LIFETIME, "3600s".into(), false),
            (LIFETIME, "0".into(), false),
            (LIFETIME, "-600".into(), false),
            (LIFETIME, "99999999999999999999".into(), false),
            (LIFETIME, String::new(), false),
            (DELEGATES, emails(1), true),
            (DELEGATES, emails(10), true),
            (DELEGATES, emails(11), false),
            (DELEGATES, format!("{EMAIL},"), false),
            (DELEGATES, format!("{EMAIL}, {EMAIL}"), false),
            (DELEGATES, "projects/-/serviceAccounts/x".into(), false),
            (DELEGATES, String::new(), false),
            (UNIVERSE, "googleapis.com".into(), true),
            (UNIVERSE, "s3nsapis.fr".into(), true),
            (UNIVERSE, "apis-berlin-build0.goog".into(), true),
            (UNIVERSE, "googleapis".into(), false),
            (UNIVERSE, "https://googleapis.com".into(), false),
            (UNIVERSE, "googleapis.com/".into(), false),
            (UNIVERSE, "1.2.3.4".into(), false),
            (UNIVERSE, "a..b".into(), false),
            (UNIVERSE, format!("{}com", "a.".repeat(80)), false),
            (UNIVERSE, String::new(), false),
            (IMPERSONATE, EMAIL.into(), true),
            (
                IMPERSONATE,
                "a@p.example.com.iam.gserviceaccount.com".into(),
                true,
            ),
            (
                IMPERSONATE,
                "1-compute@developer.gserviceaccount.com".into(),
                true,
            ),
            (IMPERSONATE, format!("{EMAIL}.evil.example"), false),
            (IMPERSONATE, "a@iam.gserviceaccount.com".into(), false),
            (IMPERSONATE, emails(2), false),
            (IMPERSONATE, "ann@example.com".into(), false),
            (CLUSTER_ENDPOINT, "public".into(), true),
            (CLUSTER_ENDPOINT, "private".into(), true),
            (CLUSTER_ENDPOINT, "dns".into(), true),
            (CLUSTER_ENDPOINT, "DNS".into(), false),
            (CLUSTER_ENDPOINT, String::new(), false),
            ("project", "my-project".into(), false),
        ]
    }

    #[test]
    fn each_parameter_keeps_its_rule_and_the_schema_says_the_same() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        // The engine whose time is linear, with the bounds under which hosts judge patterns of others.
        let patterns = jsonschema::PatternOptions::regex()
            .size_limit(2 << 20)
            .dfa_size_limit(2 << 20);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .build(&schema)
            .unwrap();
        for (name, value, right) in table() {
            let parsed = parse(name, &value);
            assert_eq!(parsed.is_ok(), right, "{name} '{value}'");
            if let Err(error) = parsed {
                assert!(error.message().contains(name), "{error}");
            }
            assert_eq!(
                validator.is_valid(&json!({name: value})),
                right,
                "schema: {name} '{value}'"
            );
        }
    }

    #[test]
    fn without_parameters_the_defaults_hold() {
        let parameters = Parameters::parse(&Request::default()).unwrap();
        assert!(parameters.universe.is_public());
        assert_eq!(parameters.refuse_cluster_endpoint(), Ok(()));
        assert_eq!(parameters.refuse_impersonation("there is none"), Ok(()));
    }

    #[test]
    fn what_has_no_effect_is_named() {
        for (name, value) in [(LIFETIME, "3600"), (DELEGATES, EMAIL)] {
            let parameters = parse(name, value).unwrap();
            let error = parameters
                .refuse_impersonation("there is none")
                .unwrap_err();
            assert!(error.message().contains(name), "{error}");
            assert!(error.message().contains("there is none"), "{error}");
        }
        let parameters = parse(CLUSTER_ENDPOINT, "dns").unwrap();
        let error = parameters.refuse_cluster_endpoint().unwrap_err();
        assert!(error.message().contains(CLUSTER_ENDPOINT), "{error}");
    }
}
