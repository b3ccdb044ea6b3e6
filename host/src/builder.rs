//! How a host is put together.

use crate::cache::{Cache, CacheLimits};
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind};
use crate::host::{CredentialHost, Inner, Loaded, Tenancy};
use crate::journal::Journal;
use crate::provider::Provider;
use crate::retry::RetryPolicy;
use crate::service_account::{ServiceAccountName, ServiceAccounts};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Resolutions are a few strings; a controller has some thousand accounts at most.
const MAX_RESOLUTIONS: u64 = 10_000;
const IDLE_RESOLUTION: Duration = Duration::from_secs(600);

/// Builds a [`CredentialHost`].
#[derive(Debug, Default)]
pub struct CredentialHostBuilder {
    providers: Vec<Arc<dyn Provider>>,
    accounts: Option<Arc<dyn ServiceAccounts>>,
    cache: CacheLimits,
    retry: RetryPolicy,
    tenancy: Tenancy,
    clock: Option<Arc<dyn Clock>>,
}

impl CredentialHost {
    /// Begins a host without providers.
    #[must_use]
    pub fn builder() -> CredentialHostBuilder {
        CredentialHostBuilder::default()
    }
}

impl CredentialHostBuilder {
    /// Adds a provider, under the name that its description says.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider + 'static) -> Self {
        self.providers.push(Arc::new(provider));
        self
    }

    /// Sets where ServiceAccounts and their tokens come from. Without it the host serves
    /// single-tenant requests alone.
    #[must_use]
    pub fn service_accounts(mut self, accounts: impl ServiceAccounts + 'static) -> Self {
        self.accounts = Some(Arc::new(accounts));
        self
    }

    /// Bounds the cache.
    #[must_use]
    pub fn cache(mut self, limits: CacheLimits) -> Self {
        self.cache = limits;
        self
    }

    /// Sets how often and how long the host tries again.
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Switches the feature gate `ObjectLevelWorkloadIdentity`, which is off if not set: with it off,
    /// a request that names a ServiceAccount is an error.
    #[must_use]
    pub fn object_level_workload_identity(mut self, enabled: bool) -> Self {
        self.tenancy.object_level = enabled;
        self
    }

    /// Enforces a ServiceAccount of this name, in the object's namespace, for objects that name none.
    #[must_use]
    pub fn default_service_account(mut self, name: impl Into<String>) -> Self {
        self.tenancy.default_account = Some(name.into());
        self
    }

    /// Sets the clock; the machine's own if not set.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Puts the host together.
    ///
    /// # Errors
    ///
    /// `Gate`: a default account is set with the gate off. `Configuration`: its name is none that
    /// Kubernetes accepts. `Plugin`: two providers have one name.
    pub fn build(self) -> Result<CredentialHost, Error> {
        check_tenancy(&self.tenancy)?;
        let mut providers = BTreeMap::new();
        for provider in self.providers {
            let name = provider.description().name.clone();
            if providers.contains_key(&name) {
                return Err(Error::plugin(format!("two providers are named '{name}'")));
            }
            providers.insert(name, Loaded::new(provider));
        }
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let resolutions = moka::future::Cache::builder()
            .max_capacity(MAX_RESOLUTIONS)
            .time_to_idle(IDLE_RESOLUTION)
            .build();
        let inner = Inner {
            providers,
            accounts: self.accounts,
            own_account: tokio::sync::OnceCell::new(),
            cache: Cache::new(self.cache, Arc::clone(&clock)),
            resolutions,
            tenancy: self.tenancy,
            retry: self.retry,
            clock,
        };
        Ok(CredentialHost {
            inner: Arc::new(inner),
            journal: Journal::off(),
        })
    }
}

fn check_tenancy(tenancy: &Tenancy) -> Result<(), Error> {
    let Some(default) = &tenancy.default_account else {
        return Ok(());
    };
    if !tenancy.object_level {
        return Err(Error::new(
            ErrorKind::Gate,
            "cannot set a default service account when the feature gate ObjectLevelWorkloadIdentity is not enabled",
        ));
    }
    ServiceAccountName::new("default", default).map(|_| ())
}
