//! Files with a key among them: the owner's alone, and never half-written.

use crate::failure::Failure;
use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use tempfile::NamedTempFile;

/// Writes files into a directory, which is made if it is not there.
///
/// All are written under other names first and renamed in the order given: whoever reads finds whole
/// files, and an error before the first rename leaves the old ones as they were.
pub(super) fn write(directory: &Path, contents: &[(&str, &str)]) -> Result<(), Failure> {
    make(directory)?;
    let mut staged = Vec::with_capacity(contents.len());
    for (name, content) in contents {
        let file = stage(directory, content).map_err(|error| unwritable(directory, error))?;
        staged.push((directory.join(name), file));
    }
    for (path, file) in staged {
        file.persist(&path)
            .map_err(|error| unwritable(&path, error.error))?;
    }
    Ok(())
}

fn make(directory: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(unwritable(directory, error))
        }
        _ => Ok(()),
    }
}

/// A file that only its owner may read from the first byte on: so `tempfile` makes them.
fn stage(directory: &Path, content: &str) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::with_prefix_in(".gatepass-", directory)?;
    file.write_all(content.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    Failure::configuration(format!("cannot write {}", path.display()))
        .because(error)
        .fix("choose a directory that this user may write with --out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_the_owners_and_replace_older_ones() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("new");
        for content in ["one", "two"] {
            write(&directory, &[("a", content), ("b", content)]).unwrap();
            for name in ["a", "b"] {
                let path = directory.join(name);
                assert_eq!(fs::read_to_string(&path).unwrap(), content);
                assert_eq!(mode(&path), 0o600);
            }
        }
        assert_eq!(mode(&directory), 0o700);
        assert_eq!(
            fs::read_dir(&directory).unwrap().count(),
            2,
            "nothing is left"
        );
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let elsewhere = scratch.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        let directory = scratch.path().join("out");
        fs::create_dir(&directory).unwrap();
        std::os::unix::fs::symlink(&elsewhere, directory.join("a")).unwrap();
        write(&directory, &[("a", "canary")]).unwrap();
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    }

    #[test]
    fn what_cannot_be_written_is_a_failure_without_the_content() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("file");
        fs::write(&file, "").unwrap();
        for directory in [file, scratch.path().join("no/such")] {
            let failure = write(&directory, &[("a", "canary")]).unwrap_err();
            assert_eq!(crate::exit::code(&failure), 3);
            assert!(!failure.report().contains("canary"), "{failure:?}");
        }
    }
}
