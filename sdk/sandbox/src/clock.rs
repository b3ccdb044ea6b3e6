//! The sandbox's time: a base clock that the test may inject, plus a distance that the test may add.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The wall-clock time now.
    fn now(&self) -> SystemTime;
}

/// The machine's own wall clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The one clock that everything in a sandbox reads: tokens, sessions, signatures.
///
/// Certificates are outside of it: TLS clients judge them by the machine's clock.
#[derive(Debug)]
pub struct SandboxClock {
    base: Arc<dyn Clock>,
    ahead_nanoseconds: AtomicU64,
}

impl SandboxClock {
    pub(crate) fn new(base: Arc<dyn Clock>) -> Self {
        Self {
            base,
            ahead_nanoseconds: AtomicU64::new(0),
        }
    }

    /// Moves the sandbox's time forward; it never moves back. A distance beyond 584 years saturates.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        let add = |ahead: u64| Some(ahead.saturating_add(by));
        // The closure always answers `Some`, so the update cannot fail.
        let _ = self
            .ahead_nanoseconds
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
    }

    /// Whole seconds since the Unix epoch, as JWT and STS count them.
    pub(crate) fn seconds(&self) -> i64 {
        self.timestamp().as_second()
    }

    pub(crate) fn timestamp(&self) -> Timestamp {
        Timestamp::try_from(self.now()).unwrap_or(Timestamp::MAX)
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> SystemTime {
        let ahead = Duration::from_nanos(self.ahead_nanoseconds.load(Ordering::Acquire));
        let base = self.base.now();
        base.checked_add(ahead).unwrap_or(base)
    }
}

/// RFC 3339 in whole seconds, as Kubernetes and AWS print their times.
pub(crate) fn rfc3339(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .unwrap_or(Timestamp::MAX)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}

/// As Entra prints its times: a space in the middle, whole seconds.
pub(crate) fn utc_timestamp(seconds: i64) -> String {
    rfc3339(seconds).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(SystemTime);

    impl Clock for Fixed {
        fn now(&self) -> SystemTime {
            self.0
        }
    }

    #[test]
    fn advancing_adds_up_over_the_injected_clock() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let clock = SandboxClock::new(Arc::new(Fixed(start)));
        clock.advance(Duration::from_secs(5));
        clock.advance(Duration::from_secs(7));
        assert_eq!(clock.seconds(), 1_012);
    }

    #[test]
    fn times_are_printed_in_whole_seconds_of_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc_timestamp(0), "1970-01-01 00:00:00Z");
    }
}
