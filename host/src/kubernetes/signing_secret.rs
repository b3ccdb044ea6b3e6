//! The signing key in a Secret of type `kubernetes.io/tls`, watched: a rotation acts at once.

use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind};
use crate::signer::{KeyError, KeyHistory, PublishedKeys, SignerError, SigningKey, SigningKeys};
use crate::subject::Namespace;
use futures::{StreamExt as _, TryStream};
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use zeroize::Zeroize as _;

/// The type of a Secret that holds a key and its certificates, as cert-manager writes it.
const TYPE: &str = "kubernetes.io/tls";

/// The item that holds the private key.
const KEY: &str = "tls.key";

/// The item that holds the certificates, the key's own first.
const CERTIFICATES: &str = "tls.crt";

/// The longest that the first answer of the API server is waited for.
const API_TIMEOUT: Duration = Duration::from_secs(10);

/// The key of a Secret, as it is now.
///
/// A Secret that changes acts as soon as the API server tells. If the new one cannot be used, the old
/// key signs on and a warning is logged. If the Secret is deleted, nothing is signed until it is
/// back. Keys that signed are published for as long as what they signed may live.
pub struct SecretSigningKeys {
    shared: Arc<Shared>,
    watching: AbortHandle,
}

struct Shared {
    /// `NAMESPACE/NAME`.
    secret: String,
    clock: Arc<dyn Clock>,
    // A few lines without await: the standard mutex.
    state: Mutex<State>,
    read: watch::Sender<bool>,
    refused: Notify,
}

#[derive(Default)]
struct State {
    history: KeyHistory,
    /// Why there is no key.
    missing: Option<String>,
    /// Whether the API server refuses the host: waiting mends nothing then.
    is_refused: bool,
}

impl SecretSigningKeys {
    /// Begins to watch, in a task of its own that ends with this value. The client's account must
    /// be allowed to list and watch this Secret.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime, which [`tokio::spawn`] needs.
    #[must_use]
    pub fn watch(client: Client, namespace: &Namespace, name: &str) -> Self {
        Self::watch_by(Arc::new(SystemClock), client, namespace, name)
    }

    fn watch_by(clock: Arc<dyn Clock>, client: Client, namespace: &Namespace, name: &str) -> Self {
        let shared = Arc::new(Shared {
            secret: format!("{}/{name}", namespace.as_str()),
            clock,
            state: Mutex::default(),
            read: watch::Sender::new(false),
            refused: Notify::new(),
        });
        let api = Api::namespaced(client, namespace.as_str());
        let events = watch_object::<Secret>(api, name).default_backoff();
        let watching = tokio::spawn(follow(Arc::clone(&shared), events)).abort_handle();
        Self { shared, watching }
    }

    /// Waits until the Secret was read for the first time, or is known to be absent.
    ///
    /// # Errors
    ///
    /// `Unavailable`: the API server did not answer in time; `ServiceAccount`: it refuses the host;
    /// `Configuration`: the Secret is absent, or cannot be used.
    pub async fn ready(&self) -> Result<(), Error> {
        let mut read = self.shared.read.subscribe();
        let first = async {
            tokio::select! {
                first = read.wait_for(|read| *read) => first.map(drop),
                () = self.shared.refused.notified() => Ok(()),
            }
        };
        let first = tokio::time::timeout(API_TIMEOUT, first).await;
        match (first, self.current()) {
            (Ok(Ok(_)), Ok(_)) => Ok(()),
            (_, _) if self.shared.state().is_refused => {
                Err(Error::new(ErrorKind::ServiceAccount, self.shared.reason()))
            }
            (Ok(Ok(_)), Err(reason)) => Err(Error::configuration(reason.to_string())),
            (_, _) => Err(Error::unavailable(self.shared.reason())),
        }
    }
}

impl Drop for SecretSigningKeys {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

impl fmt::Debug for SecretSigningKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SecretSigningKeys")
            .field("secret", &self.shared.secret)
            .finish_non_exhaustive()
    }
}

