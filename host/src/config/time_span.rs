//! Lengths of time, as configuration files write them.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A length of time as Kubernetes writes it: `1h`, `1h30m`, `90s`, `250ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeSpan(pub Duration);

impl std::str::FromStr for TimeSpan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || {
            Error::configuration(format!(
                "duration '{text}' must be written as 1h, 30m, 90s or 250ms"
            ))
        };
        let span: jiff::SignedDuration = text.parse().map_err(|_| refuse())?;
        Duration::try_from(span).map(Self).map_err(|_| refuse())
    }
}

impl TryFrom<String> for TimeSpan {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<TimeSpan> for String {
    fn from(span: TimeSpan) -> Self {
        match (span.0.as_secs(), span.0.subsec_millis()) {
            (seconds, 0) => format!("{seconds}s"),
            (_, _) => format!("{}ms", span.0.as_millis()),
        }
    }
}
