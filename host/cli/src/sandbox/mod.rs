//! `gatepass sandbox`: a Kubernetes API and a cloud on this machine.

pub(crate) mod configuration;
mod file;
mod guide;
pub(crate) mod signing;

use crate::arguments::{Format, Global, Sandbox as Flags};
use crate::failure::Failure;
use crate::{output, terminal};
use file::Files;
use gatepass_sandbox::Sandbox;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs the demonstration's sandbox until a signal ends it, and takes its own files with it.
pub(crate) async fn run(global: &Global, flags: &Flags) -> Result<(), Failure> {
    output::choose(global.output, &[Format::Table], "sandbox")?;
    // Listened for before anything is written, so that no signal leaves a file behind.
    let mut ends = Ends::listen()?;
    let sandbox = start(flags.port).await?;
    let files = Files::write(flags.dir.as_deref(), &contents(&sandbox)?)?;
    terminal::talk(&guide::render(&sandbox, files.directory()));
    ends.wait().await;
    terminal::talk("the sandbox ends\n");
    files.remove();
    sandbox.stop().await;
    Ok(())
}

/// Starts the demonstration's sandbox.
pub(crate) async fn start(port: u16) -> Result<Sandbox, Failure> {
    let started = Sandbox::builder().demo().port(port).start().await;
    let sandbox = started.map_err(|error| Failure::machine("cannot start the sandbox", error))?;
    signing::furnish(&sandbox)?;
    Ok(sandbox)
}

fn contents(sandbox: &Sandbox) -> Result<[(&'static str, String); 3], Failure> {
    let configuration = configuration::of(sandbox).to_yaml()?;
    Ok([
        (file::KUBECONFIG, sandbox.kubernetes().kubeconfig("admin")),
        (file::CONFIGURATION, configuration),
        (file::AUTHORITY, sandbox.ca_pem().to_owned()),
    ])
}

/// The signals that end a program kindly: Ctrl-C, an end by its process id, and a terminal that closes.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Ends {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::machine("cannot listen for signals", error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
