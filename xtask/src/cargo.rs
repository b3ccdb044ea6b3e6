//! Runs cargo and rustup, and talks on stderr: stdout belongs to what is run.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.parent().map(PathBuf::from).unwrap_or(own)
}

/// A line for people. That stderr is closed is no reason to fail.
pub(crate) fn talk(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The cargo that runs us.
pub(crate) fn command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs cargo and passes its streams through.
pub(crate) fn run<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let mut command = command();
    command.args(arguments);
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("cargo {} ended with {status}", shown(&command));
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let arguments: Vec<_> = command
        .get_args()
        .map(|argument| argument.to_string_lossy())
        .collect();
    arguments.join(" ")
}

/// What a program prints; `None` if there is no such program.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<Option<Output>> {
    let output = Command::new(program)
        .current_dir(root())
        .args(arguments)
        .output();
    match output {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot run {program}")),
    }
}
