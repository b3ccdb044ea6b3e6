//! Azure under its real host names: Entra, container registries, Resource Manager with AKS, and the
//! metadata endpoint, in the public cloud, in China and for the United States' government.

mod access_token;
mod aks;
mod assertion;
mod authenticator;
mod certificate;
mod cloud;
mod entra;
mod failure;
mod form;
mod identity;
mod metadata;
mod registry;
mod resource_manager;
mod resources;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use uuid::Uuid;

pub use self::aks::{AksCluster, AksRole};
pub use self::certificate::ClientCertificate;
pub use self::cloud::AzureCloud;
pub use self::identity::{AzureError, FederatedCredential};
pub use self::metadata::MetadataPhase;
pub use self::registry::{AzureRegistry, AzureRegistryLogin};

use self::access_token::{Grant, Keys, Proof};
use self::aks::ClusterId;
use self::authenticator::{AksAuthenticator, Mappings};
use self::cloud::Service;
use self::failure::Failure;
use self::identity::Directory;
use self::metadata::Metadata;
use self::resources::Resources;
use crate::answer::{Answer, ServiceError};
use crate::builder::StartError;
use crate::call::Call;
use crate::cloud::CloudService;
use crate::dialer::Dialer;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::kubernetes::Cluster;
use crate::metadata::MetadataService;
use crate::signing_key::LazyKey;

/// Every directory and subscription of Azure, as far as a test has furnished them.
pub struct Azure {
    foundation: Arc<Foundation>,
    directory: Arc<Directory>,
    keys: Arc<Keys>,
    registry_key: LazyKey,
    resources: Arc<Resources>,
    registries: Guarded<BTreeMap<String, Arc<AzureRegistry>>>,
    clusters: Guarded<BTreeMap<String, Arc<AksCluster>>>,
    metadata: Arc<Metadata>,
    metadata_address: SocketAddr,
}

impl Azure {
    pub(crate) fn new(foundation: &Arc<Foundation>, metadata_address: SocketAddr) -> Self {
        let directory = Arc::new(Directory::default());
        let keys = Arc::new(Keys::default());
        let resources = Arc::new(Resources::default());
        let metadata = Metadata::new(
            Arc::clone(&directory),
            Arc::clone(&keys),
            Arc::clone(&resources),
            Arc::clone(&foundation.clock),
        );
        Self {
            foundation: Arc::clone(foundation),
            directory,
            keys,
            registry_key: LazyKey::default(),
            resources,
            registries: Guarded::default(),
            clusters: Guarded::default(),
            metadata: Arc::new(metadata),
            metadata_address,
        }
    }

    pub(crate) fn metadata_service(&self) -> Arc<dyn MetadataService> {
        Arc::clone(&self.metadata) as Arc<_>
    }

    /// Creates a directory of a cloud. `domain` is its other name in a token endpoint's path.
    ///
    /// # Errors
    ///
    /// The ID is not a GUID.
    pub fn tenant(
        &self,
        cloud: AzureCloud,
        tenant_id: &str,
        domain: &str,
    ) -> Result<(), AzureError> {
        self.directory.add_tenant(cloud, tenant_id, domain)
    }

    /// Creates or replaces an application with its service principal; answers the latter's object ID.
    ///
    /// # Errors
    ///
    /// There is no such tenant, or the client ID is not a GUID.
    pub fn application(&self, tenant_id: &str, client_id: &str) -> Result<String, AzureError> {
        let principal = self.directory.add_application(tenant_id, client_id)?;
        Ok(principal.object_id.to_string())
    }

    /// Lets tokens of an outside issuer stand for an application or user-assigned identity.
    ///
    /// # Errors
    ///
    /// There is no such application, it has 20 federated credentials or this one already, or a field
    /// is empty, too long or no https URL.
    pub fn federated_credential(
        &self,
        client_id: &str,
        credential: FederatedCredential,
    ) -> Result<(), AzureError> {
        self.directory.add_federated(client_id, credential)
    }

    /// Lets the federated credentials of an application go unseen for so many exchanges, as new ones
    /// do in the wild: `AADSTS70021`.
    ///
    /// # Errors
    ///
    /// There is no such application.
    pub fn not_yet(&self, client_id: &str, calls: u32) -> Result<(), AzureError> {
        self.directory.hide(client_id, calls)
    }

    /// A new secret of an application.
    ///
    /// # Errors
    ///
    /// There is no such application.
    pub fn secret(&self, client_id: &str) -> Result<String, AzureError> {
        self.directory.add_secret(client_id)
    }

    /// A new certificate of an application, with its private key.
    ///
    /// # Errors
    ///
    /// There is no such application, or no key can be made.
    pub fn certificate(&self, client_id: &str) -> Result<ClientCertificate, StartError> {
        self.directory.add_certificate(client_id)
    }

    /// Makes tokens for a further resource possible, in every directory: its URI or client ID, as in
    /// a scope without `/.default`.
    pub fn resource(&self, audience: &str) {
        self.resources.add(audience);
    }

    /// An access token without asking Entra, for a process that has one already.
    ///
    /// # Errors
    ///
    /// There is no such application, or no key can be made.
    pub fn access_token(
        &self,
        client_id: &str,
        audience: &str,
        life: Duration,
    ) -> Result<String, AzureError> {
        let grant = Grant {
            principal: self.directory.principal(client_id)?,
            audience,
            proof: Proof::Assertion,
            now: self.now(),
            seconds: i64::try_from(life.as_secs()).unwrap_or(i64::from(u32::MAX)),
        };
        let token = self.keys.issue(&grant);
        token.ok_or_else(|| AzureError::new(client_id, "an application that a key can be made for"))
    }

