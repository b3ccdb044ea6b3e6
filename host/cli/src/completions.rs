//! `gatepass completions`: scripts for shells.

use crate::arguments::{Arguments, Format, Global};
use crate::failure::Failure;
use crate::{output, terminal};
use clap::CommandFactory;
use clap_complete::Shell;

/// Prints the script of a shell.
pub(crate) fn run(global: &Global, shell: Shell) -> Result<(), Failure> {
    output::choose(global.output, &[Format::Table], "completions")?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "gatepass", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}
