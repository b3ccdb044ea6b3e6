//! Why a verb gave no answer, sorted by who must act.

use std::fmt;
use std::time::Duration;

/// Who must act, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// A pure verb cannot answer without the facts of [`discover`](crate::Provider::discover).
    NeedsFacts,
    /// The tenant must correct an annotation, a parameter or a name.
    InvalidConfiguration,
    /// The other side's administrator must allow it.
    Denied,
    /// Allowed, but not yet known everywhere: the host retries with patience.
    NotYet,
    /// Too many calls: the host retries no sooner than told.
    Throttled,
    /// A passing fault: the host retries.
    Unavailable,
    /// The provider does not do this at all.
    Unsupported,
    /// A fault of the provider itself.
    Internal,
}

/// Why a verb gave no answer. The message is shown to people: it says what was being done to
/// what and what to change, and never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
    retry_after: Option<Duration>,
}

impl Error {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A pure verb asks the host to run `discover` first.
    #[must_use]
    pub fn needs_facts() -> Self {
        Self::new(ErrorCode::NeedsFacts, "facts of the environment are needed")
    }

    /// The tenant must correct something: name the field, its value and the rule.
    pub fn invalid_configuration(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidConfiguration, message)
    }

    /// The other side refused.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Denied, message)
    }

    /// The other side does not know of it yet.
    pub fn not_yet(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotYet, message)
    }

    /// The other side asks for fewer calls.
    pub fn throttled(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Throttled, message)
    }

    /// A passing fault.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// The provider does not do this.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unsupported, message)
    }

    /// The provider or the other side's answer is broken beyond what a caller can mend.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }

    /// Adds how long the other side asked to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The same error in other words: who must act and how long to wait stay.
    ///
    /// ```
    /// use gatepass_sdk::{Error, ErrorCode};
    ///
    /// let error = Error::denied("the key is disabled");
    /// let error = error.reworded(format!("source key-file failed: {error}"));
    /// assert_eq!(error.code(), ErrorCode::Denied);
    /// assert_eq!(error.message(), "source key-file failed: the key is disabled");
    /// ```
    #[must_use]
    pub fn reworded(&self, message: impl Into<String>) -> Self {
        Self {
            code: self.code,
            message: message.into(),
            retry_after: self.retry_after,
        }
    }

    /// Who must act.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The sentence for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How long the other side asked to wait.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_change_neither_who_must_act_nor_when() {
        let wait = Some(Duration::from_secs(7));
        for error in [
            Error::needs_facts(),
            Error::invalid_configuration("old"),
            Error::denied("old"),
            Error::not_yet("old").retry_after(wait),
            Error::throttled("old").retry_after(wait),
            Error::unavailable("old"),
            Error::unsupported("old"),
            Error::internal("old"),
        ] {
            let reworded = error.reworded("new");
            assert_eq!(reworded.message(), "new");
            assert_eq!(reworded.code(), error.code());
            assert_eq!(reworded.wait(), error.wait());
        }
    }
}
