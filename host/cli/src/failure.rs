//! Why a command did not do what it was asked.

use crate::terminal::visible;
use gatepass::ErrorKind;
use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

/// Why a command failed. [`crate::exit`] turns it into a code; nothing in it is secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The host's own answer, sorted by who must act.
    #[error(transparent)]
    Host(#[from] gatepass::Error),
    /// The command line asks for what cannot be.
    #[error("{message}")]
    Usage {
        message: String,
        advice: Option<String>,
    },
    /// A file or a kubeconfig must be corrected.
    #[error("{message}")]
    Configuration {
        message: String,
        advice: Option<String>,
        source: Option<Cause>,
    },
    /// This machine refuses.
    #[error("{message}")]
    Machine { message: String, source: Cause },
    /// A registry refused or did not answer; the kind says who must act.
    #[error("{message}")]
    Registry {
        kind: ErrorKind,
        message: String,
        advice: Option<String>,
        source: Option<Cause>,
    },
    /// The SPIFFE Workload API refused or did not answer; the kind says who must act.
    #[error("{message}")]
    WorkloadApi {
        kind: ErrorKind,
        message: String,
        advice: Option<String>,
    },
    /// `oci diff` found what it looks for.
    #[error("{reference} and the local files differ (paths: {count})")]
    Difference { reference: String, count: usize },
    /// Steps of the demonstration failed.
    #[error("{failed} of {all} steps failed")]
    Demonstration { failed: usize, all: usize },
}

impl Failure {
    /// A wrong command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Usage {
            message,
            advice: None,
        }
    }

    /// A file or a kubeconfig that must be corrected.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Configuration {
            message,
            advice: None,
            source: None,
        }
    }

    /// A refusal of a registry.
    pub(crate) fn registry(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::Registry {
            kind,
            message,
            advice: None,
            source: None,
        }
    }

    /// A refusal of the SPIFFE Workload API.
    pub(crate) fn workload_api(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::WorkloadApi {
            kind,
            message,
            advice: None,
        }
    }

    /// What this machine refuses.
    pub(crate) fn machine(message: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Machine {
            message: message.into(),
            source: source.into(),
        }
    }

    /// A file that cannot be read.
    pub(crate) fn unreadable(what: &str, path: &std::path::Path, error: std::io::Error) -> Self {
        Self::configuration(format!("cannot read {what} {}", path.display())).because(error)
    }

    /// Adds the cause.
    pub(crate) fn because(mut self, cause: impl Into<Cause>) -> Self {
        if let Self::Configuration { source, .. } | Self::Registry { source, .. } = &mut self {
            *source = Some(cause.into());
        }
        self
    }

    /// Adds what to change.
    pub(crate) fn fix(mut self, text: impl Into<String>) -> Self {
        if let Self::Usage { advice, .. }
        | Self::Configuration { advice, .. }
        | Self::Registry { advice, .. }
        | Self::WorkloadApi { advice, .. } = &mut self
        {
            *advice = Some(text.into());
        }
        self
    }

    /// What to change.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::Host(error) => match (error.advice(), error.retry_after()) {
                (Some(advice), _) => Some(advice.to_owned()),
                (None, Some(wait)) => Some(format!("try again in {} s", wait.as_secs().max(1))),
                (None, None) if error.kind() == ErrorKind::Configuration => {
                    flags(&error.to_string())
                }
                (None, None) => None,
            },
            Self::Usage { advice, .. } | Self::Configuration { advice, .. } => advice.clone(),
            Self::Registry { advice, .. } | Self::WorkloadApi { advice, .. } => advice.clone(),
            Self::Machine { .. } | Self::Demonstration { .. } | Self::Difference { .. } => None,
        }
    }

    /// The causes, outermost first, each once: some errors repeat their cause in their own words.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut said = self.to_string();
        let mut causes = Vec::new();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !said.contains(&text) {
                said = text.clone();
                causes.push(text);
            }
            cause = error.source();
        }
        causes
    }

    /// For people: the sentence, its causes, and what to change.
    pub(crate) fn report(&self) -> String {
        let mut report = format!("error: {}\n", visible(&self.to_string()));
        for cause in self.causes() {
            report.push_str(&format!("caused by: {}\n", visible(&cause)));
        }
        if let Some(advice) = self.advice() {
            report.push_str(&format!("to fix: {}\n", visible(&advice)));
        }
        report
    }
}

/// The words by which the library and its providers call what a flag says.
const FLAGS: &[(&str, &str)] = &[
    ("ServiceAccount", "--service-account"),
    ("address", "--address"),
    ("audience", "--audience"),
    ("audiences", "--audience"),
    ("ca-certificate", "--cluster-ca-file"),
    ("cluster", "--cluster"),
    ("endpoint", "--endpoint"),
    ("region", "--region"),
    ("scope", "--scope"),
    ("scopes", "--scope"),
];

/// Which flags say what a message speaks of.
fn flags(message: &str) -> Option<String> {
    let part = |character: char| !(character.is_alphanumeric() || character == '-');
    let words: Vec<&str> = message.split(part).collect();
    let mut named: Vec<&str> = FLAGS
        .iter()
        .filter(|(word, _)| words.contains(word))
        .map(|(_, flag)| *flag)
        .collect();
    named.dedup();
    (!named.is_empty()).then(|| format!("see {}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot dial: {0}")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn words_of_the_library_are_translated_to_flags() {
        let cases = [
            (
                "set region to that of the token service",
                Some("see --region"),
            ),
            ("audience 'a' and audiences", Some("see --audience")),
            (
                "a cluster needs its name or the address",
                Some("see --address, --cluster"),
            ),
            ("service account 'a/b' lacks the annotation x", None),
            ("regional clusters", None),
        ];
        for (message, expected) in cases {
            assert_eq!(flags(message).as_deref(), expected, "{message}");
        }
    }

    #[test]
    fn a_report_says_each_cause_once_and_what_to_change() {
        let outer = Outer(std::io::Error::other("connection refused"));
        let failure = Failure::configuration("cannot read x\u{1b}")
            .because(outer)
            .fix("write y");
        assert_eq!(
            failure.report(),
            "error: cannot read x\\u{1b}\ncaused by: cannot dial: connection refused\nto fix: write y\n"
        );
    }

    #[test]
    fn a_failure_of_the_host_keeps_its_words() {
        let error = gatepass::CredentialRequest::builder("")
            .build()
            .unwrap_err();
        let report = Failure::from(error).report();
        assert!(
            report.starts_with("error: provider must not be empty"),
            "{report}"
        );
    }
}
