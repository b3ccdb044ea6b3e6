//! `gatepass`: gets a workload's short-lived credential, and says why when there is none.
//!
//! Standard output is data, standard error is talk. One command is one file; each ends in what
//! [`exit`] turns into the exit code.

mod answer;
mod arguments;
mod bundled;
mod cluster;
mod completions;
mod configuration;
mod demo;
mod exit;
mod explain;
mod failure;
mod git;
mod harden;
mod issuer;
mod kubeconfig;
mod oci;
mod output;
mod plugin;
mod progress;
mod registry;
mod request;
mod sandbox;
mod session;
mod signing;
mod terminal;
mod token;
mod trace;
mod workload_api;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    harden::forbid_core_dumps();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help goes to standard output and a mistake to standard error; a closed pipe is neither.
            let _ = error.print();
            return exit::of_arguments(&error);
        }
    };
    trace::start(arguments.global.verbose);
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::machine("cannot start the asynchronous runtime", error))
        .and_then(|runtime| runtime.block_on(run(arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::talk(&failure.report());
            exit::of(&failure)
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Token(token) => token::run(global, token).await,
        Command::Registry(registry) => registry::run(global, registry).await,
        Command::Git(git) => git::run(global, git).await,
        Command::Kubeconfig(kubeconfig) => kubeconfig::run(global, kubeconfig).await,
        Command::Explain(verb) => explain::run(global, verb).await,
        Command::Issuer(document) => issuer::run(global, *document).await,
        Command::Oci(command) => oci::run(global, command).await,
        Command::Plugin(command) => plugin::run(global, command).await,
        Command::WorkloadApi(command) => workload_api::run(global, command).await,
        Command::Sandbox(sandbox) => sandbox::run(global, sandbox).await,
        Command::Demo(demo) => demo::run(global, demo).await,
        Command::Completions { shell } => completions::run(global, *shell),
        Command::ExitCodes => exit::run(global),
    }
}
