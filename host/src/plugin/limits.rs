//! What one call of a plugin may use, and how that is counted.

use crate::egress::EgressLimits;
use crate::error::Error;
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// What one call of a plugin may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginLimits {
    /// Time on a processor, in steps of one millisecond. 1 s if not set: the slowest guest language
    /// measured needs 1.2 ms for a whole exchange.
    pub cpu: Duration,
    /// The whole call with all its waiting. 30 s if not set.
    pub wall: Duration,
    /// Bytes of all linear memories and tables of the instance together. 64 MiB if not set.
    pub memory: usize,
    /// Calls at once; more wait. 64 if not set.
    pub concurrency: usize,
    /// The longest that a call waits for its turn. 5 s if not set.
    pub queue: Duration,
    /// Lines in the log. 32 if not set; a line is cut at 1 KiB.
    pub log_lines: u32,
    /// What it may send and receive.
    pub egress: EgressLimits,
}

impl PluginLimits {
    /// The most calls at once of one plugin: what the engine's pool has room for.
    pub const MAX_CONCURRENCY: usize = 256;

    /// The largest memory of one call: what a slot of the engine's pool has room for.
    pub const MAX_MEMORY: usize = 64 << 20;

    /// The largest body of a request or of an answer: what crosses the border to a guest at once.
    pub const MAX_BODY_BYTES: usize = 4 << 20;

    /// Checks what is bounded by the engine, so that no limit is other than it is written.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let egress = &self.egress;
        for (what, value, least, most) in [
            ("concurrency", self.concurrency, 1, Self::MAX_CONCURRENCY),
            ("memoryBytes", self.memory, 0, Self::MAX_MEMORY),
            (
                "maxRequestBytes",
                egress.max_request_bytes,
                0,
                Self::MAX_BODY_BYTES,
            ),
            (
                "maxResponseBytes",
                egress.max_response_bytes,
                0,
                Self::MAX_BODY_BYTES,
            ),
        ] {
            if !(least..=most).contains(&value) {
                return Err(Error::configuration(format!(
                    "limit {what}: {value} must be {least} to {most}"
                )));
            }
        }
        Ok(())
    }
}

impl Default for PluginLimits {
    fn default() -> Self {
        Self {
            cpu: Duration::from_secs(1),
            wall: Duration::from_secs(30),
            memory: Self::MAX_MEMORY,
            concurrency: 64,
            queue: Duration::from_secs(5),
            log_lines: 32,
            egress: EgressLimits::default(),
        }
    }
}

/// Handles and host resources: a provider needs a handful for its clocks and its standard streams.
pub(crate) const MAX_HANDLES: usize = 1000;

/// Bytes of randomness in one request of the guest.
pub(crate) const MAX_RANDOM_BYTES: u64 = 64 << 10;

/// Signatures of one call with keys that a plugin brings. A credentials file needs one; the time that
/// they take is not counted against the guest.
pub(crate) const MAX_SIGNATURES: u32 = 8;

/// The largest component that is compiled: 32 MiB, half more than the largest known guest runtime.
pub(crate) const MAX_COMPONENT_BYTES: usize = 32 << 20;

/// Core instances, memories and tables of one component. A component built from one module has at
/// most a handful of each; adapters add some.
pub(crate) const MAX_CORE_INSTANCES: u32 = 60;
pub(crate) const MAX_MEMORIES: u32 = 10;
pub(crate) const MAX_TABLES: u32 = 20;

/// Elements of one table, of eight bytes each, which count as memory.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 20_000;

/// Sums all memories and tables of one instance.
#[derive(Debug)]
pub(crate) struct Meter {
    left: usize,
    pub(crate) exceeded: bool,
}

impl Meter {
    pub(crate) fn new(memory: usize) -> Self {
        Self {
            left: memory,
            exceeded: false,
        }
    }

    fn grow(&mut self, by: usize) -> bool {
        match self.left.checked_sub(by) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.exceeded = true;
                false
            }
        }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(desired.saturating_sub(current)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let elements = desired.saturating_sub(current);
        Ok(desired <= MAX_TABLE_ELEMENTS && self.grow(elements.saturating_mul(size_of::<usize>())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_and_tables_are_one_sum() {
        let mut meter = Meter::new(100);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.memory_growing(0, 30, None).unwrap());
        assert!(!meter.memory_growing(30, 41, None).unwrap());
        assert!(meter.exceeded);
        assert!(meter.table_growing(0, 1, None).unwrap());
        assert!(!meter.table_growing(1, 2, None).unwrap());
    }
}
