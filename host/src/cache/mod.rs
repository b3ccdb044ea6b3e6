//! Credentials that are still good, each under the key of all its inputs.
//!
//! A value is fresh for four fifths of its life, and at most for the operator's maximum. Callers
//! that miss the same key wait for one exchange; other keys never wait for it.

pub mod key;

use crate::clock::Clock;
use crate::credential::{ClusterAccess, Credential, Origination, RegistryCredential};
use crate::error::Error;
use key::CacheKey;
use moka::ops::compute::Op;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Bounds of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheLimits {
    /// The most credentials that are kept; 0 switches caching off. 100 if not set.
    pub max_entries: u64,
    /// The longest that a credential is served from the cache. One hour if not set.
    pub max_duration: Duration,
}

impl Default for CacheLimits {
    /// The reference controllers' 100 entries, and RFC-0010's hour.
    fn default() -> Self {
        Self {
            max_entries: 100,
            max_duration: Duration::from_secs(3600),
        }
    }
}

/// When a credential is renewed: after four fifths of the life it has left, and not later than the
/// operator's maximum (RFC-0010).
fn fresh_for(life: Duration, max_duration: Duration) -> Duration {
    (life / 5).saturating_mul(4).min(max_duration)
}

/// What the cache keeps.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Access(Arc<Credential>),
    Registry(Arc<RegistryCredential>),
    Cluster(Arc<ClusterAccess>),
}

/// A kind of value that the cache keeps.
pub(crate) trait Keep: Sized {
    fn keep(value: Arc<Self>) -> Kept;
    fn kept(kept: &Kept) -> Option<Arc<Self>>;
    fn expires_at(&self) -> SystemTime;
}

impl Keep for Credential {
    fn keep(value: Arc<Self>) -> Kept {
        Kept::Access(value)
    }

