//! `gatepass oci diff`.

use super::address::Address;
use super::login::Source;
use super::pull;
use super::registry::{Operation, Registry};
use super::tree::{self, Node, Tree};
use crate::arguments::{Diff, Global};
use crate::failure::Failure;
use crate::output::table;
use crate::terminal::visible;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How a path differs, seen from the artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It is here, and not in the artifact.
    Added,
    /// It is in the artifact, and not here.
    Removed,
    /// It is in both, with another content, kind or right to be executed.
    Changed,
}

impl Change {
    fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// Compares files, not archives: who packed the artifact, and how, makes no difference. Fails with exit
/// code 1 if something differs, as `flux diff artifact` and `diff` do.
pub(crate) async fn run(global: &Global, flags: &Diff) -> Result<(), Failure> {
    let format = super::format(global, "diff")?;
    let address = Address::to_pull(&flags.reference)?;
    let mut local = tree::of(&flags.paths)?;
    // What push leaves out is no difference.
    local.retain(|_, node| *node != Node::Other);
    let source = Source::open(global, &flags.access, &address).await?;
    let registry = Registry::open(address, &flags.access, source, Operation::Pull).await?;
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::machine("cannot make a temporary directory", error))?;
    let (digest, _) = pull::fetch(&registry, folder.path()).await?;
    let changes = compare(&tree::read(folder.path())?, &local)?;

    let artifact = registry.address().pinned(&digest);
    let result = json!({
        "artifact": artifact,
        "digest": digest,
        "different": !changes.is_empty(),
        "changes": in_json(&changes),
    });
    super::print(format, &result, || in_table(&changes))?;
    match changes.len() {
        0 => Ok(()),
        count => Err(Failure::Difference {
            reference: artifact,
            count,
        }),
    }
}

fn in_json(changes: &[(PathBuf, Change)]) -> Value {
    let change = |(path, change): &(PathBuf, Change)| json!({ "path": path.display().to_string(), "change": change.as_str() });
    changes.iter().map(change).collect()
}

fn in_table(changes: &[(PathBuf, Change)]) -> String {
    if changes.is_empty() {
        return "no differences\n".to_owned();
    }
    let rows = changes.iter().map(|(path, change)| {
        let path = visible(&path.display().to_string());
        vec![change.as_str().to_owned(), path]
    });
    table::columns(&["CHANGE", "PATH"], &[], rows)
}

/// The paths that differ, sorted.
fn compare(remote: &Tree, local: &Tree) -> Result<Vec<(PathBuf, Change)>, Failure> {
    let paths: BTreeSet<&PathBuf> = remote.keys().chain(local.keys()).collect();
    let mut changes = Vec::new();
    for path in paths {
        let change = match (remote.get(path), local.get(path)) {
            (Some(theirs), Some(ours)) if is_same(theirs, ours)? => continue,
            (Some(_), Some(_)) => Change::Changed,
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
        };
        changes.push((path.clone(), change));
    }
    Ok(changes)
}

fn is_same(theirs: &Node, ours: &Node) -> Result<bool, Failure> {
    match (theirs, ours) {
        (
            Node::File {
                at: theirs,
                is_executable: of_theirs,
            },
            Node::File { at, is_executable },
        ) => Ok(of_theirs == is_executable && has_content(theirs, at)?),
        (theirs, ours) => Ok(theirs == ours),
    }
}

fn has_content(theirs: &Path, ours: &Path) -> Result<bool, Failure> {
    let unreadable = |path: &Path, error| Failure::unreadable("", path, error);
    let size = |path: &Path| match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) => Err(unreadable(path, error)),
    };
    if size(theirs)? != size(ours)? {
        return Ok(false);
    }
    let content = |path: &Path| fs::read(path).map_err(|error| unreadable(path, error));
    Ok(content(theirs)? == content(ours)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn each_path_that_differs_is_named_once() {
        let remote = folder(&[
            ("same", "1"),
            ("gone", ""),
            ("size", "1"),
            ("d/content", "a"),
        ]);
        let local = folder(&[
            ("same", "1"),
            ("new/file", ""),
            ("size", "12"),
            ("d/content", "b"),
        ]);
        let trees = [&remote, &local].map(|folder| tree::read(folder.path()).unwrap());
        let changes = compare(&trees[0], &trees[1]).unwrap();
        let expected = [
            ("d/content", Change::Changed),
            ("gone", Change::Removed),
            ("new", Change::Added),
            ("new/file", Change::Added),
            ("size", Change::Changed),
        ];
        assert_eq!(
            changes,
            expected.map(|(path, change)| (PathBuf::from(path), change))
        );
        assert_eq!(compare(&trees[0], &trees[0]).unwrap(), []);
    }
}
