//! Why no credential came, sorted by who must act.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Who must act. The exit codes of the command line follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The cluster or cloud administrator must allow it at the other side.
    Denied,
    /// The operator has not granted the plugin what it tried: a host, an audience, a signer.
    Egress,
    /// The operator has switched the feature off.
    Gate,
    /// The tenant must correct an annotation, a parameter or a name.
    Configuration,
    /// The default ServiceAccount that the operator enforces is missing in the namespace.
    Lockdown,
    /// Allowed, but not yet known everywhere at the other side.
    NotYet,
    /// The operator or the vendor must mend the plugin: it does not load, traps, or lies.
    Plugin,
    /// The cluster's administrator: the account is missing, or no token may be asked for it.
    ServiceAccount,
    /// The other side wants fewer calls.
    Throttled,
    /// A passing fault of a network, a cloud or the API server.
    Unavailable,
    /// The operator has loaded no provider of this name.
    UnknownProvider,
}

impl ErrorKind {
    /// The kind in lower-case words with dashes, for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Egress => "egress",
            Self::Gate => "gate",
            Self::Configuration => "configuration",
            Self::Lockdown => "lockdown",
            Self::NotYet => "not-yet",
            Self::Plugin => "plugin",
            Self::ServiceAccount => "service-account",
            Self::Throttled => "throttled",
            Self::Unavailable => "unavailable",
            Self::UnknownProvider => "unknown-provider",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// Why no credential came. `Display` is one sentence: what was being done to what. The cause is in
/// `source()`. Neither holds a secret. Cheap to clone: callers that wait for one exchange share it.
#[derive(Clone)]
pub struct Error {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    remedy: Option<String>,
    retry_after: Option<Duration>,
    source: Option<Cause>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let inner = Inner {
            kind,
            message: message.into(),
            remedy: None,
            retry_after: None,
            source: None,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Configuration, message)
    }

    pub(crate) fn plugin(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Plugin, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// Adds what to change.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.inner).remedy = Some(remedy.into());
        self
    }

    /// Adds the cause, which must hold no secret.
    pub(crate) fn because(
        mut self,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Arc::make_mut(&mut self.inner).source = Some(Arc::new(source));
        self
    }

    /// Adds how long the other side asked to wait.
    pub(crate) fn wait(mut self, wait: Option<Duration>) -> Self {
        Arc::make_mut(&mut self.inner).retry_after = wait;
        self
    }

    /// Puts what was being done to what in front, and keeps kind, cause and remedy.
    pub(crate) fn during(mut self, doing: impl fmt::Display) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        inner.message = format!("{doing}: {}", inner.message);
        self
    }

    /// Who must act.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// What to change, where more can be said than the message says.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.inner.remedy.as_deref()
    }

    /// Whether every further try fails until somebody edits the request, the configuration or the
    /// plugin: a controller stalls the object instead of trying again.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Configuration
                | ErrorKind::Egress
                | ErrorKind::Gate
                | ErrorKind::Plugin
                | ErrorKind::UnknownProvider
        )
    }

    /// How long the other side asked to wait before the next try, where it said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.inner.retry_after
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.inner.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Error")
            .field("kind", &self.inner.kind)
            .field("message", &self.inner.message)
            .field("advice", &self.inner.remedy)
            .field("retry_after", &self.inner.retry_after)
            .field("source", &self.inner.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.inner.source.as_ref()?;
        Some(source.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_edit_can_mend_is_terminal() {
        let kinds = [
            (ErrorKind::Configuration, true),
            (ErrorKind::Denied, false),
            (ErrorKind::Egress, true),
            (ErrorKind::Gate, true),
            (ErrorKind::Lockdown, false),
            (ErrorKind::NotYet, false),
            (ErrorKind::Plugin, true),
            (ErrorKind::ServiceAccount, false),
            (ErrorKind::Throttled, false),
            (ErrorKind::Unavailable, false),
            (ErrorKind::UnknownProvider, true),
        ];
        for (kind, terminal) in kinds {
            assert_eq!(Error::new(kind, "x").is_terminal(), terminal, "{kind}");
        }
    }

    #[test]
    fn the_cause_stands_in_source_and_not_in_the_message() {
        let cause = std::io::Error::other("connection reset");
        let error = Error::unavailable("cannot reach sts")
            .because(cause)
            .during("exchange for a/b");
        assert_eq!(error.to_string(), "exchange for a/b: cannot reach sts");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("connection reset"));
    }
}
