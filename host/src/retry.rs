//! When a failed exchange is tried again: decided here, obeyed by the host.
//!
//! Providers do not retry. They sort errors, and the host tries again those that pass, so that
//! every provider does it alike and a deadline holds over all tries.

use crate::error::{Error, ErrorKind};
use std::time::Duration;

/// How often and how long the host tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all; 1 switches retries off. 3 if not set, as the clouds' own SDKs have it.
    pub max_attempts: u32,
    /// The longest wait between two tries; who asks for more gets no further try. 20 s if not set.
    pub max_delay: Duration,
    /// The longest that a caller waits for an answer, over all steps and tries. 60 s if not set.
    pub deadline: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            max_delay: Duration::from_secs(20),
            deadline: Duration::from_secs(60),
        }
    }
}

/// Where delays begin for errors that say "fewer calls" or "later".
const PATIENT_SCALE: Duration = Duration::from_secs(1);

/// Where delays begin for everything else that passes.
const EAGER_SCALE: Duration = Duration::from_millis(50);

impl RetryPolicy {
    /// How long to wait after try number `attempt` (from 1) failed with `error`; `None`: do not try
    /// again. Full jitter: `random` of 0 to 1 spreads callers over the whole delay, and what the other
    /// side asked for is added to the bottom of it.
    #[must_use]
    pub fn delay(&self, attempt: u32, error: &Error, random: f64) -> Option<Duration> {
        let scale = match error.kind() {
            ErrorKind::Throttled | ErrorKind::NotYet => PATIENT_SCALE,
            ErrorKind::Unavailable => EAGER_SCALE,
            _ => return None,
        };
        if attempt >= self.max_attempts {
            return None;
        }
        let ceiling = scale
            .saturating_mul(2_u32.saturating_pow(attempt - 1))
            .min(self.max_delay);
        let wait = error.retry_after().unwrap_or_default();
        let delay = wait.saturating_add(ceiling.mul_f64(random.clamp(0.0, 1.0)));
        (wait <= self.max_delay).then_some(delay.min(self.max_delay.max(wait)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "x")
    }

    #[test]
    fn delays_grow_and_end() {
        let policy = RetryPolicy::default();
        let unavailable = error(ErrorKind::Unavailable);
        assert_eq!(
            policy.delay(1, &unavailable, 1.0),
            Some(Duration::from_millis(50))
        );
        assert_eq!(
            policy.delay(2, &unavailable, 1.0),
            Some(Duration::from_millis(100))
        );
        assert_eq!(policy.delay(3, &unavailable, 1.0), None);
        let throttled = error(ErrorKind::Throttled);
        assert_eq!(
            policy.delay(2, &throttled, 0.5),
            Some(Duration::from_secs(1))
        );
        assert_eq!(policy.delay(1, &throttled, 0.0), Some(Duration::ZERO));
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        let kinds = [
            ErrorKind::Denied,
            ErrorKind::Configuration,
            ErrorKind::Egress,
            ErrorKind::Plugin,
            ErrorKind::ServiceAccount,
        ];
        for kind in kinds {
            assert_eq!(
                RetryPolicy::default().delay(1, &error(kind), 0.5),
                None,
                "{kind}"
            );
        }
    }

    #[test]
    fn what_the_other_side_asks_for_is_the_least() {
        let policy = RetryPolicy::default();
        let asks = |seconds| error(ErrorKind::Throttled).wait(Some(Duration::from_secs(seconds)));
        assert_eq!(policy.delay(1, &asks(5), 0.0), Some(Duration::from_secs(5)));
        assert_eq!(
            policy.delay(1, &asks(21), 0.0),
            None,
            "longer than anybody waits"
        );
    }

    #[test]
    fn no_attempt_number_overflows() {
        let policy = RetryPolicy {
            max_attempts: u32::MAX,
            ..RetryPolicy::default()
        };
        let delay = policy.delay(u32::MAX - 1, &error(ErrorKind::Throttled), 1.0);
        assert_eq!(delay, Some(policy.max_delay));
    }
}
