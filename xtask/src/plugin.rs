//! Builds the bundled plugins as components.

use crate::cargo;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What a plugin's component is built for.
const TARGET: &str = "wasm32-wasip2";

/// The bundled plugins: a folder under `plugins/` each.
const PLUGINS: &[&str] = &["aws", "azure", "gcp", "generic", "github", "spiffe"];

/// Guests of the tests: a folder under `tests/guests/` each.
const GUESTS: &[&str] = &["hostile"];

/// Builds every plugin to `target/plugins/NAME.wasm`.
pub(crate) fn build() -> Result<()> {
    build_all("plugin", PLUGINS)
}

/// Builds the guests of the tests to `target/guests/NAME.wasm`.
pub(crate) fn build_guests() -> Result<()> {
    build_all("guest", GUESTS)
}

fn build_all(kind: &str, names: &[&str]) -> Result<()> {
    install_target()?;
    let target = cargo::root().join("target");
    let packages: Vec<String> = names
        .iter()
        .map(|name| format!("gatepass-{kind}-{name}"))
        .collect();
    let folder = target.to_string_lossy().into_owned();
    let base = [
        "build",
        "--quiet",
        "--profile",
        "plugin",
        "--target",
        TARGET,
        "--target-dir",
        &folder,
    ];
    let packages = packages
        .iter()
        .flat_map(|package| ["--package", package.as_str()]);
    cargo::run(base.into_iter().chain(packages))
        .with_context(|| format!("cannot build the {kind}s"))?;
    let to = target.join(format!("{kind}s"));
    std::fs::create_dir_all(&to).with_context(|| format!("cannot make {}", to.display()))?;
    names.iter().try_for_each(|name| {
        let built = target
            .join(TARGET)
            .join("plugin")
            .join(format!("gatepass_{kind}_{name}.wasm"));
        place(&built, &to.join(format!("{name}.wasm")))
    })
}

/// Copies a component if it changed, so that what includes it is not built anew for nothing.
fn place(from: &Path, to: &Path) -> Result<()> {
    let built = std::fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if std::fs::read(to).is_ok_and(|old| old == built) {
        return Ok(());
    }
    std::fs::write(to, &built).with_context(|| format!("cannot write {}", to.display()))?;
    let digest: String = Sha256::digest(&built)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    cargo::talk(&format!(
        "built {} ({} bytes, sha256:{digest})",
        to.display(),
        built.len()
    ));
    Ok(())
}

/// Installs the target with rustup, or says what to install.
fn install_target() -> Result<()> {
    if has_target()? {
        return Ok(());
    }
    cargo::talk(&format!("installing the Rust target {TARGET} with rustup"));
    let Some(output) = cargo::output("rustup", &["target", "add", TARGET])? else {
        bail!(
            "the Rust target {TARGET} is missing and there is no rustup to install it: install rustup, or your distribution's package of the standard library for {TARGET}"
        );
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`rustup target add {TARGET}` failed: {}", words.trim());
    }
    Ok(())
}

/// Whether the standard library for the target is there: rustc knows where it would be.
fn has_target() -> Result<bool> {
    let arguments = ["--print", "target-libdir", "--target", TARGET];
    let Some(output) = cargo::output("rustc", &arguments)? else {
        bail!("there is no rustc: install Rust with rustup");
    };
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).is_dir())
}
