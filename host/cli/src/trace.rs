//! Tracing to standard error.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts tracing: nothing without `-v`, what happens with one, what is decided on the way with more.
/// Only gatepass's own events: what other libraries trace may hold tokens.
pub(crate) fn start(verbose: u8) {
    let filter = match verbose {
        0 => return,
        1 => "gatepass=info",
        _ => "gatepass=debug",
    };
    let colour = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_ansi(colour)
        .with_writer(std::io::stderr);
    // It fails only if another subscriber is set, and there is none.
    let _ = subscriber.try_init();
}
