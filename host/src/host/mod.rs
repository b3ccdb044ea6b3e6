//! The façade: the order of the steps, and nothing else.

mod access;
mod cluster;
mod git;
mod registry;
mod resolution;
mod subject;
mod trust;

pub use trust::TrustPolicy;

use crate::cache::Cache;
use crate::cache::key::CacheKey;
use crate::clock::Clock;
use crate::credential::{ClusterAccess, ClusterReference, Credential, Issued, RegistryCredential};
use crate::error::Error;
use crate::git::GitUrl;
use crate::journal::{Journal, details};
use crate::kubernetes::AccessSource;
use crate::provider::{Call, ChosenBy, Description, Facts, Provider};
use crate::repository::Repository;
use crate::request::CredentialRequest;
use crate::retry::RetryPolicy;
use crate::service_account::{ServiceAccountName, ServiceAccounts};
use cluster::ClusterSource;
use futures::future::BoxFuture;
use resolution::Resolution;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a host says of a tenant's ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tenancy {
    /// Feature gate `ObjectLevelWorkloadIdentity`.
    pub(crate) object_level: bool,
    /// The account of an object that names none, in the object's namespace.
    pub(crate) default_account: Option<String>,
}

/// A provider and what is known of its environment.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) provider: Arc<dyn Provider>,
    /// One entry at most. Callers that need facts at once share one `discover` and its error.
    facts: moka::future::Cache<(), Arc<BTreeMap<String, String>>>,
}

impl Loaded {
    pub(crate) fn new(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            facts: moka::future::Cache::new(1),
        }
    }
}

pub(crate) struct Inner {
    pub(crate) providers: BTreeMap<String, Loaded>,
    pub(crate) accounts: Option<Arc<dyn ServiceAccounts>>,
    /// The account of this process, once it was asked for.
    pub(crate) own_account: tokio::sync::OnceCell<ServiceAccountName>,
    pub(crate) cache: Cache,
    pub(crate) resolutions: moka::future::Cache<CacheKey, Resolution>,
    pub(crate) tenancy: Tenancy,
    pub(crate) retry: RetryPolicy,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Hands out credentials. Cloning shares providers and cache.
///
/// See the [crate documentation](crate) for an example.
#[derive(Clone)]
pub struct CredentialHost {
    pub(crate) inner: Arc<Inner>,
    pub(crate) journal: Journal,
}

impl fmt::Debug for CredentialHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CredentialHost")
            .field("providers", &self.inner.providers.keys())
            .field("cache", &self.inner.cache)
            .finish_non_exhaustive()
    }
}