impl SigningKeys for SecretSigningKeys {
    fn current(&self) -> Result<Arc<SigningKey>, SignerError> {
        let state = self.shared.state();
        let current = state.history.current().map(Arc::clone);
        drop(state);
        current.ok_or_else(|| SignerError::Unavailable(self.shared.reason()))
    }

    fn published(&self, now: SystemTime) -> PublishedKeys {
        self.shared.state().history.published(now)
    }
}

async fn follow<S>(shared: Arc<Shared>, events: S)
where
    S: TryStream<Ok = Option<Secret>, Error = watcher::Error>
        + futures::Stream<Item = Result<Option<Secret>, watcher::Error>>,
{
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(secret) => shared.take(secret),
            Err(error) => shared.miss(&error),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is complete before the next can fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why there is no key.
    fn reason(&self) -> String {
        let why = self.state().missing.clone();
        let why = why.unwrap_or_else(|| "it has not been read yet".into());
        format!("no signing key from secret '{}': {why}", self.secret)
    }

    fn take(&self, secret: Option<Secret>) {
        let now = self.clock.wall();
        let outcome = secret.map(parse);
        let mut state = self.state();
        state.is_refused = false;
        match outcome {
            Some(Ok(key)) => {
                let id = key.verification().id().to_owned();
                state.missing = None;
                if state.history.rotate(key, now) {
                    tracing::info!(secret = %self.secret, key = %id, "signing with a new key");
                }
            }
            Some(Err(reason)) => {
                let kept = state.history.current().is_some();
                tracing::warn!(secret = %self.secret, %reason, kept, "the signing secret cannot be used");
                state.missing = Some(reason.to_string());
            }
            None => {
                tracing::warn!(secret = %self.secret, "the signing secret is absent: nothing is signed");
                state.history.withdraw(now);
                state.missing = Some("it does not exist".into());
            }
        }
        drop(state);
        self.read.send_replace(true);
    }

    /// The watch goes on by itself; until then the key stays.
    fn miss(&self, error: &watcher::Error) {
        let (status, reason) = unread(error);
        tracing::warn!(secret = %self.secret, reason, "cannot watch the signing secret");
        let mut state = self.state();
        state.is_refused = matches!(status, Some(401 | 403));
        if state.history.current().is_none() {
            state.missing = Some(reason);
        }
        if state.is_refused {
            self.refused.notify_one();
        }
    }
}

/// The client's own text may quote an answer, and that answer is the Secret.
fn unread(error: &watcher::Error) -> (Option<u16>, String) {
    let status = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => match error {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        },
        watcher::Error::WatchError(status) => Some(status.code),
        watcher::Error::NoResourceVersion => None,
    };
    let reason = match status {
        Some(401) => "the API server answered 401: renew the host's own login".into(),
        Some(403) => "the API server answered 403: grant the host's own account list and watch of this secret".into(),
        Some(code) => format!("the API server answered {code}"),
        None => "the API server cannot be reached, or its answer cannot be read".into(),
    };
    (status, reason)
}

/// Why a Secret holds no key. Nothing of its content is in it.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("its type must be {TYPE}")]
    Type,
    #[error("it has no {KEY}")]
    NoKey,
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Reads a Secret, and leaves nothing of it behind.
fn parse(mut secret: Secret) -> Result<SigningKey, Unfit> {
    let mut data = secret.data.take().unwrap_or_default();
    let item = |name: &str| data.get(name).map(|value| value.0.as_slice());
    let parsed = match (secret.type_.as_deref(), item(KEY)) {
        (Some(TYPE), Some(key)) => {
            SigningKey::parse(key, item(CERTIFICATES).unwrap_or_default()).map_err(Unfit::from)
        }
        (Some(TYPE), None) => Err(Unfit::NoKey),
        (_, _) => Err(Unfit::Type),
    };
    for value in data.values_mut() {
        value.0.zeroize();
    }
    parsed
}

#[cfg(test)]
mod tests;
