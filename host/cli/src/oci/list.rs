//! `gatepass oci list`.

use super::address::Address;
use super::login::{Logins, Source};
use super::media;
use super::pull::MANIFESTS;
use super::registry::{Operation, Registry};
use super::tag::INDEXES;
use crate::arguments::{Global, List};
use crate::failure::Failure;
use crate::output::table;
use serde_json::{Value, json};

/// A tag, and what is under it.
#[derive(Debug, Default)]
struct Line {
    tag: String,
    digest: String,
    source: String,
    revision: String,
}

/// Prints the tags, sorted.
pub(crate) async fn run(global: &Global, flags: &List) -> Result<(), Failure> {
    let format = super::format(global, "list")?;
    let address = Address::to_list(&flags.repository)?;
    let source = Source::open(global, &flags.access, &address).await?;
    let registry = Registry::open(address, &flags.access, source, Operation::Pull).await?;
    let mut lines = Vec::new();
    for tag in registry.tags().await? {
        lines.push(match flags.details {
            true => look(&registry, tag).await?,
            false => Line {
                tag,
                ..Line::default()
            },
        });
    }
    let repository = registry.address().repository().as_str();
    let result = json!({ "repository": repository, "tags": in_json(&lines, flags.details) });
    super::print(format, &result, || in_table(&lines, flags.details))
}

async fn look<L: Logins>(registry: &Registry<L>, tag: String) -> Result<Line, Failure> {
    let reference = registry.address().tagged(&tag)?;
    let both = [MANIFESTS, INDEXES].concat();
    let manifest = registry.manifest(&reference, &both).await?;
    let parsed: Value = serde_json::from_slice(&manifest.bytes).unwrap_or_default();
    let annotation = |name: &str| {
        let value = parsed.get("annotations").and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    Ok(Line {
        digest: manifest.digest,
        source: annotation(media::SOURCE),
        revision: annotation(media::REVISION),
        tag,
    })
}

fn in_json(lines: &[Line], details: bool) -> Value {
    let line = |line: &Line| match details {
        true => json!({
            "tag": line.tag,
            "digest": line.digest,
            "source": line.source,
            "revision": line.revision,
        }),
        false => json!({ "tag": line.tag }),
    };
    lines.iter().map(line).collect()
}

fn in_table(lines: &[Line], details: bool) -> String {
    let rows = lines.iter().map(|line| {
        let cells = [&line.tag, &line.digest, &line.source, &line.revision];
        let shown = if details { 4 } else { 1 };
        cells.into_iter().take(shown).cloned().collect()
    });
    match details {
        true => table::columns(&["TAG", "DIGEST", "SOURCE", "REVISION"], &[], rows),
        false => table::columns(&["TAG"], &[], rows),
    }
}
