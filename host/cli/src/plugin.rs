//! `gatepass plugin`: what a plugin is, does and would like to be granted.

use crate::arguments::{Format, Global, Plugin as Command};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::{self, table};
use crate::progress::noted;
use crate::{bundled, terminal};
use gatepass::Network;
use gatepass::config::{GrantConfig, PluginConfig};
use gatepass::plugin::{
    Grant, GrantPolicy, Plugin, PluginEngine, PluginLimits, PluginOptions, PluginSource,
};
use gatepass::provider::{Description, Provider, SourceKind, Verb, Wishes};
use serde_json::{Value, json};
use std::path::Path;

const FORMATS: &[Format] = &[Format::Table, Format::Json];

/// Inspects one plugin or lists the bundled ones.
pub(crate) async fn run(global: &Global, command: &Command) -> Result<(), Failure> {
    match command {
        Command::Inspect { plugin } => {
            let format = output::choose(global.output, FORMATS, "plugin inspect")?;
            inspect(global, plugin, format).await
        }
        Command::List => {
            let format = output::choose(global.output, FORMATS, "plugin list")?;
            list(format)
        }
    }
}

async fn inspect(global: &Global, named: &Path, format: Format) -> Result<(), Failure> {
    let source = source(named)?;
    let configured = configured(global, named, source.digest().as_str())?;
    let options = PluginOptions {
        // Looking at a plugin allows it nothing.
        grant: GrantPolicy::Exactly(Grant::nothing()),
        limits: PluginLimits::default(),
        network: Network::default(),
    };
    let engine = PluginEngine::new()?;
    let what = format!("compiling {}", named.display());
    let plugin = noted(&what, Plugin::load(&engine, source, options)).await?;
    let parameters = serde_json::from_str(&plugin.description().parameters).unwrap_or_default();
    let granted = granted(&plugin.description().wishes, configured.as_ref());
    match format {
        Format::Json => {
            let text = output::json_text(&in_json(&plugin, &parameters, granted.as_ref()))?;
            output::release(&text)
        }
        _ => terminal::print(&in_words(&plugin, &parameters, granted.as_ref())),
    }
}

/// What the configuration says of this plugin: the bundled one of this name, or a file with this digest.
fn configured(
    global: &Global,
    named: &Path,
    digest: &str,
) -> Result<Option<PluginConfig>, Failure> {
    let plugins = Configuration::read(global)?.host.plugins;
    let is_it = |plugin: &PluginConfig| match &plugin.bundled {
        Some(name) => Some(name.as_str()) == named.to_str(),
        None => plugin.digest.as_deref() == Some(digest),
    };
    Ok(plugins.into_iter().find(is_it))
}

/// What it is granted then: the lists of the configuration, or for a bundled plugin without them what it
/// wishes. `None`: it is not configured.
fn granted(wishes: &Wishes, configured: Option<&PluginConfig>) -> Option<GrantConfig> {
    let plugin = configured?;
    Some(match (&plugin.grant, &plugin.bundled) {
        (Some(grant), _) => grant.clone(),
        (None, None) => GrantConfig::default(),
        (None, Some(_)) => GrantConfig {
            hosts: wishes.hosts.clone(),
            audiences: wishes.audiences.clone(),
            environment: wishes.environment.clone(),
            files: wishes.files.clone(),
            signer: wishes.signer,
            networks: Vec::new(),
        },
    })
}

/// A bundled plugin by its name, else a file. `./aws` is the file in any case.
fn source(named: &Path) -> Result<PluginSource, Failure> {
    let bundled = named.to_str().and_then(bundled::find);
    match bundled {
        Some(bytes) => PluginSource::from_bytes(bytes, None),
        None => PluginSource::from_file_to_inspect(named),
    }
    .map_err(Failure::from)
}

fn in_words(plugin: &Plugin, parameters: &Value, granted: Option<&GrantConfig>) -> String {
    let description = plugin.description();
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    fact("name", description.name.clone());
    fact("version", description.version.clone());
    fact("summary", description.summary.clone());
    fact(
        "contract",
        format!("gatepass:provider@{}", plugin.wit_version()),
    );
    fact("digest", plugin.digest().to_owned());
    fact("size", format!("{} bytes", plugin.size()));
    fact("interfaces", interfaces(description).join(", "));
    fact("verbs", verbs(description).join(", "));
    fact("starts from", sources(description).join(", "));
    let annotations = description.annotations.iter().map(|annotation| {
        let required = if annotation.required {
            ", required"
        } else {
            ""
        };
        format!("{}{required}: {}", annotation.key, annotation.summary)
    });
    each(&mut facts, "annotation", annotations);
    each(&mut facts, "parameter", described(parameters));
    let wishes = &description.wishes;
    // The longest list last.
    let lists = [
        ("wishes audiences", &wishes.audiences),
        ("wishes environment", &wishes.environment),
        ("wishes files", &wishes.files),
        ("wishes hosts", &wishes.hosts),
    ];
    let signer = |signer| if signer { "yes" } else { "no" }.to_owned();
    match granted {
        None => facts.push((
            "granted".to_owned(),
            "nothing: it is not configured".to_owned(),
        )),
        Some(granted) => {
            facts.push(("granted signer".to_owned(), signer(granted.signer)));
            for (name, values) in [
                ("granted audiences", &granted.audiences),
                ("granted environment", &granted.environment),
                ("granted files", &granted.files),
                ("granted hosts", &granted.hosts),
                ("granted networks", &granted.networks),
            ] {
                each(&mut facts, name, values.iter().cloned());
            }
        }
    }
    facts.push(("wishes signer".to_owned(), signer(wishes.signer)));
    for (name, values) in lists {
        each(&mut facts, name, values.iter().cloned());
    }
    table::pairs(&facts)
}