    /// Creates a container registry of a tenant. Its host decides the cloud.
    ///
    /// # Errors
    ///
    /// The host is not that of a registry in the tenant's cloud, or there is no such tenant.
    pub fn registry(&self, host: &str, tenant_id: &str) -> Result<Arc<AzureRegistry>, AzureError> {
        let (cloud, tenant) = self.directory.cloud(tenant_id)?;
        let host = host.to_ascii_lowercase();
        if AzureCloud::of_host(&host) != Some((Service::Registry, cloud)) {
            let expected = "the host of a container registry in the tenant's cloud";
            return Err(AzureError::new(&host, expected));
        }
        let registry = Arc::new(AzureRegistry::new(&host, cloud, tenant));
        self.registries
            .with(|registries| registries.insert(host, Arc::clone(&registry)));
        Ok(registry)
    }

    /// A registry that was created, by its host.
    #[must_use]
    pub fn registry_of(&self, host: &str) -> Option<Arc<AzureRegistry>> {
        self.registries
            .with(|registries| registries.get(host).cloned())
    }

    /// What a registry knows of a user name and password: whose login it is, if it holds.
    #[must_use]
    pub fn verify_registry_login(&self, user: &str, password: &str) -> Option<AzureRegistryLogin> {
        registry::login(self, user, password)
    }

    /// Creates an AKS cluster of a tenant with an API server of its own that takes tokens of Entra.
    /// The subscription in its resource ID belongs to that tenant from now on.
    ///
    /// # Errors
    ///
    /// The ID is not that of an AKS cluster, there is no such tenant, or no port is free.
    pub fn cluster(&self, id: &str, tenant_id: &str) -> Result<Arc<AksCluster>, StartError> {
        let id = ClusterId::parse(id)?;
        let (cloud, tenant) = self.directory.cloud(tenant_id)?;
        let kubernetes = Cluster::start(&self.foundation)?;
        let mappings = Arc::new(Mappings::default());
        kubernetes.add_webhook(Arc::new(AksAuthenticator {
            cloud,
            tenant,
            directory: Arc::clone(&self.directory),
            keys: Arc::clone(&self.keys),
            mappings: Arc::clone(&mappings),
            clock: Arc::clone(&self.foundation.clock),
        }));
        let key = id.key();
        let cluster = Arc::new(AksCluster::new(id, cloud, tenant, kubernetes, mappings));
        self.clusters
            .with(|clusters| clusters.insert(key, Arc::clone(&cluster)));
        Ok(cluster)
    }

    /// A cluster that was created, by its resource ID in any case.
    #[must_use]
    pub fn aks(&self, id: &str) -> Option<Arc<AksCluster>> {
        self.find_cluster(&ClusterId::parse(id).ok()?)
    }

    /// Creates a managed identity and assigns it to the machine: a user-assigned one if it has a
    /// resource ID, else the system's own. Answers its object ID.
    ///
    /// # Errors
    ///
    /// There is no such tenant, or the client ID is not a GUID.
    pub fn managed_identity(
        &self,
        tenant_id: &str,
        client_id: &str,
        resource_id: Option<&str>,
    ) -> Result<String, AzureError> {
        let principal = self.directory.add_application(tenant_id, client_id)?;
        self.metadata.assign(principal, resource_id);
        Ok(principal.object_id.to_string())
    }

    /// The metadata service: what AZURE_POD_IDENTITY_AUTHORITY_HOST takes.
    #[must_use]
    pub fn metadata_url(&self) -> String {
        format!("http://{}", self.metadata_address)
    }

    /// How the metadata service answers the next so many calls.
    pub fn set_metadata_phase(&self, phase: MetadataPhase, calls: u32) {
        self.metadata.set_phase(phase, calls);
    }

    fn now(&self) -> i64 {
        self.foundation.clock.seconds()
    }

    fn dialer(&self) -> &Dialer {
        &self.foundation.dialer
    }

    fn authority_pem(&self) -> &str {
        self.foundation.authority.pem()
    }

    fn knows_resource(&self, cloud: AzureCloud, audience: &str) -> bool {
        self.resources.knows(cloud, audience)
    }

    fn find_cluster(&self, id: &ClusterId) -> Option<Arc<AksCluster>> {
        self.clusters
            .with(|clusters| clusters.get(&id.key()).cloned())
    }

    /// Whose a subscription is; there are those that clusters were created in.
    fn subscription_tenant(&self, cloud: AzureCloud, subscription: Uuid) -> Option<Uuid> {
        self.clusters.with(|clusters| {
            let mut own = clusters.values().filter(|cluster| cluster.cloud == cloud);
            let found = own.find(|cluster| cluster.cluster_id().subscription == subscription);
            found.map(|cluster| cluster.tenant)
        })
    }
}

impl CloudService for Azure {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>> {
        async {
            let (service, cloud) = AzureCloud::of_host(call.host())?;
            match service {
                Service::Entra => Some(entra::answer(self, call, cloud).await),
                Service::ResourceManager => Some(resource_manager::answer(self, call, cloud)),
                Service::Registry => registry::answer(self, call),
            }
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        let (service, _) = AzureCloud::of_host(call.host())?;
        Some(Failure::of_fault(error).answer(service, call, self.now()))
    }

    fn throttled(&self, call: &Call) -> Option<Answer> {
        let (service, _) = AzureCloud::of_host(call.host())?;
        Some(Failure::throttled(service).answer(service, call, self.now()))
    }
}

impl fmt::Debug for Azure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Azure").finish_non_exhaustive()
    }
}
