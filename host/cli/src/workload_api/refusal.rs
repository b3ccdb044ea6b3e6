//! What the Workload API's errors mean: who must act, and whether it is worth asking again.

use super::socket::{Socket, VARIABLE};
use crate::failure::Failure;
use gatepass::ErrorKind;
use spiffe::WorkloadApiError;
use spiffe::transport::{GrpcStatusCode, TransportError};
use std::error::Error;
use std::io;

/// Most characters of what a server says that are shown.
const MAX_WORDS: usize = 300;

/// Whether the same question may get another answer later. By the standard (SPIFFE Workload API §4.1)
/// one that is wrong does not, and one from a workload that is not known yet does.
pub(super) fn is_passing(error: &WorkloadApiError) -> bool {
    match error {
        WorkloadApiError::NoIdentityIssued
        | WorkloadApiError::PermissionDenied(_)
        | WorkloadApiError::EmptyResponse => true,
        WorkloadApiError::Transport(TransportError::Status(status)) => !matches!(
            status.code(),
            // The last is the client's own: an answer of more than 4 MiB.
            GrpcStatusCode::InvalidArgument
                | GrpcStatusCode::Unimplemented
                | GrpcStatusCode::OutOfRange
        ),
        WorkloadApiError::Transport(error @ TransportError::Connect(_)) => !is_forbidden(error),
        _ => false,
    }
}

/// Whether the socket's file may not be opened by this user.
fn is_forbidden(error: &TransportError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::PermissionDenied;
        }
        cause = error.source();
    }
    false
}

/// No answer before the patience was at an end.
pub(super) fn silent(socket: &Socket) -> Failure {
    Failure::workload_api(
        ErrorKind::Unavailable,
        format!("the Workload API at {socket} did not answer in time"),
    )
    .fix("see whether the agent is healthy, or give --timeout more")
}

/// An error for people, sorted by who must act.
pub(super) fn explain(error: &WorkloadApiError, socket: &Socket) -> Failure {
    match error {
        WorkloadApiError::NoIdentityIssued => denied(socket, ""),
        WorkloadApiError::PermissionDenied(words) => denied(socket, words),
        WorkloadApiError::Transport(TransportError::Status(status)) => {
            of_status(status.code(), status.message(), socket)
        }
        WorkloadApiError::Transport(error) => unreachable(error, socket),
        WorkloadApiError::EmptyResponse => Failure::workload_api(
            ErrorKind::Unavailable,
            format!("the Workload API at {socket} ended without an answer"),
        ),
        other => malformed(&other.to_string(), socket),
    }
}

fn denied(socket: &Socket, words: &str) -> Failure {
    Failure::workload_api(
        ErrorKind::Denied,
        format!(
            "the Workload API at {socket} has no identity for this workload{}",
            said(words)
        ),
    )
    .fix("register the workload: an entry whose selectors match this process, and its parent's agent")
}

fn of_status(code: GrpcStatusCode, words: &str, socket: &Socket) -> Failure {
    let said = said(words);
    let (kind, what) = match code {
        GrpcStatusCode::InvalidArgument => (
            ErrorKind::Configuration,
            format!("the Workload API at {socket} refuses the request as invalid{said}"),
        ),
        GrpcStatusCode::Unimplemented => (
            ErrorKind::Configuration,
            format!("what listens at {socket} does not serve this part of the Workload API{said}"),
        ),
        GrpcStatusCode::OutOfRange => return malformed(words, socket),
        GrpcStatusCode::Unauthenticated => (
            ErrorKind::Denied,
            format!("the Workload API at {socket} does not know who asks{said}"),
        ),
        GrpcStatusCode::ResourceExhausted => (
            ErrorKind::Throttled,
            format!("the Workload API at {socket} wants fewer requests{said}"),
        ),
        other => (
            ErrorKind::Unavailable,
            format!("the Workload API at {socket} is not ready: {other}{said}"),
        ),
    };
    let failure = Failure::workload_api(kind, what);
    match (kind, code) {
        (_, GrpcStatusCode::InvalidArgument) => failure
            .fix("see --audience and --spiffe-id, and that no proxy drops the request's metadata"),
        (_, GrpcStatusCode::Unimplemented) => {
            failure.fix(format!("correct {VARIABLE} or --socket"))
        }
        (ErrorKind::Unavailable | ErrorKind::Throttled, _) => failure.fix("try again later"),
        _ => failure,
    }
}

fn unreachable(error: &TransportError, socket: &Socket) -> Failure {
    let causes = io_cause(error);
    match is_forbidden(error) {
        true => Failure::workload_api(
            ErrorKind::Configuration,
            format!("this user may not open {socket}{causes}"),
        )
        .fix("run as a user or a group that may"),
        false => Failure::workload_api(
            ErrorKind::Unavailable,
            format!("nobody answers at {socket}{causes}"),
        )
        .fix(format!(
            "start the agent, or correct {VARIABLE} or --socket"
        )),
    }
}

/// What the system says, without the layers between.
fn io_cause(error: &TransportError) -> String {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return format!(": {error}");
        }
        cause = error.source();
    }
    String::new()
}

/// An answer that the standard does not allow. Its values are not shown: they may be secret.
pub(super) fn malformed(rule: &str, socket: &Socket) -> Failure {
    Failure::workload_api(
        ErrorKind::Unavailable,
        format!(
            "the Workload API at {socket} answered what the standard does not allow{}",
            said(rule)
        ),
    )
    .fix("report it to whoever runs the agent")
}

/// Words of the other side, cut to a sane length.
fn said(words: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!(": {}", words.chars().take(MAX_WORDS).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    fn status(code: GrpcStatusCode) -> WorkloadApiError {
        TransportError::status(code, "words of the agent").into()
    }

    fn connect(kind: io::ErrorKind) -> WorkloadApiError {
        TransportError::connect(io::Error::from(kind)).into()
    }

    #[test]
    fn every_error_has_its_code_and_is_retried_or_not() {
        use GrpcStatusCode as Code;
        let socket = Socket::Unix("/run/agent.sock".into());
        for (error, code, passes) in [
            (WorkloadApiError::NoIdentityIssued, 4, true),
            (WorkloadApiError::PermissionDenied("x".into()), 4, true),
            (WorkloadApiError::EmptyResponse, 9, true),
            (
                WorkloadApiError::MissingRequiredField { field: "X" },
                9,
                false,
            ),
            (status(Code::Unavailable), 9, true),
            (status(Code::Internal), 9, true),
            (status(Code::Unknown), 9, true),
            (status(Code::DeadlineExceeded), 9, true),
            (status(Code::ResourceExhausted), 9, true),
            (status(Code::OutOfRange), 9, false),
            (status(Code::Unauthenticated), 4, true),
            (status(Code::InvalidArgument), 3, false),
            (status(Code::Unimplemented), 3, false),
            (connect(io::ErrorKind::ConnectionRefused), 9, true),
            (connect(io::ErrorKind::PermissionDenied), 3, false),
        ] {
            let failure = explain(&error, &socket);
            assert_eq!(exit::code(&failure), code, "{error}");
            assert_eq!(is_passing(&error), passes, "{error}");
            let said = failure.report();
            assert!(said.contains("unix:///run/agent.sock"), "{said}");
        }
        assert_eq!(exit::code(&silent(&socket)), 9);
    }

    #[test]
    fn a_flood_of_words_is_cut() {
        let socket = Socket::Unix("/a".into());
        let error = WorkloadApiError::PermissionDenied("w".repeat(100_000));
        assert!(explain(&error, &socket).report().len() < 1_000);
    }
}
