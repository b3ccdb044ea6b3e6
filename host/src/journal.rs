//! The decisions behind one request, in order, for `explain` and for traces at level debug.

use std::sync::{Arc, Mutex, PoisonError};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It went well, or a fact was noted.
    Passed,
    /// It ended the request.
    Refused,
}

/// One decision with its inputs. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What was decided: `gate`, `account`, `identity`, `egress` …
    pub name: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// Inputs and outcome: name and value.
    pub details: Vec<(String, String)>,
}

/// Takes the steps of one request, or nothing: the common case costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    // A few lines without await: the standard mutex.
    steps: Option<Arc<Mutex<Vec<Step>>>>,
}

impl Journal {
    /// A journal that takes nothing.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// A journal that takes every step.
    #[must_use]
    pub fn on() -> Self {
        Self {
            steps: Some(Arc::default()),
        }
    }

    /// Writes a step that passed. The details are made only if somebody reads them.
    pub(crate) fn passed(
        &self,
        name: &'static str,
        details: impl FnOnce() -> Vec<(String, String)>,
    ) {
        self.write(name, Verdict::Passed, details);
    }

    /// Writes a step that ended the request.
    pub(crate) fn refused(
        &self,
        name: &'static str,
        details: impl FnOnce() -> Vec<(String, String)>,
    ) {
        self.write(name, Verdict::Refused, details);
    }

    fn write(
        &self,
        name: &'static str,
        verdict: Verdict,
        details: impl FnOnce() -> Vec<(String, String)>,
    ) {
        // For nobody to read, the details are not even made.
        if self.steps.is_none() && !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let step = Step {
            name,
            verdict,
            details: details(),
        };
        tracing::debug!(step = name, ?verdict, details = ?step.details, "decided");
        if let Some(steps) = &self.steps {
            steps
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(step);
        }
    }

    /// The steps so far.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let Some(steps) = &self.steps else {
            return Vec::new();
        };
        steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Details from pairs of anything that can be shown.
pub(crate) fn details<const N: usize>(
    pairs: [(&str, &dyn std::fmt::Display); N],
) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.to_string()))
        .collect()
}
