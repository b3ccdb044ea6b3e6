//! Where keys come from, and how one follows another.

use super::claims::{CLOCK_TOLERANCE, MAX_LIFETIME, seconds};
use super::failure::SignerError;
use super::signing_key::{SigningKey, VerificationKey};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long a key is published after it signed for the last time: what it signed may live that long,
/// by a clock that may be behind ours.
const AFTERLIFE: Duration = MAX_LIFETIME.saturating_add(CLOCK_TOLERANCE);

/// Where the signing key comes from. Both methods are called for every signature or publication, so
/// that they answer from memory.
pub trait SigningKeys: Send + Sync + fmt::Debug {
    /// The key that signs now.
    ///
    /// # Errors
    ///
    /// `Unavailable`: there is none now.
    fn current(&self) -> Result<Arc<SigningKey>, SignerError>;

    /// The keys by which others check what is signed now, and what was signed and may still live.
    fn published(&self, now: SystemTime) -> PublishedKeys;
}

/// The keys that relying parties are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedKeys {
    /// The one that signs now first.
    pub keys: Vec<Arc<VerificationKey>>,
    /// Grows with every change, in every replica alike (SPIFFE Trust Domain and Bundle §4.1.1): the
    /// second of the last change.
    pub sequence: u64,
}

/// One key that never changes.
#[derive(Clone, Debug)]
pub struct FixedKey(Arc<SigningKey>);

impl FixedKey {
    /// Takes the key.
    #[must_use]
    pub fn new(key: SigningKey) -> Self {
        Self(Arc::new(key))
    }
}

impl SigningKeys for FixedKey {
    fn current(&self) -> Result<Arc<SigningKey>, SignerError> {
        Ok(Arc::clone(&self.0))
    }

    fn published(&self, _: SystemTime) -> PublishedKeys {
        PublishedKeys {
            keys: vec![Arc::clone(self.0.verification())],
            sequence: 1,
        }
    }
}

/// A key that others follow: the state behind a source whose key is rotated.
#[derive(Debug, Default)]
pub struct KeyHistory {
    current: Option<Arc<SigningKey>>,
    earlier: Vec<Earlier>,
    changed: u64,
}

#[derive(Debug)]
struct Earlier {
    key: Arc<VerificationKey>,
    until: SystemTime,
}

impl KeyHistory {
    /// The key that signs now, if there is one.
    #[must_use]
    pub fn current(&self) -> Option<&Arc<SigningKey>> {
        self.current.as_ref()
    }

    /// Lets a key sign from now on. Answers whether it is another than before.
    pub fn rotate(&mut self, key: SigningKey, now: SystemTime) -> bool {
        let same = |current: &Arc<SigningKey>| current.verification() == key.verification();
        if self.current.as_ref().is_some_and(same) {
            // Another chain to the same anchor may come with it.
            self.current = Some(Arc::new(key));
            return false;
        }
        self.withdraw(now);
        self.earlier
            .retain(|earlier| earlier.key != *key.verification());
        self.current = Some(Arc::new(key));
        self.change(now);
        true
    }

    /// Lets no key sign from now on.
    pub fn withdraw(&mut self, now: SystemTime) {
        if let Some(key) = self.current.take() {
            self.earlier.push(Earlier {
                key: Arc::clone(key.verification()),
                until: now.checked_add(AFTERLIFE).unwrap_or(now),
            });
            self.change(now);
        }
    }

    fn change(&mut self, now: SystemTime) {
        self.earlier.retain(|earlier| now < earlier.until);
        self.changed = seconds(now).max(self.changed.saturating_add(1));
    }

    /// See [`SigningKeys::published`].
    #[must_use]
    pub fn published(&self, now: SystemTime) -> PublishedKeys {
        let (living, ended): (Vec<_>, Vec<_>) =
            self.earlier.iter().partition(|earlier| now < earlier.until);
        let current = self
            .current
            .iter()
            .map(|key| Arc::clone(key.verification()));
        let earlier = living.iter().rev().map(|earlier| Arc::clone(&earlier.key));
        let ends = ended.iter().map(|earlier| seconds(earlier.until));
        PublishedKeys {
            keys: current.chain(earlier).collect(),
            sequence: ends.max().unwrap_or(0).max(self.changed),
        }
    }
}
