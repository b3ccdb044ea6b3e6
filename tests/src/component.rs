//! Components that `cargo xtask plugins` built.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The checkout's `target` folder.
#[must_use]
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join("target")
}

/// A bundled plugin.
///
/// # Errors
///
/// It is not built.
pub fn plugin(name: &str) -> Result<Vec<u8>> {
    read(&target().join("plugins").join(format!("{name}.wasm")))
}

/// A guest of the tests.
///
/// # Errors
///
/// It is not built.
pub fn guest(name: &str) -> Result<Vec<u8>> {
    read(&target().join("guests").join(format!("{name}.wasm")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .with_context(|| format!("{} is missing: run `cargo xtask plugins`", path.display()))
}
