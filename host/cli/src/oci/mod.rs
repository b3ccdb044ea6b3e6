//! `gatepass oci`: artifacts in registries, with any credential that gatepass gets.

mod address;
mod choice;
mod connection;
mod diff;
mod docker;
mod list;
mod login;
pub(crate) mod media;
mod pack;
mod pull;
mod push;
mod refusal;
mod registry;
mod relay;
mod tag;
mod tree;
mod unpack;

use crate::arguments::{Format, Global, Oci};
use crate::failure::Failure;
use crate::output;
use crate::terminal;
use serde_json::Value;

const FORMATS: &[Format] = &[Format::Table, Format::Json];

/// Does one of the commands.
pub(crate) async fn run(global: &Global, command: &Oci) -> Result<(), Failure> {
    match command {
        Oci::Push(push) => push::run(global, push).await,
        Oci::Pull(pull) => pull::run(global, pull).await,
        Oci::List(list) => list::run(global, list).await,
        Oci::Tag(tag) => tag::run(global, tag).await,
        Oci::Diff(diff) => diff::run(global, diff).await,
    }
}

/// The output that was asked for, checked before anything is read or sent.
fn format(global: &Global, command: &str) -> Result<Format, Failure> {
    output::choose(global.output, FORMATS, &format!("oci {command}"))
}

/// Prints a result, as JSON or as the table.
fn print(format: Format, json: &Value, table: impl FnOnce() -> String) -> Result<(), Failure> {
    match format {
        Format::Json => terminal::print(output::json_text(json)?.expose()),
        _ => terminal::print(&table()),
    }
}
