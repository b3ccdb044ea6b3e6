//! `cargo xtask`: what cargo alone needs to build, show, test and measure gatepass.

mod cargo;
mod plugin;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Builds, shows, tests and measures gatepass.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Builds the bundled plugins to `target/plugins`
    Plugins,
    /// Runs the main job on the embedded sandbox and prints a table
    Demo {
        /// Print one JSON object on stdout, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Runs every test that needs nothing but this checkout
    Test {
        /// Run only tests whose name holds this
        filter: Option<String>,
    },
    /// Runs the tests against real peers: kube-apiserver, a third-party STS, moto, docker-registry
    E2e {
        /// Run only tests whose name holds this
        filter: Option<String>,
    },
    /// Measures the hot paths
    Bench {
        /// Measure only what holds this in its name
        filter: Option<String>,
    },
}

/// Package and name of each benchmark.
const BENCHES: [(&str, &str); 2] = [("gatepass-tests", "hot_paths"), ("gatepass", "signer")];

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cargo::talk(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<()> {
    plugin::build()?;
    match task {
        Task::Plugins => Ok(()),
        Task::Demo { json } => {
            let json = json.then_some("--json");
            cargo::run(
                ["run", "--quiet", "--package", "gatepass-cli", "--", "demo"]
                    .into_iter()
                    .chain(json),
            )
        }
        Task::Test { filter } => {
            plugin::build_guests()?;
            let filter = filter.as_deref();
            cargo::run(
                ["test", "--workspace", "--exclude", "xtask"]
                    .into_iter()
                    .chain(filter),
            )
        }
        Task::E2e { filter } => {
            plugin::build_guests()?;
            // The whole workspace, so that what `test` built is built with the same features.
            let base = [
                "test",
                "--workspace",
                "--exclude",
                "xtask",
                "--features",
                "gatepass-tests/peers,gatepass-cli/peers",
                "--test",
                "peers",
                "--",
            ];
            cargo::run(
                base.into_iter()
                    .chain(["--nocapture", "--test-threads=1"])
                    .chain(filter.as_deref()),
            )
        }
        Task::Bench { filter } => {
            plugin::build_guests()?;
            for (package, bench) in BENCHES {
                let base = ["bench", "--package", package, "--bench", bench, "--"];
                cargo::run(base.into_iter().chain(filter.as_deref()))?;
            }
            Ok(())
        }
    }
}
