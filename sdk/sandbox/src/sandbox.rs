//! The running sandbox.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::aws::Aws;
use crate::azure::Azure;
use crate::builder::{Builder, StartError};
use crate::clock::SandboxClock;
use crate::cloud::Cloud;
use crate::fault::Faults;
use crate::foundation::Foundation;
use crate::github::GitHub;
use crate::google::Google;
use crate::journal::Request;
use crate::kubernetes::Cluster;
use crate::registry::Registry;

/// A cloud and its clusters, until it is stopped or dropped.
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) address: SocketAddr,
    pub(crate) metadata_address: SocketAddr,
    pub(crate) foundation: Arc<Foundation>,
    pub(crate) kubernetes: Arc<Cluster>,
    pub(crate) aws: Arc<Aws>,
    pub(crate) azure: Arc<Azure>,
    pub(crate) google: Arc<Google>,
    pub(crate) github: Arc<GitHub>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) workload: Option<Arc<Cluster>>,
}

impl Sandbox {
    /// The options, all at their defaults.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Starts an empty sandbox.
    ///
    /// # Errors
    ///
    /// See [`Builder::start`].
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Starts the demonstration scenario: tenants `tenant-a` and `tenant-b` with service accounts
    /// whose annotations name AWS roles and applications of Entra that trust exactly their account,
    /// an EKS and an AKS cluster that let those in, container registries, a managed identity of the
    /// machine, and a further cluster that trusts the first one's issuer. On Google Cloud each tenant
    /// has an account that acts as a service account, one that is let in under its own name, and a
    /// repository; one GKE cluster lets both into the tenant's namespace.
    ///
    /// # Errors
    ///
    /// See [`Builder::start`].
    pub async fn demo() -> Result<Self, StartError> {
        Self::builder().demo().start().await
    }

    /// Where every cloud host name is served: point the client's name resolution here.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the metadata services of all clouds are served, as plain HTTP: what stands for
    /// `169.254.169.254` and its like.
    #[must_use]
    pub fn metadata_address(&self) -> SocketAddr {
        self.metadata_address
    }

    /// The certificate authority behind every TLS listener of this sandbox.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        self.foundation.authority.pem()
    }

    /// The management cluster.
    #[must_use]
    pub fn kubernetes(&self) -> &Cluster {
        &self.kubernetes
    }

    /// The demonstration's workload cluster: it takes account tokens of the management cluster whose
    /// audience is its own URL.
    #[must_use]
    pub fn workload(&self) -> Option<&Cluster> {
        self.workload.as_deref()
    }

    /// Starts a further cluster.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub fn add_cluster(&self) -> Result<Arc<Cluster>, StartError> {
        Cluster::start(&self.foundation)
    }

    /// AWS.
    #[must_use]
    pub fn aws(&self) -> &Aws {
        &self.aws
    }

    /// Azure.
    #[must_use]
    pub fn azure(&self) -> &Azure {
        &self.azure
    }

    /// Google Cloud.
    #[must_use]
    pub fn google(&self) -> &Google {
        &self.google
    }

    /// GitHub Actions.
    #[must_use]
    pub fn github(&self) -> &GitHub {
        &self.github
    }

    /// OCI registries.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The fault rules, for every listener.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.foundation.faults
    }

    /// Serves a fixed document under a host name of the test's own, such as the discovery document
    /// and keys of a further issuer: the clouds find them there.
    pub fn publish(&self, host: &str, path: &str, media_type: &str, body: &[u8]) {
        self.cloud.publish(host, path, media_type, body);
    }

    /// Every request so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.foundation.journal.all()
    }

    /// The sandbox's clock.
    #[must_use]
    pub fn clock(&self) -> Arc<SandboxClock> {
        Arc::clone(&self.foundation.clock)
    }

    /// Moves the sandbox's clock forward.
    pub fn advance(&self, by: Duration) {
        self.foundation.clock.advance(by);
    }

    /// Closes every listener and connection and waits until they are gone.
    pub async fn stop(self) {
        for task in self.foundation.end() {
            // Each was cancelled just now; that is the one way it ends.
            let _ = task.await;
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.foundation.end();
    }
}
