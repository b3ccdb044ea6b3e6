//! Builds or fetches a peer once, and again only when what it is made from changes.
//!
//! A peer lives in `target/peers/NAME/`. The file `stamp` in it holds the SHA-256 of everything the build
//! reads (the pinned versions, our sources, the commands); it is removed first and written last, so a build
//! cut short is repeated. A lock beside the folder makes test processes that start together build once.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

/// What a peer is made from.
#[derive(Debug)]
pub struct Source {
    /// The peer's folder under `tests/peers/` and under `target/peers/`.
    pub name: &'static str,
    /// Files below `tests/peers/NAME/` that the build reads.
    pub inputs: Vec<PathBuf>,
    /// Whatever else decides the result: commands, flags. Any text.
    pub recipe: String,
    /// What to tell the person who waits.
    pub duration: &'static str,
}

impl Source {
    /// The folder of the peer's sources.
    pub fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(name)
    }

    /// Returns `target/peers/NAME`, calling `build` with it first unless its stamp is current.
    ///
    /// # Errors
    /// An input cannot be read, the folder cannot be written, or `build` fails.
    pub fn ensure(
        &self,
        target: &Path,
        build: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        // Programs run with another working directory, so what they are told must be absolute.
        let peers = std::path::absolute(target)?.join("peers");
        let output = peers.join(self.name);
        fs::create_dir_all(&output)
            .with_context(|| format!("cannot create {}", output.display()))?;
        let lock = File::create(peers.join(format!("{}.lock", self.name)))?;
        lock.lock()
            .with_context(|| format!("cannot lock the peer {}", self.name))?;
        let (stamp, current) = (output.join("stamp"), self.fingerprint()?);
        if fs::read_to_string(&stamp).is_ok_and(|built| built == current) {
            return Ok(output);
        }
        fs::remove_file(&stamp).or_else(absent_is_fine)?;
        say(&format!(
            "building the test peer {} ({})",
            self.name, self.duration
        ));
        build(&output).with_context(|| format!("cannot build the test peer {}", self.name))?;
        fs::write(&stamp, current)?;
        Ok(output)
    }

    /// SHA-256, in hexadecimal, over name and content of every input and the recipe.
    fn fingerprint(&self) -> Result<String> {
        let mut hash = Sha256::new();
        for input in &self.inputs {
            let path = Self::folder(self.name).join(input);
            let content =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            // Lengths go first, so that no content can pass for the name of the next file.
            hash.update(format!("{} {}\n", input.display(), content.len()));
            hash.update(&content);
        }
        hash.update(&self.recipe);
        Ok(hash
            .finalize()
            .iter()
            .fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").ok();
                text
            }))
    }
}

/// Runs `command` to its end, its output on our stderr.
///
/// # Errors
/// The program is not installed (`install` says what is needed), or it fails.
pub fn run(command: &mut Command, install: &str) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = match command.stdin(Stdio::null()).stdout(io::stderr()).status() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("`{name}` was not found: install {install}, then run the tests again")
        }
        status => status.with_context(|| format!("cannot run `{name}`"))?,
    };
    if !status.success() {
        bail!("`{name}` failed ({status}); it needs {install}");
    }
    Ok(())
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound {
        Ok(())
    } else {
        Err(error)
    }
}

/// Progress goes to stderr: the first build takes minutes, and silence looks like a hang.
fn say(line: &str) {
    writeln!(io::stderr(), "{line}").ok();
}
