//! A lock that cannot be held across an await and does not pass on a panic of another task.

use std::fmt;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub(crate) struct Guarded<T>(Mutex<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Runs `act` with the value; the lock ends with the closure.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        // A test that panicked inside leaves whole values behind: every write is one assignment.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> fmt::Debug for Guarded<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values behind locks here include keys and tokens.
        formatter.write_str("Guarded(..)")
    }
}
