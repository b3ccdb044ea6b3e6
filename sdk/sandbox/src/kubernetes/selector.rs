//! Field and label selectors of a list or watch.

use serde_json::Value;

use super::status::Refusal;
use crate::call::Call;
use crate::json::at;

/// Which objects a list or watch is about.
#[derive(Debug, Default)]
pub(crate) struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Debug)]
enum Requirement {
    /// A field or label, the value asked for, and whether it must be equal or must differ.
    Value {
        at: Place,
        value: String,
        equal: bool,
    },
    Label {
        name: String,
        present: bool,
    },
}

#[derive(Debug)]
enum Place {
    Name,
    Namespace,
    Label(String),
}

impl Selector {
    pub(crate) fn read(call: &Call) -> Result<Self, Refusal> {
        let fields = call.parameter("fieldSelector").unwrap_or_default();
        let labels = call.parameter("labelSelector").unwrap_or_default();
        let fields = terms(&fields).map(field);
        let labels = terms(&labels).map(label);
        let requirements = fields.chain(labels).collect::<Result<_, _>>()?;
        Ok(Self { requirements })
    }

    pub(crate) fn fits(&self, object: &Value) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.fits(object))
    }
}

impl Requirement {
    fn fits(&self, object: &Value) -> bool {
        match self {
            Self::Value { at, value, equal } => (at.read(object) == Some(value)) == *equal,
            Self::Label { name, present } => {
                at(object, &["metadata", "labels", name]).is_string() == *present
            }
        }
    }
}

impl Place {
    fn read<'a>(&self, object: &'a Value) -> Option<&'a str> {
        let metadata = at(object, &["metadata"]);
        match self {
            Self::Name => at(metadata, &["name"]).as_str(),
            Self::Namespace => at(metadata, &["namespace"]).as_str(),
            Self::Label(name) => at(metadata, &["labels", name]).as_str(),
        }
    }
}

fn terms(selector: &str) -> impl Iterator<Item = &str> {
    selector
        .split(',')
        .map(str::trim)
        .filter(|term| !term.is_empty())
}

fn field(term: &str) -> Result<Requirement, Refusal> {
    let (name, value, equal) = comparison(term).ok_or_else(|| {
        Refusal::bad_request(format!(
            "invalid selector: '{term}'; can't understand '{term}'"
        ))
    })?;
    let at = match name {
        "metadata.name" => Place::Name,
        "metadata.namespace" => Place::Namespace,
        other => {
            return Err(Refusal::bad_request(format!(
                "field label not supported: {other}"
            )));
        }
    };
    let value = value.to_owned();
    Ok(Requirement::Value { at, value, equal })
}

fn label(term: &str) -> Result<Requirement, Refusal> {
    if term.contains(['(', ')', ' ']) {
        let message =
            format!("unable to parse requirement: set expressions are not served here: '{term}'");
        return Err(Refusal::bad_request(message));
    }
    let Some((name, value, equal)) = comparison(term) else {
        let name = term.trim_start_matches('!').to_owned();
        return Ok(Requirement::Label {
            name,
            present: !term.starts_with('!'),
        });
    };
    let at = Place::Label(name.to_owned());
    let value = value.to_owned();
    Ok(Requirement::Value { at, value, equal })
}

/// `a!=b`, `a==b` or `a=b`, in the order in which they must be tried.
fn comparison(term: &str) -> Option<(&str, &str, bool)> {
    let operators = [("!=", false), ("==", true), ("=", true)];
    operators.into_iter().find_map(|(operator, equal)| {
        let (name, value) = term.split_once(operator)?;
        Some((name.trim(), value.trim(), equal))
    })
}
