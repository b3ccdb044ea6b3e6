//! What an error of the API server means for who must act.

use crate::error::{Error, ErrorKind};
use crate::text::one_line;
use kube::client::AuthError;
use std::time::Duration;

/// The longest that one answer of the API server is waited for, with all that the client tries again
/// by itself.
pub(super) const API_TIMEOUT: Duration = Duration::from_secs(10);

/// Awaits an answer of the API server, and sorts its error. `rights` are what the host's own account must
/// be allowed.
pub(super) async fn in_time<T>(
    doing: impl Fn() -> String,
    rights: &str,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(API_TIMEOUT, call).await {
        Ok(answer) => answer.map_err(|error| sort(doing(), rights, error)),
        Err(_) => Err(Error::unavailable(format!(
            "{}: no answer within {} s",
            doing(),
            API_TIMEOUT.as_secs()
        ))),
    }
}

/// Sorts an error that came while `doing` something. The client's own text is not repeated: where it
/// quotes an answer that does not parse, that answer may hold a token.
fn sort(doing: String, rights: &str, error: kube::Error) -> Error {
    let kube::Error::Api(status) = error else {
        return Error::unavailable(doing).because(Unanswered::from(&error));
    };
    let kind = match status.code {
        429 => ErrorKind::Throttled,
        500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::ServiceAccount,
    };
    let retry = status
        .details
        .as_ref()
        .map(|details| details.retry_after_seconds);
    let wait = retry
        .filter(|seconds| *seconds > 0)
        .map(|seconds| Duration::from_secs(seconds.into()));
    let error = Error::new(kind, doing).wait(wait);
    let error = match status.code {
        403 => error.remedy(format!("grant the host's own account {rights}")),
        401 => error.remedy(
            "the host's own credentials for the API server are refused: renew its kubeconfig",
        ),
        _ => error,
    };
    let message = match status.reason.as_str() {
        // The client takes an answer that is no Status for the message, whatever it is.
        UNPARSED => "an answer that is no Status of Kubernetes".to_owned(),
        _ => one_line(&status.message, MAX_LINE),
    };
    error.because(Answered {
        code: status.code,
        message,
    })
}

/// What the client says of an answer that it cannot read.
const UNPARSED: &str = "Failed to parse error data";

/// The longest text of the API server that reaches an error, in characters.
const MAX_LINE: usize = 1024;

#[derive(Debug, thiserror::Error)]
#[error("the API server answered {code}: {message}")]
struct Answered {
    code: u16,
    message: String,
}

/// Why there was no answer, without its text.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error("the API server's answer is not what it should be")]
    Unreadable,
    #[error("the login of the kubeconfig failed")]
    Login,
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
}

impl From<&kube::Error> for Unanswered {
    fn from(error: &kube::Error) -> Self {
        match error {
            // Its words may hold all that a login command printed.
            kube::Error::Auth(_) => Self::Login,
            kube::Error::Service(error) if error.downcast_ref::<AuthError>().is_some() => {
                Self::Login
            }
            kube::Error::Service(_) | kube::Error::HyperError(_) => {
                Self::Unreachable(innermost(error))
            }
            _ => Self::Unreadable,
        }
    }
}

/// The innermost cause of a failed connection speaks of sockets and certificates.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: kube::Error) -> String {
        let sorted = sort("doing".into(), "rights", error);
        let mut told = sorted.to_string();
        let mut source = std::error::Error::source(&sorted);
        while let Some(cause) = source {
            told.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        told
    }

    #[test]
    fn what_a_login_command_printed_is_not_told() {
        let printed = || AuthError::AuthExec("canary".into());
        for error in [
            kube::Error::Auth(printed()),
            kube::Error::Service(Box::new(printed())),
        ] {
            let told = told(error);
            assert!(told.contains("login of the kubeconfig"), "{told}");
            assert!(!told.contains("canary"), "{told}");
        }
    }

    #[test]
    fn an_answers_words_do_not_steer_a_terminal() {
        let status = kube::core::Status {
            code: 404,
            message: "no\u{1b}[2J such\u{202e}thing\u{2066}\u{61c}".into(),
            ..kube::core::Status::default()
        };
        let told = told(kube::Error::Api(Box::new(status)));
        assert!(told.ends_with("no [2J such thing  "), "{told:?}");
    }

    #[test]
    fn an_answer_that_is_no_status_is_not_quoted() {
        let status = kube::core::Status {
            code: 502,
            message: "canary".into(),
            reason: UNPARSED.into(),
            ..kube::core::Status::default()
        };
        let told = told(kube::Error::Api(Box::new(status)));
        assert!(told.contains("502"), "{told}");
        assert!(!told.contains("canary"), "{told}");
    }
}
