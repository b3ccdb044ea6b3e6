//! Parameters of a request, checked against the schema that the plugin declares: what a plugin does
//! not know is an error, since a restriction that nothing enforces is worse than none.

use crate::error::Error;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The largest schema that is read.
const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// A plugin's schema. Its patterns run on an engine whose time grows linearly with the text, because
/// plugin and tenant, who write pattern and text, are both untrusted.
#[derive(Debug)]
pub(crate) struct ParameterSchema {
    validator: Validator,
    /// What each parameter is, in the plugin's words: the error of one that is wrong.
    descriptions: BTreeMap<String, String>,
}

/// Keywords of the schema and of one parameter. Those that combine schemas are not read: with them a
/// short schema takes days to evaluate, and this runs outside the sandbox.
const KEYWORDS: &[&str] = &[
    "$schema",
    "additionalProperties",
    "description",
    "properties",
    "required",
    "title",
    "type",
];
const PARAMETER_KEYWORDS: &[&str] = &[
    "default",
    "description",
    "enum",
    "examples",
    "maxLength",
    "minLength",
    "pattern",
    "title",
    "type",
];

/// The most parameters of a provider.
const MAX_PARAMETERS: usize = 64;

/// What one compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 2 << 20;

impl ParameterSchema {
    pub(crate) fn parse(schema: &str) -> Result<Self, Error> {
        if schema.len() > MAX_SCHEMA_BYTES {
            return Err(refuse("is larger than 64 KiB"));
        }
        let value: Value = serde_json::from_str(schema).map_err(|_| refuse("is not JSON"))?;
        let descriptions = flat(&value)?;
        let patterns = PatternOptions::regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES);
        let validator = jsonschema::options()
            .with_pattern_options(patterns)
            .build(&value)
            .map_err(|_| refuse("is not a JSON Schema that this host reads"))?;
        Ok(Self {
            validator,
            descriptions,
        })
    }

    pub(crate) fn check(
        &self,
        provider: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        let unknown = parameters
            .keys()
            .find(|name| !self.descriptions.contains_key(*name));
        if let Some(unknown) = unknown {
            let error = Error::configuration(format!(
                "provider '{provider}' knows no parameter '{unknown}'"
            ));
            let known: Vec<&str> = self.descriptions.keys().map(String::as_str).collect();
            return Err(match known.as_slice() {
                [] => error.remedy("it has no parameters: remove it"),
                known => error.remedy(format!("it knows {}", known.join(", "))),
            });
        }
        let object: Map<String, Value> = parameters
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        let object = Value::Object(object);
        let Some(error) = self.validator.iter_errors(&object).next() else {
            return Ok(());
        };
        let name = error
            .instance_path()
            .as_str()
            .trim_start_matches('/')
            .to_owned();
        let value = parameters.get(&name).map_or("", String::as_str);
        let refused = Error::configuration(format!(
            "parameter {name} '{}' is none that provider '{provider}' takes",
            super::convert::line(value)
        ));
        Err(match self.descriptions.get(&name).map(String::as_str) {
            None | Some("") => refused.remedy(super::convert::line(&error.to_string())),
            Some(description) => refused.remedy(format!("{name}: {description}")),
        })
    }
}

fn refuse(what: &str) -> Error {
    Error::plugin(format!("its parameter schema {what}"))
}

/// The parameters of a schema that is an object of plain properties, with their descriptions.
fn flat(schema: &Value) -> Result<BTreeMap<String, String>, Error> {
    let known = |object: &Map<String, Value>, keywords: &[&str]| {
        object
            .keys()
            .all(|keyword| keywords.contains(&keyword.as_str()))
    };
    let top = schema.as_object().filter(|top| known(top, KEYWORDS));
    let top = top.ok_or_else(|| refuse("has keywords beside those of a flat object"))?;
    if top
        .get("additionalProperties")
        .is_some_and(|value| !value.is_boolean())
    {
        return Err(refuse(
            "has additionalProperties that are neither true nor false",
        ));
    }
    let Some(properties) = top.get("properties") else {
        return Ok(BTreeMap::new());
    };
    let properties = properties
        .as_object()
        .ok_or_else(|| refuse("has properties that are no object"))?;
    let plain = |property: &Value| {
        property
            .as_object()
            .is_some_and(|property| known(property, PARAMETER_KEYWORDS))
    };
    if properties.len() > MAX_PARAMETERS || !properties.values().all(plain) {
        return Err(refuse(
            "has more than 64 parameters, or one with keywords beside those of a text",
        ));
    }
    let described = |(name, property): (&String, &Value)| {
        let description = property.get("description").and_then(Value::as_str);
        (
            name.clone(),
            super::convert::line(description.unwrap_or_default()),
        )
    };
    Ok(properties.iter().map(described).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const SCHEMA: &str = r#"{
        "type": "object",
        "additionalProperties": true,
        "properties": {
            "seconds": { "type": "string", "pattern": "^[0-9]{1,5}$" },
            "fips": { "type": "string", "enum": ["true", "false"] }
        }
    }"#;

    fn check(pairs: &[(&str, &str)]) -> Result<(), Error> {
        let parameters = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        ParameterSchema::parse(SCHEMA)
            .unwrap()
            .check("p", &parameters)
    }

    #[test]
    fn known_parameters_with_legal_values_pass() {
        assert!(check(&[]).is_ok());
        assert!(check(&[("seconds", "900"), ("fips", "true")]).is_ok());
    }

    #[test]
    fn unknown_parameters_are_refused_even_where_the_schema_is_lax() {
        let error = check(&[("polcy", "x")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains("'polcy'"), "{error}");
        assert!(error.advice().unwrap().contains("seconds"), "{error:?}");
    }

    #[test]
    fn illegal_values_are_refused_by_name() {
        for (name, value) in [("seconds", "1h"), ("seconds", ""), ("fips", "yes")] {
            let error = check(&[(name, value)]).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn a_broken_schema_is_the_plugins_fault() {
        let huge = format!("\"{}\"", "x".repeat(MAX_SCHEMA_BYTES));
        let bomb = r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##;
        let nested = r#"{"properties":{"a":{"anyOf":[{},{}]}}}"#;
        let pattern = r#"{"properties":{"a":{"pattern":"(((a{1000}){1000}){1000})"}}}"#;
        for schema in [
            bomb,
            nested,
            pattern,
            "",
            "[",
            r#"{"type": 7}"#,
            r#"{"$ref": "https://evil.example/schema"}"#,
            &huge,
        ] {
            let error = ParameterSchema::parse(schema).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Plugin, "{schema:?}");
        }
    }
}
