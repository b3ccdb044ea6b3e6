//! Files below a directory, in the one order in which they are packed and compared.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// A thing in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A directory.
    Directory,
    /// A file, where it lies, and whether it may be executed.
    File { at: PathBuf, is_executable: bool },
    /// A link, a device, a socket.
    Other,
}

/// Paths relative to the root, sorted.
pub(crate) type Tree = BTreeMap<PathBuf, Node>;

/// Git's own directory, which is no content.
const GIT: &str = ".git";

/// What lies below a directory. Links are not followed.
pub(crate) fn read(root: &Path) -> Result<Tree, Failure> {
    let mut tree = Tree::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        let at = root.join(&directory);
        let unreadable = |error| Failure::unreadable("the directory", &at, error);
        for entry in fs::read_dir(&at).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.file_name() == GIT {
                continue;
            }
            let path = directory.join(entry.file_name());
            let metadata = entry.metadata().map_err(unreadable)?;
            let node = node(entry.path(), &metadata);
            if node == Node::Directory {
                open.push(path.clone());
            }
            tree.insert(path, node);
        }
    }
    Ok(tree)
}

/// What these paths hold: a directory's content, or files under their own names.
pub(crate) fn of(paths: &[PathBuf]) -> Result<Tree, Failure> {
    if let [only] = paths {
        let metadata = fs::metadata(only).map_err(|error| Failure::unreadable("", only, error))?;
        if metadata.is_dir() {
            return read(only);
        }
    }
    let mut tree = Tree::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| Failure::unreadable("", path, error))?;
        let name = path.file_name().filter(|_| metadata.is_file());
        let Some(name) = name.map(PathBuf::from) else {
            return Err(Failure::usage(format!(
                "{} is no file: give one directory, or files",
                path.display()
            )));
        };
        if tree.insert(name, node(path.clone(), &metadata)).is_some() {
            return Err(Failure::usage(format!(
                "two files have the name of {}",
                path.display()
            )));
        }
    }
    Ok(tree)
}

fn node(at: PathBuf, metadata: &Metadata) -> Node {
    match (metadata.is_dir(), metadata.is_file()) {
        (true, _) => Node::Directory,
        (_, true) => Node::File {
            at,
            is_executable: is_executable(metadata),
        },
        _ => Node::Other,
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}
