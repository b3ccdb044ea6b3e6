//! The layers of the host, as the design has them: a room knows those below it, and no other.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The floor of each room of `host/src`, by the first part of its path.
const FLOORS: &[(&str, u8)] = &[
    ("clock", 0),
    ("environment", 0),
    ("error", 0),
    ("secret", 0),
    ("journal", 0),
    ("text", 0),
    ("request", 1),
    ("subject", 1),
    ("credential", 1),
    ("cluster_config", 1),
    ("service_account", 1),
    ("git", 1),
    ("transport", 1),
    ("repository", 1),
    ("provider", 2),
    ("cache", 2),
    ("retry", 2),
    ("egress", 2),
    ("egress::send", 3),
    ("kubernetes", 3),
    ("signer", 3),
    ("plugin", 4),
    ("host", 5),
    ("builder", 6),
    ("config", 7),
];

/// Crates that one room alone may name.
const ROOMS: &[(&str, &[&str])] = &[
    ("wasmtime", &["plugin"]),
    ("wasmtime_wasi", &["plugin"]),
    ("kube", &["kubernetes"]),
    ("k8s_openapi", &["kubernetes"]),
    ("reqwest", &["egress::send"]),
    ("aws_lc_rs", &["signer"]),
    ("rcgen", &["signer"]),
    ("x509_parser", &["signer"]),
    ("jsonschema", &["plugin"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let rust = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let deeper = folders.iter().flat_map(|folder| sources(folder));
    rust.chain(deeper).collect()
}

/// The code of a file: no comments, no tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text
        .split("#[cfg(test)]")
        .next()
        .unwrap_or_default()
        .to_owned();
    let comment = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(comment).collect::<Vec<_>>().join("\n")
}

/// `host/src/egress/send.rs` is `egress::send`, `host/src/cache/mod.rs` is `cache`.
fn module(path: &Path) -> String {
    let inner = path
        .strip_prefix(root().join("host/src"))
        .unwrap()
        .with_extension("");
    let parts: Vec<_> = inner.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("::").trim_end_matches("::mod").to_owned()
}

/// The floor of the longest room that a path lies in.
fn floor(module: &str) -> Option<u8> {
    let within = |room: &str| module == room || module.starts_with(&format!("{room}::"));
    let rooms = FLOORS.iter().filter(|(room, _)| within(room));
    rooms
        .max_by_key(|(room, _)| room.len())
        .map(|(_, floor)| *floor)
}

/// Every path after `crate::`, with groups in braces taken apart one level deep.
fn imports(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let end = after
            .find(|character: char| !(character.is_alphanumeric() || "_:".contains(character)));
        let path = &after[..end.unwrap_or(after.len())];
        let group = after[path.len()..]
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        match group {
            Some((items, _)) if path.ends_with("::") => {
                found.extend(
                    items
                        .split(',')
                        .map(|item| format!("{path}{}", item.trim())),
                );
            }
            _ => {
                found.insert(path.to_owned());
            }
        }
    }
    found
}

/// The library's own code: no tests, and not the crate's front page, which names every room.
fn hosts_files() -> Vec<PathBuf> {
    let files = sources(&root().join("host/src"));
    let left_out = |path: &PathBuf| path.ends_with("lib.rs") || path.ends_with("tests.rs");
    files.into_iter().filter(|path| !left_out(path)).collect()
}

#[test]
fn every_room_has_a_floor() {
    for path in hosts_files() {
        assert!(
            floor(&module(&path)).is_some(),
            "{} is on no floor",
            path.display()
        );
    }
}

#[test]
fn no_room_knows_one_above_it() {
    let mut seen = 0;
    for path in hosts_files() {
        let own = floor(&module(&path)).unwrap();
        for import in imports(&code(&path)) {
            let Some(other) = floor(&import) else {
                continue;
            };
            seen += 1;
            assert!(
                other <= own,
                "{} (floor {own}) knows {import} (floor {other})",
                path.display()
            );
        }
    }
    assert!(
        seen > 100,
        "only {seen} imports were found: the test reads nothing"
    );
}

#[test]
fn big_libraries_live_in_one_room_each() {
    for path in hosts_files() {
        let own = module(&path);
        let code = code(&path);
        for (library, rooms) in ROOMS {
            let named = code.contains(&format!("{library}::"));
            let home = rooms
                .iter()
                .any(|room| own == *room || own.starts_with(&format!("{room}::")));
            assert!(!named || home, "{own} names {library}");
        }
    }
}

#[test]
fn the_host_names_no_cloud() {
    let clouds = ["amazonaws", "azure", "googleapis", "gatepass_sdk"];
    for path in hosts_files() {
        let code = code(&path).to_lowercase();
        for cloud in clouds {
            assert!(!code.contains(cloud), "{} names {cloud}", path.display());
        }
    }
}

#[test]
fn crates_know_only_what_the_design_lets_them() {
    let forbidden = [
        (
            "host/Cargo.toml",
            vec!["gatepass-sdk", "gatepass-plugin", "gatepass-sandbox"],
        ),
        (
            "sdk/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sandbox", "wasmtime"],
        ),
        (
            "sdk/sandbox/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sdk", "gatepass-plugin"],
        ),
        (
            "plugins/aws/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sandbox"],
        ),
        (
            "plugins/generic/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sandbox"],
        ),
        (
            "plugins/github/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sandbox"],
        ),
        (
            "plugins/spiffe/Cargo.toml",
            vec!["gatepass.workspace", "gatepass-sandbox"],
        ),
        (
            "host/cli/Cargo.toml",
            vec!["gatepass-sdk", "gatepass-plugin", "wasmtime"],
        ),
    ];
    for (manifest, names) in forbidden {
        let text = std::fs::read_to_string(root().join(manifest)).unwrap();
        for name in names {
            assert!(!text.contains(name), "{manifest} names {name}");
            let by_path = "gatepass = {";
            let host = name == "gatepass.workspace";
            assert!(
                !host || !text.contains(by_path),
                "{manifest} names the host by its path"
            );
        }
    }
}
