//! The two clocks by which credentials expire, so that tests can move them.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

/// Tells the time on two clocks. A credential is alive only while both call it unexpired: the
/// wall clock is what the other side checks, the monotonic clock is what nobody can set back.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The wall clock.
    fn wall(&self) -> SystemTime;

    /// The monotonic clock.
    fn monotonic(&self) -> Instant;
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn monotonic(&self) -> Instant {
        Instant::now()
    }
}

/// Clocks that stand still until they are moved, each for itself if need be.
///
/// ```
/// use gatepass::clock::{Clock, ManualClock};
/// use std::time::{Duration, SystemTime};
///
/// let clock = ManualClock::at(SystemTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_secs(60));
/// ```
#[derive(Debug)]
pub struct ManualClock {
    // A few lines without await: the standard mutex.
    now: Mutex<(SystemTime, Instant)>,
}

impl ManualClock {
    /// Clocks that stand at this time.
    #[must_use]
    pub fn at(wall: SystemTime) -> Self {
        Self {
            now: Mutex::new((wall, Instant::now())),
        }
    }

    /// Moves both clocks, as time does.
    pub fn advance(&self, by: Duration) {
        let mut now = self.lock();
        now.0 += by;
        now.1 += by;
    }

    /// Sets the wall clock, as an operator or a time server does.
    pub fn set_wall(&self, wall: SystemTime) {
        self.lock().0 = wall;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (SystemTime, Instant)> {
        // Two plain values are never half-written, so a poisoned lock is still good.
        self.now
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> SystemTime {
        self.lock().0
    }

    fn monotonic(&self) -> Instant {
        self.lock().1
    }
}
