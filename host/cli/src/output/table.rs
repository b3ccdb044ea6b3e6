//! Tables, for people. No secret is ever in one.

use super::time::{left, rfc3339};
use crate::answer::{Issue, Place};
use crate::terminal::visible;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use gatepass::Material;
use std::time::SystemTime;

/// A credential, a fact in a line.
pub(crate) fn render(issue: &Issue<'_>, now: SystemTime) -> String {
    let mut facts = vec![("provider".to_owned(), issue.provider.to_owned())];
    let mut fact = |name: &str, value: &str| facts.push((name.to_owned(), value.to_owned()));
    if !issue.identity.is_empty() {
        fact("identity", issue.identity);
    }
    match issue.place {
        Place::Anywhere => {}
        Place::Registry { host } => fact("registry", host),
        Place::Remote { url } => fact("remote", url),
        Place::Workload { socket } => fact("socket", socket),
        Place::Cluster { server, .. } => fact("server", server),
    }
    fact("kind", issue.material.kind());
    match issue.material {
        Material::Aws(keys) => fact("access key ID", &keys.access_key_id),
        // Behind a percent sign CodeCommit has a session token in it.
        Material::Basic(basic) => fact(
            "user name",
            basic
                .username
                .expose()
                .split('%')
                .next()
                .unwrap_or_default(),
        ),
        _ => {}
    }
    fact(
        "expires",
        &format!(
            "{} (in {})",
            rfc3339(issue.expires_at),
            left(now, issue.expires_at)
        ),
    );
    fact("from", issue.from());
    facts.extend(issue.attributes.iter().cloned());
    pairs(&facts)
}

/// Names and values, in two columns.
pub(crate) fn pairs(facts: &[(String, String)]) -> String {
    let rows = facts
        .iter()
        .map(|(name, value)| vec![name.clone(), value.clone()]);
    columns(&[], &[], rows)
}

/// Rows under heads, with the columns in `right` aligned to the right.
pub(crate) fn columns(
    heads: &[&str],
    right: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if !heads.is_empty() {
        table.set_header(heads);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| visible(cell)));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use std::time::Duration;

    #[test]
    fn no_table_shows_a_secret() {
        for material in sample::materials() {
            for place in sample::places() {
                let table = render(&sample::issue(&material, place), sample::expiry());
                assert!(!table.contains("canary"), "{table}");
                assert!(table.contains(material.kind()), "{table}");
            }
        }
    }

    #[test]
    fn a_credential_is_a_fact_in_a_line() {
        let material = sample::aws();
        let attributes = [("account".to_owned(), "1\u{1b}[2J".to_owned())];
        let issue = Issue {
            attributes: &attributes,
            ..sample::issue(&material, Place::Anywhere)
        };
        let now = sample::expiry() - Duration::from_secs(3599);
        let expected = "\
provider       aws
identity       arn:aws:iam::123456789012:role/app
kind           aws
access key ID  ASIAEXAMPLE
expires        2026-11-20T18:00:00Z (in 59m59s)
from           cloud
account        1\\u{1b}[2J
";
        assert_eq!(render(&issue, now), expected);
    }
}