/// A list with its name on the first line alone.
fn each(facts: &mut Vec<(String, String)>, name: &str, values: impl IntoIterator<Item = String>) {
    let mut heads = std::iter::once(name).chain(std::iter::repeat(""));
    let before = facts.len();
    facts.extend(
        values
            .into_iter()
            .map(|value| (heads.next().unwrap_or_default().to_owned(), value)),
    );
    if facts.len() == before {
        facts.push((name.to_owned(), "none".to_owned()));
    }
}

/// Each parameter of a schema with what it says of it, and its rule.
fn described(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let one = |(name, rule): (&String, &Value)| {
        let text = rule.get("description").and_then(Value::as_str);
        let text = text.map_or_else(|| rule.to_string(), str::to_owned);
        match rule.get("enum") {
            Some(values) => format!("{name}: {text} One of {values}."),
            None => format!("{name}: {text}"),
        }
    };
    properties.into_iter().flatten().map(one).collect()
}

fn in_json(plugin: &Plugin, parameters: &Value, granted: Option<&GrantConfig>) -> Value {
    let description = plugin.description();
    let wishes = &description.wishes;
    let annotations: Vec<Value> = description
        .annotations
        .iter()
        .map(|annotation| json!({ "key": annotation.key, "required": annotation.required, "summary": annotation.summary }))
        .collect();
    json!({
        "name": description.name,
        "version": description.version,
        "summary": description.summary,
        "witVersion": plugin.wit_version(),
        "digest": plugin.digest(),
        "size": plugin.size(),
        "interfaces": interfaces(description),
        "verbs": verbs(description),
        "sources": sources(description),
        "wishes": {
            "hosts": wishes.hosts,
            "audiences": wishes.audiences,
            "environment": wishes.environment,
            "files": wishes.files,
            "signer": wishes.signer,
        },
        "granted": granted.map(|granted| json!({
            "hosts": granted.hosts,
            "audiences": granted.audiences,
            "environment": granted.environment,
            "files": granted.files,
            "signer": granted.signer,
            "networks": granted.networks,
        })),
        "annotations": annotations,
        "parameters": parameters,
    })
}

/// The interfaces that it exports: `provider`, which each has, and those that are optional.
fn interfaces(description: &Description) -> Vec<&'static str> {
    let optional = [(Verb::GitCredentials, "git"), (Verb::Policy, "trust")];
    let exported = optional
        .iter()
        .filter(|(verb, _)| description.verbs.contains(verb))
        .map(|(_, interface)| *interface);
    std::iter::once("provider").chain(exported).collect()
}

fn verbs(description: &Description) -> Vec<&'static str> {
    description
        .verbs
        .iter()
        .copied()
        .map(Verb::as_str)
        .collect()
}

fn sources(description: &Description) -> Vec<&'static str> {
    description
        .sources
        .iter()
        .copied()
        .map(SourceKind::as_str)
        .collect()
}

fn list(format: Format) -> Result<(), Failure> {
    let mut plugins = Vec::new();
    for name in bundled::names() {
        let source = source(Path::new(name))?;
        plugins.push((name, source.digest().to_string(), source.bytes().len()));
    }
    if format == Format::Json {
        let plugin = |(name, digest, size): &(&str, String, usize)| json!({ "name": name, "digest": digest, "size": size });
        let list: Vec<Value> = plugins.iter().map(plugin).collect();
        return output::release(&output::json_text(&json!({ "plugins": list }))?);
    }
    let rows = plugins
        .into_iter()
        .map(|(name, digest, size)| vec![name.to_owned(), size.to_string(), digest]);
    terminal::print(&table::columns(&["NAME", "BYTES", "DIGEST"], &[1], rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_shown_with_its_words_or_its_rule() {
        let schema = json!({ "properties": {
            "fips": { "description": "Validated hosts.", "enum": ["true", "false"] },
            "seconds": { "pattern": "^[0-9]+$" },
        }});
        assert_eq!(
            described(&schema),
            [
                r#"fips: Validated hosts. One of ["true","false"]."#,
                r#"seconds: {"pattern":"^[0-9]+$"}"#
            ]
        );
        assert_eq!(described(&json!([])), Vec::<String>::new());
    }

    #[test]
    fn an_empty_list_is_said_to_be_empty() {
        let mut facts = Vec::new();
        each(&mut facts, "hosts", ["a".to_owned(), "b".to_owned()]);
        each(&mut facts, "files", []);
        let expected = [("hosts", "a"), ("", "b"), ("files", "none")];
        assert_eq!(
            facts,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
