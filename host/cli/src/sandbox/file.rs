//! The files of a running sandbox: written for the owner alone, and removed at its end.

use crate::failure::Failure;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A kubeconfig of the sandbox's administrator.
pub(crate) const KUBECONFIG: &str = "kubeconfig";

/// The configuration of a host.
pub(crate) const CONFIGURATION: &str = "gatepass.yaml";

/// The certificate authority of everything in the sandbox.
pub(crate) const AUTHORITY: &str = "ca.pem";

/// The first line of each: by it, a sandbox knows the files that an earlier one left.
const MARK: &str = "# Written by gatepass sandbox, which removes it at its end.\n";

/// The files of one sandbox.
#[derive(Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    /// Each is locked as long as the sandbox runs: a lock tells a running one from what one left.
    written: Vec<(PathBuf, File)>,
    is_directory_ours: bool,
}

impl Files {
    /// Writes the files into this folder, or a fresh one.
    pub(crate) fn write(
        directory: Option<&Path>,
        contents: &[(&str, String)],
    ) -> Result<Self, Failure> {
        let (directory, is_directory_ours) = match directory {
            Some(directory) => existing_or_new(directory)?,
            None => (fresh()?, true),
        };
        let mut files = Self {
            directory,
            written: Vec::new(),
            is_directory_ours,
        };
        for (name, content) in contents {
            if let Err(failure) = files.add(name, content) {
                files.remove();
                return Err(failure);
            }
        }
        Ok(files)
    }

    /// Where they are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    fn add(&mut self, name: &str, content: &str) -> Result<(), Failure> {
        let path = self.directory.join(name);
        clear(&path)?;
        // The mode holds from the first byte on, and nobody's link is followed.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let mut file = file.map_err(|error| unwritable(&path, error))?;
        let text = format!("{MARK}{content}");
        let written = file.write_all(text.as_bytes()).and_then(|()| file.lock());
        self.written.push((path.clone(), file));
        written.map_err(|error| unwritable(&path, error))
    }

    /// Removes the files, and the folder if it was made for them and holds nothing else.
    pub(crate) fn remove(self) {
        for (path, _) in &self.written {
            // Whoever removed it first did what is wanted.
            let _ = fs::remove_file(path);
        }
        if self.is_directory_ours {
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

fn existing_or_new(directory: &Path) -> Result<(PathBuf, bool), Failure> {
    let absolute = std::path::absolute(directory).map_err(|error| unwritable(directory, error))?;
    match DirBuilder::new().mode(0o700).create(&absolute) {
        Ok(()) => Ok((absolute, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((absolute, false)),
        Err(error) => Err(unwritable(directory, error)),
    }
}

fn fresh() -> Result<PathBuf, Failure> {
    let directory = tempfile::Builder::new()
        .prefix("gatepass-sandbox-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir();
    let directory =
        directory.map_err(|error| Failure::machine("cannot make a temporary folder", error))?;
    Ok(directory.keep())
}

/// Takes away what an earlier sandbox left, and nothing else.
fn clear(path: &Path) -> Result<(), Failure> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(content) if content.starts_with(MARK.as_bytes()) => {
            check_left(path)?;
            fs::remove_file(path).map_err(|error| unwritable(path, error))
        }
        Ok(_) | Err(_) => Err(Failure::usage(format!(
            "{} is there already and is not the sandbox's",
            path.display()
        ))
        .fix("choose another folder with --dir")),
    }
}

/// Refuses the file of a sandbox that still runs.
fn check_left(path: &Path) -> Result<(), Failure> {
    let file = File::open(path).map_err(|error| unwritable(path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::usage(format!(
            "a sandbox that runs uses {}",
            path.display()
        ))
        .fix("end it, or choose another folder with --dir")),
        Err(TryLockError::Error(error)) => Err(unwritable(path, error)),
    }
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    Failure::machine(format!("cannot write {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn contents() -> [(&'static str, String); 1] {
        [(KUBECONFIG, "kind: Config\n".into())]
    }

    #[test]
    fn files_are_the_owners_alone_and_go_with_the_sandbox() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("new");
        let files = Files::write(Some(&directory), &contents()).unwrap();
        let path = directory.join(KUBECONFIG);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        files.remove();
        assert!(!directory.exists());
        assert!(scratch.path().exists());
    }

    #[test]
    fn a_file_of_somebody_else_is_left_as_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join(KUBECONFIG);
        fs::write(&path, "mine").unwrap();
        let failure = Files::write(Some(scratch.path()), &contents()).unwrap_err();
        assert_eq!(crate::exit::code(&failure), 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn what_a_killed_sandbox_left_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        drop(Files::write(Some(scratch.path()), &contents()).unwrap());
        let files = Files::write(Some(scratch.path()), &contents()).unwrap();
        files.remove();
        assert!(scratch.path().exists(), "the folder was there before");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
