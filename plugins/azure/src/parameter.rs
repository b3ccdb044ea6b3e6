//! The parameters of a request: what they are, and their JSON Schema.

use crate::cloud::{Cloud, Resource};
use gatepass_sdk::{Error, Request};

/// The JSON Schema of the parameters.
pub(crate) const SCHEMA: &str = include_str!("parameters.json");

/// The parameter that names the cloud.
pub(crate) const CLOUD: &str = "cloud";

/// The parameter that names the service a token is for.
pub(crate) const RESOURCE: &str = "resource";

/// The parameters, parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) cloud: Option<Cloud>,
    pub(crate) resource: Option<Resource>,
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
            cloud: one_of(CLOUD, parameters.take(CLOUD), Cloud::named, || {
                Cloud::ALL.map(Cloud::name).join(", ")
            })?,
            resource: one_of(RESOURCE, parameters.take(RESOURCE), Resource::named, || {
                Resource::ALL.map(Resource::name).join(", ")
            })?,
        };
        parameters.finish()?;
        Ok(parsed)
    }
}

fn one_of<T>(
    name: &str,
    value: Option<&str>,
    named: impl Fn(&str) -> Option<T>,
    known: impl Fn() -> String,
) -> Result<Option<T>, Error> {
    let Some(text) = value else { return Ok(None) };
    named(text).map(Some).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "parameter {name} '{}' must be one of {}",
            text.escape_debug(),
            known()
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

    #[test]
    fn each_parameter_keeps_its_rule_and_the_schema_says_the_same() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let clouds = Cloud::ALL.map(|cloud| ("cloud", cloud.name(), true));
        let resources = Resource::ALL.map(|resource| ("resource", resource.name(), true));
        let refused = [
            ("cloud", "", false),
            ("cloud", "Public", false),
            ("cloud", "germany", false),
            ("cloud", "public ", false),
            ("resource", "arm", false),
            ("resource", "https://vault.azure.net", false),
            ("tenant", "contoso.com", false),
        ];
        for (name, value, right) in clouds.into_iter().chain(resources).chain(refused) {
            assert_eq!(parse(name, value).is_ok(), right, "{name} '{value}'");
            let object = json!({name: value});
            assert_eq!(validator.is_valid(&object), right, "{name} '{value}'");
        }
    }

    #[test]
    fn a_parameter_that_is_wrong_is_named_with_what_it_may_be() {
        let error = parse("cloud", "germany").unwrap_err();
        for word in ["cloud", "germany", "us-government"] {
            assert!(error.message().contains(word), "{error}");
        }
        let error = parse("tenant", "contoso.com").unwrap_err();
        assert!(error.message().contains("tenant"), "{error}");
    }
}
