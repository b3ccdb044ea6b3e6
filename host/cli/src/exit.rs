//! Exit codes: who must act, as a number.

use crate::arguments::{Format, Global};
use crate::failure::Failure;
use crate::{output, terminal};
use gatepass::ErrorKind;
use std::process::ExitCode;

const UNEXPECTED: u8 = 1;
const USAGE: u8 = 2;
const CONFIGURATION: u8 = 3;

/// Every code with its meaning, for people and scripts.
const CODES: &[(u8, &str)] = &[
    (0, "done"),
    (
        UNEXPECTED,
        "unexpected: a fault of this machine or gatepass, a failed demo step, or `oci diff` differs",
    ),
    (
        USAGE,
        "usage: the command line is wrong, or the output does not fit the credential",
    ),
    (
        CONFIGURATION,
        "configuration: a request, an annotation, a file or a kubeconfig must be corrected",
    ),
    (4, "denied: the cloud or the service refuses the identity"),
    (
        5,
        "service account: it is missing, or no token may be asked for it",
    ),
    (
        6,
        "gate or lockdown: the feature is off, or the account that is enforced is missing",
    ),
    (7, "egress: the plugin tried what it is not granted"),
    (
        8,
        "plugin: there is none of this name, or it does not load, traps or lies",
    ),
    (
        9,
        "try again: throttled, not known everywhere yet, or out of reach",
    ),
];

/// The code of an error of the host.
pub(crate) fn of_kind(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Configuration => CONFIGURATION,
        ErrorKind::Denied => 4,
        ErrorKind::ServiceAccount => 5,
        ErrorKind::Gate | ErrorKind::Lockdown => 6,
        ErrorKind::Egress => 7,
        ErrorKind::Plugin | ErrorKind::UnknownProvider => 8,
        ErrorKind::Throttled | ErrorKind::NotYet | ErrorKind::Unavailable => 9,
        _ => UNEXPECTED,
    }
}

/// The code of a failure.
pub(crate) fn code(failure: &Failure) -> u8 {
    match failure {
        Failure::Host(error) => of_kind(error.kind()),
        Failure::Usage { .. } => USAGE,
        Failure::Configuration { .. } => CONFIGURATION,
        Failure::Registry { kind, .. } | Failure::WorkloadApi { kind, .. } => of_kind(*kind),
        Failure::Machine { .. } | Failure::Demonstration { .. } | Failure::Difference { .. } => {
            UNEXPECTED
        }
    }
}

/// How the process ends after a failure.
pub(crate) fn of(failure: &Failure) -> ExitCode {
    ExitCode::from(code(failure))
}

/// How the process ends after a command line that asks for help or is wrong.
pub(crate) fn of_arguments(error: &clap::Error) -> ExitCode {
    match error.use_stderr() {
        true => ExitCode::from(USAGE),
        false => ExitCode::SUCCESS,
    }
}

/// Prints all codes.
pub(crate) fn run(global: &Global) -> Result<(), Failure> {
    output::choose(global.output, &[Format::Table], "exit-codes")?;
    terminal::print(&table())
}

/// All codes, one in a line.
pub(crate) fn table() -> String {
    let mut table = String::new();
    for (code, meaning) in CODES {
        table.push_str(&format!("{code:>3}  {meaning}\n"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const KINDS: [(ErrorKind, u8); 11] = [
        (ErrorKind::Configuration, 3),
        (ErrorKind::Denied, 4),
        (ErrorKind::ServiceAccount, 5),
        (ErrorKind::Gate, 6),
        (ErrorKind::Lockdown, 6),
        (ErrorKind::Egress, 7),
        (ErrorKind::Plugin, 8),
        (ErrorKind::UnknownProvider, 8),
        (ErrorKind::Throttled, 9),
        (ErrorKind::NotYet, 9),
        (ErrorKind::Unavailable, 9),
    ];

    #[test]
    fn every_kind_of_error_has_its_documented_code() {
        let documented: BTreeSet<u8> = CODES.iter().map(|(code, _)| *code).collect();
        assert_eq!(documented.len(), CODES.len(), "a code is documented twice");
        for (kind, expected) in KINDS {
            assert_eq!(of_kind(kind), expected, "{kind}");
            assert!(documented.contains(&expected), "{kind}");
        }
    }

    #[test]
    fn the_table_names_every_code_once() {
        let table = table();
        assert_eq!(table.lines().count(), CODES.len());
        assert!(table.contains("  4  denied"), "{table}");
    }
}