impl CredentialHost {
    /// The same host, whose decisions are written to a journal.
    #[must_use]
    pub fn explaining(&self, journal: Journal) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            journal,
        }
    }

    /// The providers, by name.
    pub fn providers(&self) -> impl Iterator<Item = &Description> {
        self.inner
            .providers
            .values()
            .map(|loaded| loaded.provider.description())
    }

    /// An access token of the other side: from the cache if it is fresh, exchanged otherwise.
    ///
    /// # Errors
    ///
    /// Sorted by who must act; see [`ErrorKind`](crate::ErrorKind).
    ///
    /// # Cancel safety
    ///
    /// A caller that goes away loses nothing but its own answer: of the others that wait for the same
    /// exchange, one begins it anew.
    pub async fn access_token(
        &self,
        request: &CredentialRequest,
    ) -> Result<Issued<Credential>, Error> {
        let issued = self.in_time(self.access(request, ChosenBy::Caller)).await;
        self.conclude(issued).map(|(issued, _)| issued)
    }

    /// A login to the registry of this repository.
    ///
    /// # Errors
    ///
    /// As [`access_token`](Self::access_token); `Configuration` if the provider does not know the
    /// registry.
    pub async fn registry_credential(
        &self,
        request: &CredentialRequest,
        repository: &Repository,
    ) -> Result<Issued<RegistryCredential>, Error> {
        let issued = self.in_time(self.registry(request, repository)).await;
        self.conclude(issued)
    }

    /// A login to a Git remote.
    ///
    /// # Errors
    ///
    /// As [`access_token`](Self::access_token); `Configuration` if the provider does not know the
    /// remote, or no remotes at all.
    pub async fn git_credential(
        &self,
        request: &CredentialRequest,
        url: &GitUrl,
    ) -> Result<Issued<Credential>, Error> {
        let issued = self.in_time(self.git(request, url)).await;
        self.conclude(issued)
    }

    /// A policy or commands by which the other side comes to trust the subject of a request: nothing is
    /// asked for on its behalf. `issuer` is who signs its tokens; `None`: the API server is asked.
    ///
    /// # Errors
    ///
    /// As [`access_token`](Self::access_token); `Configuration` if the provider knows no such policy.
    pub async fn trust_policy(
        &self,
        request: &CredentialRequest,
        issuer: Option<&str>,
    ) -> Result<TrustPolicy, Error> {
        let policy = self.in_time(self.trust(request, issuer)).await;
        self.conclude(policy)
    }

    /// Access to a remote cluster.
    ///
    /// # Errors
    ///
    /// As [`access_token`](Self::access_token); `Configuration` if the reference is wrong.
    pub async fn cluster_access(
        &self,
        request: &CredentialRequest,
        cluster: &ClusterReference,
    ) -> Result<Issued<ClusterAccess>, Error> {
        let issued = self.in_time(self.cluster(request, cluster)).await;
        self.conclude(issued)
    }

    /// A source of access to a remote cluster for [`kubernetes::client`](crate::kubernetes::client),
    /// which asks it before every request.
    #[must_use]
    pub fn cluster_source(
        &self,
        request: CredentialRequest,
        cluster: ClusterReference,
    ) -> Arc<dyn AccessSource> {
        Arc::new(ClusterSource {
            host: self.clone(),
            request,
            cluster,
        })
    }

    /// The number of credentials in the cache.
    pub async fn cached(&self) -> u64 {
        self.inner.cache.len().await
    }

    fn call<'a>(&'a self, request: &'a CredentialRequest, facts: &'a Facts) -> Call<'a> {
        Call {
            request,
            facts,
            journal: &self.journal,
        }
    }

    fn check(&self, credential: &Credential, provider: &str) -> Result<(), Error> {
        credential
            .check(self.inner.clock.wall())
            .map_err(|error| error.during(format_args!("provider '{provider}'")))
    }

    /// Tries again what passes.
    async fn retrying<'a, T>(
        &self,
        what: &'static str,
        attempt: impl Fn() -> BoxFuture<'a, Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut number = 1;
        loop {
            let error = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(delay) = self.inner.retry.delay(number, &error, fastrand::f64()) else {
                return Err(error);
            };
            let millis = delay.as_millis();
            tracing::debug!(what, attempt = number, %error, delay_ms = millis, "trying again");
            self.journal.passed("retry", || {
                details([
                    ("after attempt", &number),
                    ("of", &what),
                    ("because", &error),
                    ("in ms", &millis),
                ])
            });
            tokio::time::sleep(delay).await;
            number += 1;
        }
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let deadline = self.inner.retry.deadline;
        match tokio::time::timeout(deadline, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::unavailable(format!(
                "no answer within {} ms",
                deadline.as_millis()
            ))),
        }
    }

    fn conclude<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &outcome {
            self.journal.refused("refused", || {
                let mut shown = details([("kind", &error.kind()), ("error", &error)]);
                let mut source = std::error::Error::source(error);
                while let Some(cause) = source {
                    shown.push(("because".into(), cause.to_string()));
                    source = cause.source();
                }
                if let Some(advice) = error.advice() {
                    shown.push(("change".into(), advice.to_owned()));
                }
                shown
            });
        }
        outcome
    }
}

/// What a provider answers breaks a rule that requests have to keep.
fn lies(provider: &str, error: Error) -> Error {
    Error::plugin(format!("provider '{provider}' answers what breaks a rule")).because(error)
}

fn credential_details(credential: &Credential) -> Vec<(String, String)> {
    let mut shown = details([
        ("material", &credential.material().kind()),
        ("expires", &rfc3339(credential.expires_at())),
    ]);
    shown.extend(credential.attributes().iter().cloned());
    shown
}

fn rfc3339(time: std::time::SystemTime) -> String {
    jiff::Timestamp::try_from(time).map_or_else(
        |_| "beyond all calendars".into(),
        |time| format!("{time:.0}"),
    )
}
