//! OCI registries under any host name, and those of the clouds under theirs.

mod access;
mod clouds;
mod content;
mod failure;
mod host;
mod name;
mod route;
mod store;
mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::StatusCode;

pub(crate) use self::clouds::RegistryCloud;
pub use self::host::{RegistryError, RegistryHost};

use self::failure::Failure;
use crate::answer::{Answer, ServiceError};
use crate::call::Call;
use crate::cloud::CloudService;
use crate::foundation::Foundation;
use crate::guarded::Guarded;

/// Hosts of clouds are made as they are asked for, up to this many.
const MAXIMUM_HOSTS: usize = 1_024;

/// Every registry of the sandbox.
///
/// The hosts of ECR, Artifact Registry and Container Registry are there without being created, and
/// take the logins that their clouds issue. No request may be larger than 4 MiB: a larger blob goes
/// up in chunks.
pub struct Registry {
    foundation: Arc<Foundation>,
    clouds: Vec<Arc<dyn RegistryCloud>>,
    hosts: Guarded<BTreeMap<String, Arc<RegistryHost>>>,
}

impl Registry {
    pub(crate) fn new(foundation: &Arc<Foundation>, clouds: Vec<Arc<dyn RegistryCloud>>) -> Self {
        Self {
            foundation: Arc::clone(foundation),
            clouds,
            hosts: Guarded::default(),
        }
    }

    /// The registry under a host name; it is created, empty, if it is not there.
    #[must_use]
    pub fn host(&self, name: &str) -> Arc<RegistryHost> {
        let name = name.to_ascii_lowercase();
        let mut clouds = self.clouds.iter();
        let cloud = clouds.find_map(|cloud| Some((Arc::clone(cloud), cloud.challenge(&name)?)));
        self.hosts.with(|hosts| {
            let host = hosts
                .entry(name.clone())
                .or_insert_with(|| Arc::new(RegistryHost::new(&name, &self.foundation, cloud)));
            Arc::clone(host)
        })
    }

    fn find(&self, call: &Call) -> Option<Arc<RegistryHost>> {
        let name = call.host();
        let (known, count) = self
            .hosts
            .with(|hosts| (hosts.get(name).cloned(), hosts.len()));
        let is_cloud = || {
            let mut clouds = self.clouds.iter();
            count < MAXIMUM_HOSTS && clouds.any(|cloud| cloud.challenge(name).is_some())
        };
        let host = known.or_else(|| is_cloud().then(|| self.host(name)))?;
        host.serves(call).then_some(host)
    }
}

impl CloudService for Registry {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>> {
        async {
            let host = self.find(call)?;
            Some(host.answer(call).await)
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        let failure = Failure::new(error.status, &error.code, &error.message);
        self.find(call).map(|_| failure.answer())
    }

    fn throttled(&self, call: &Call) -> Option<Answer> {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let failure = Failure::new(status, "TOOMANYREQUESTS", "too many requests");
        self.find(call).map(|_| failure.answer())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registry").finish_non_exhaustive()
    }
}