    fn kept(kept: &Kept) -> Option<Arc<Self>> {
        match kept {
            Kept::Access(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn expires_at(&self) -> SystemTime {
        self.expires_at
    }
}

impl Keep for RegistryCredential {
    fn keep(value: Arc<Self>) -> Kept {
        Kept::Registry(value)
    }

    fn kept(kept: &Kept) -> Option<Arc<Self>> {
        match kept {
            Kept::Registry(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn expires_at(&self) -> SystemTime {
        self.login.expires_at
    }
}

impl Keep for ClusterAccess {
    fn keep(value: Arc<Self>) -> Kept {
        Kept::Cluster(value)
    }

    fn kept(kept: &Kept) -> Option<Arc<Self>> {
        match kept {
            Kept::Cluster(value) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn expires_at(&self) -> SystemTime {
        self.login.expires_at
    }
}

#[derive(Clone, Debug)]
struct Entry {
    kept: Kept,
    fresh_for: Duration,
    fresh_until_wall: SystemTime,
    fresh_until: Instant,
}

impl Entry {
    /// Both clocks must call it fresh: the wall clock alone can be set back.
    fn is_fresh(&self, clock: &dyn Clock) -> bool {
        clock.wall() < self.fresh_until_wall && clock.monotonic() < self.fresh_until
    }
}

/// Frees the memory of entries whose time is over, whether or not anybody asks for them.
struct Leave;

impl moka::Expiry<CacheKey, Entry> for Leave {
    fn expire_after_create(&self, _: &CacheKey, entry: &Entry, _: Instant) -> Option<Duration> {
        Some(entry.fresh_for)
    }
}

/// The cache. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Cache {
    entries: Option<moka::future::Cache<CacheKey, Entry>>,
    limits: CacheLimits,
    clock: Arc<dyn Clock>,
}

impl Cache {
    /// An empty cache.
    #[must_use]
    pub fn new(limits: CacheLimits, clock: Arc<dyn Clock>) -> Self {
        let entries = (limits.max_entries > 0 && !limits.max_duration.is_zero()).then(|| {
            moka::future::Cache::builder()
                .max_capacity(limits.max_entries)
                .expire_after(Leave)
                .build()
        });
        Self {
            entries,
            limits,
            clock,
        }
    }

    /// The value of `key` if it is fresh, or what `exchange` makes. Callers that miss the same key at
    /// once run one exchange; its error goes to all of them and is not kept.
    ///
    /// # Cancel safety
    ///
    /// A caller that goes away while it runs the exchange leaves it to another that waits.
    pub(crate) async fn get_or_exchange<T: Keep>(
        &self,
        key: CacheKey,
        exchange: impl Future<Output = Result<T, Error>>,
    ) -> Result<(Arc<T>, Origination), Error> {
        let Some(entries) = &self.entries else {
            return Ok((Arc::new(exchange.await?), Origination::Exchange));
        };
        if let Some(value) = self.fresh(entries, key).await {
            return Ok((value, Origination::Cache));
        }
        let exchanged = AtomicBool::new(false);
        let entry = entries
            .try_get_with(key, async {
                let value = exchange.await?;
                exchanged.store(true, Ordering::Relaxed);
                Ok::<_, Error>(self.entry(value))
            })
            .await
            .map_err(|error| Error::clone(&error))?;
        let value = T::kept(&entry.kept).ok_or_else(collision)?;
        let origination = match exchanged.load(Ordering::Relaxed) {
            true => Origination::Exchange,
            false => Origination::Cache,
        };
        Ok((value, origination))
    }

    /// The number of credentials that are kept.
    pub async fn len(&self) -> u64 {
        let Some(entries) = &self.entries else {
            return 0;
        };
        entries.run_pending_tasks().await;
        entries.entry_count()
    }

    /// Whether none is kept.
    pub async fn is_empty(&self) -> bool {
        self.len().await == 0
    }

    async fn fresh<T: Keep>(
        &self,
        entries: &moka::future::Cache<CacheKey, Entry>,
        key: CacheKey,
    ) -> Option<Arc<T>> {
        let entry = entries.get(&key).await?;
        if entry.is_fresh(self.clock.as_ref()) {
            return T::kept(&entry.kept);
        }
        // Only what is stale leaves: another caller may have renewed it in the meantime.
        let stale = |entry: Option<moka::Entry<CacheKey, Entry>>| {
            let stale = entry.is_some_and(|entry| !entry.value().is_fresh(self.clock.as_ref()));
            std::future::ready(if stale { Op::Remove } else { Op::Nop })
        };
        entries.entry(key).and_compute_with(stale).await;
        None
    }

    fn entry<T: Keep>(&self, value: T) -> Entry {
        let (wall, monotonic) = (self.clock.wall(), self.clock.monotonic());
        let life = value.expires_at().duration_since(wall).unwrap_or_default();
        let fresh_for = fresh_for(life, self.limits.max_duration);
        Entry {
            kept: T::keep(Arc::new(value)),
            fresh_for,
            fresh_until_wall: wall + fresh_for,
            fresh_until: monotonic + fresh_for,
        }
    }
}

/// The lines of different kinds of values differ in their first name, so that this cannot come.
fn collision() -> Error {
    Error::unavailable("the cache holds a value of another kind under this key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::credential::{Material, Origin};
    use crate::request::CredentialRequest;
    use crate::subject::Subject;
    use std::sync::atomic::AtomicUsize;

    const HOUR: Duration = Duration::from_secs(3600);

    fn start() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn key(name: &str) -> CacheKey {
        let request = CredentialRequest::builder(name).build().unwrap();
        key::KeyLines::access(&request, "d", &Subject::Ambient, "", &[], &None).key()
    }

    struct House {
        cache: Cache,
        clock: Arc<ManualClock>,
        exchanges: AtomicUsize,
    }

    impl House {
        fn new(limits: CacheLimits) -> Self {
            let clock = Arc::new(ManualClock::at(start()));
            Self {
                cache: Cache::new(limits, clock.clone()),
                clock,
                exchanges: AtomicUsize::new(0),
            }
        }

        async fn get(&self, name: &str) -> Origination {
            let exchange = async {
                self.exchanges.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                Ok(Credential {
                    material: Material::Bearer("t".into()),
                    expires_at: self.clock.wall() + HOUR,
                    attributes: vec![],
                    origin: Origin::Issued,
                })
            };
            self.cache
                .get_or_exchange(key(name), exchange)
                .await
                .unwrap()
                .1
        }

        fn exchanges(&self) -> usize {
            self.exchanges.load(Ordering::SeqCst)
        }
    }

    #[tokio::test]
    async fn a_credential_is_fresh_for_four_fifths_of_its_life() {
        let house = House::new(CacheLimits::default());
        assert_eq!(house.get("a").await, Origination::Exchange);
        house.clock.advance(Duration::from_secs(48 * 60 - 1));
        assert_eq!(house.get("a").await, Origination::Cache);
        house.clock.advance(Duration::from_secs(1));
        assert_eq!(house.get("a").await, Origination::Exchange);
    }

    #[tokio::test]
    async fn the_operators_maximum_shortens_that() {
        let limits = CacheLimits {
            max_duration: Duration::from_secs(60),
            ..CacheLimits::default()
        };
        let house = House::new(limits);
        house.get("a").await;
        house.clock.advance(Duration::from_secs(60));
        assert_eq!(house.get("a").await, Origination::Exchange);
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_revives_nothing() {
        let house = House::new(CacheLimits::default());
        house.get("a").await;
        house.clock.advance(HOUR);
        house.clock.set_wall(start());
        assert_eq!(house.get("a").await, Origination::Exchange);
    }

    #[tokio::test]
    async fn a_clock_that_is_set_forward_expires_all() {
        let house = House::new(CacheLimits::default());
        house.get("a").await;
        house.clock.set_wall(start() + HOUR);
        assert_eq!(house.get("a").await, Origination::Exchange);
    }

    #[tokio::test]
    async fn size_zero_switches_caching_off() {
        let limits = CacheLimits {
            max_entries: 0,
            ..CacheLimits::default()
        };
        let house = House::new(limits);
        assert_eq!(house.get("a").await, Origination::Exchange);
        assert_eq!(house.get("a").await, Origination::Exchange);
        assert!(house.cache.is_empty().await);
    }

    #[tokio::test]
    async fn the_number_of_entries_is_bounded() {
        let limits = CacheLimits {
            max_entries: 3,
            ..CacheLimits::default()
        };
        let house = House::new(limits);
        for index in 0..20 {
            house.get(&format!("p{index}")).await;
        }
        assert!(house.cache.len().await <= 3);
    }

    #[tokio::test]
    async fn callers_that_miss_at_once_share_one_exchange() {
        let house = House::new(CacheLimits::default());
        let all = futures::future::join_all((0..100).map(|_| house.get("a"))).await;
        assert_eq!(house.exchanges(), 1);
        let own = all
            .iter()
            .filter(|origination| **origination == Origination::Exchange);
        assert_eq!(own.count(), 1);
    }

    #[tokio::test]
    async fn other_keys_do_not_wait_for_an_exchange() {
        let house = House::new(CacheLimits::default());
        let hangs = house
            .cache
            .get_or_exchange::<Credential>(key("hangs"), std::future::pending());
        let other = house.get("other");
        tokio::select! {
            biased;
            _ = hangs => panic!("a pending exchange ended"),
            origination = other => assert_eq!(origination, Origination::Exchange),
        }
    }

    #[tokio::test]
    async fn an_error_is_shared_and_not_kept() {
        let house = House::new(CacheLimits::default());
        let failed = house
            .cache
            .get_or_exchange::<Credential>(key("a"), async { Err(Error::unavailable("down")) })
            .await;
        assert_eq!(failed.unwrap_err().to_string(), "down");
        assert!(house.cache.is_empty().await);
        assert_eq!(house.get("a").await, Origination::Exchange);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_leaves_the_exchange_to_the_next() {
        let house = House::new(CacheLimits::default());
        let first = house
            .cache
            .get_or_exchange::<Credential>(key("a"), std::future::pending());
        let _ = futures::poll!(Box::pin(first));
        assert_eq!(house.get("a").await, Origination::Exchange);
    }
}
