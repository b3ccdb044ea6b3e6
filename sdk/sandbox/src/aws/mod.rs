//! AWS under its real host names: STS, ECR, ECR Public, EKS, and the metadata endpoints.

mod arn;
mod assume_role;
mod authenticator;
mod caller;
mod document;
mod ecr;
mod eks;
mod endpoint;
mod failure;
mod form;
mod identity;
mod metadata;
mod partition;
mod policy;
mod signature;
mod sts;
mod web_identity;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

pub use self::arn::AwsError;
pub use self::ecr::RegistryLogin;
pub use self::eks::EksCluster;
pub use self::identity::{AccessKey, TrustPolicy};

use self::arn::Arn;
use self::authenticator::{EksAuthenticator, Mappings};
use self::caller::Scope;
use self::ecr::Logins;
use self::endpoint::{Endpoint, Service};
use self::failure::{Failure, Protocol};
use self::identity::{Assumption, Identities, OidcProvider, Session};
use self::metadata::{CONTAINER_PATH, Metadata};
use crate::answer::{Answer, ServiceError};
use crate::builder::StartError;
use crate::call::Call;
use crate::clock::Clock;
use crate::cloud::CloudService;
use crate::dialer::Dialer;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::kubernetes::Cluster;
use crate::metadata::MetadataService;

/// Every account and region of AWS, as far as a test has furnished them.
pub struct Aws {
    foundation: Arc<Foundation>,
    identities: Arc<Identities>,
    logins: Logins,
    clusters: Guarded<BTreeMap<Arn, Arc<EksCluster>>>,
    metadata: Arc<Metadata>,
    metadata_address: SocketAddr,
}

impl Aws {
    pub(crate) fn new(foundation: &Arc<Foundation>, metadata_address: SocketAddr) -> Self {
        let identities = Arc::new(Identities::default());
        let metadata = Metadata::new(Arc::clone(&identities), Arc::clone(&foundation.clock));
        Self {
            foundation: Arc::clone(foundation),
            identities,
            logins: Logins::default(),
            clusters: Guarded::default(),
            metadata: Arc::new(metadata),
            metadata_address,
        }
    }

    pub(crate) fn metadata_service(&self) -> Arc<dyn MetadataService> {
        Arc::clone(&self.metadata) as Arc<_>
    }

    /// Registers an IAM OIDC provider: tokens of this issuer (its https URL, as in `iss`) for one of
    /// these audiences are verified. One registration holds for every account.
    pub fn oidc_provider(&self, issuer: &str, audiences: &[&str]) {
        self.identities.set_provider(OidcProvider {
            issuer: issuer.to_owned(),
            audiences: audiences
                .iter()
                .map(|audience| (*audience).to_owned())
                .collect(),
        });
    }

    /// Creates or replaces a role.
    ///
    /// # Errors
    ///
    /// The ARN is not that of an IAM role.
    pub fn role(&self, arn: &str, trust: TrustPolicy) -> Result<(), AwsError> {
        self.identities.set_role(arn, trust)
    }

    /// Creates a user with a long-lived access key.
    ///
    /// # Errors
    ///
    /// The ARN is not that of an IAM user.
    pub fn user(&self, arn: &str) -> Result<AccessKey, AwsError> {
        self.identities.add_user(arn)
    }

    /// A session of a role without asking STS, for a process that has credentials already.
    ///
    /// # Errors
    ///
    /// There is no such role.
    pub fn session(
        &self,
        role_arn: &str,
        session_name: &str,
        life: Duration,
    ) -> Result<AccessKey, AwsError> {
        let role = self.identities.role(role_arn);
        let role = role.ok_or_else(|| AwsError::new(role_arn, "a role that was created"))?;
        let session = self.identities.assume(Assumption {
            role,
            session_name: session_name.to_owned(),
            expires_at: self.now() + i64::try_from(life.as_secs()).unwrap_or(i64::from(u32::MAX)),
            source_identity: None,
            transitive_tags: BTreeMap::new(),
        });
        Ok(session.key)
    }

    /// Refuses an action such as `ecr:GetAuthorizationToken` to a role or user; both may contain `*`.
    pub fn deny(&self, principal_arn: &str, action: &str) {
        self.identities.deny(principal_arn, action);
    }

    /// Creates an EKS cluster with an API server of its own that takes `k8s-aws-v1.` tokens.
    ///
    /// # Errors
    ///
    /// The ARN is not that of an EKS cluster, or no port is free.
    pub fn cluster(&self, arn: &str) -> Result<Arc<EksCluster>, StartError> {
        let wrong = || AwsError::new(arn, "the ARN of an EKS cluster");
        let parsed = Arn::parse(arn).ok_or_else(wrong)?;
        let name = parsed.resource.strip_prefix("cluster/").unwrap_or_default();
        if parsed.service != "eks" || !eks::is_cluster_name(name) {
            return Err(wrong().into());
        }
        let kubernetes = Cluster::start(&self.foundation)?;
        let mappings = Arc::new(Mappings::default());
        kubernetes.add_webhook(Arc::new(EksAuthenticator {
            cluster: name.to_owned(),
            partition: parsed.partition.clone(),
            identities: Arc::clone(&self.identities),
            mappings: Arc::clone(&mappings),
            clock: Arc::clone(&self.foundation.clock),
        }));
        let cluster = Arc::new(EksCluster::new(
            parsed.clone(),
            kubernetes,
            mappings,
            self.now(),
        ));
        self.clusters
            .with(|clusters| clusters.insert(parsed, Arc::clone(&cluster)));
        Ok(cluster)
    }

    /// A cluster that was created, by its ARN.
    #[must_use]
    pub fn eks(&self, arn: &str) -> Option<Arc<EksCluster>> {
        self.find_cluster(&Arn::parse(arn)?)
    }

    /// What a registry knows of a user name and password: whose login it is, if it holds.
    #[must_use]
    pub fn verify_registry_login(&self, user: &str, password: &str) -> Option<RegistryLogin> {
        self.logins
            .find(user, password, self.foundation.clock.now())
    }

    /// The instance metadata service: what AWS_EC2_METADATA_SERVICE_ENDPOINT takes.
    #[must_use]
    pub fn metadata_url(&self) -> String {
        format!("http://{}", self.metadata_address)
    }

    /// The container credentials endpoint: what AWS_CONTAINER_CREDENTIALS_FULL_URI takes.
    #[must_use]
    pub fn container_credentials_url(&self) -> String {
        format!("{}{CONTAINER_PATH}", self.metadata_url())
    }

    /// The role and region of the instance; no role by default, and us-east-1.
    pub fn set_instance(&self, role_arn: Option<&str>, region: &str) {
        self.metadata.set(|settings| {
            settings.instance_role = role_arn.map(str::to_owned);
            settings.region = region.to_owned();
        });
    }

    /// Whether instance metadata asks for a session token (version 2, the default) or serves
    /// requests without one as well.
    pub fn require_metadata_token(&self, required: bool) {
        self.metadata
            .set(|settings| settings.is_token_required = required);
    }

    /// The role of the container and the Authorization header that its requests must carry.
    pub fn set_container(&self, role_arn: Option<&str>, authorization: Option<&str>) {
        self.metadata.set(|settings| {
            settings.container_role = role_arn.map(str::to_owned);
            settings.container_authorization = authorization.map(str::to_owned);
        });
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

    fn find_cluster(&self, arn: &Arn) -> Option<Arc<EksCluster>> {
        self.clusters.with(|clusters| clusters.get(arn).cloned())
    }

    /// The session that signed a request to a service with JSON bodies.
    fn caller(&self, call: &Call, endpoint: &Endpoint) -> Result<Session, Failure> {
        let scope = Scope {
            service: endpoint.service,
            region: &endpoint.region,
            now: self.now(),
        };
        let caller = caller::authenticate(call, &scope, &self.identities);
        caller.map_err(|error| error.failure(Protocol::of(endpoint.service)))
    }

    fn check_permission(
        &self,
        session: &Session,
        action: &str,
        resource: &str,
        status: u16,
    ) -> Result<(), Failure> {
        if !self.identities.denies(&session.principal, action) {
            return Ok(());
        }
        let caller = session.principal.session_arn();
        let message = format!(
            "User: {caller} is not authorized to perform: {action} on resource: {resource} \
             because no identity-based policy allows the {action} action"
        );
        Err(Failure::new(status, "AccessDeniedException", message))
    }
}

impl CloudService for Aws {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>> {
        async {
            let endpoint = Endpoint::of_host(call.host())?;
            Some(match endpoint.service {
                Service::Sts => sts::answer(self, call, &endpoint).await,
                Service::Ecr | Service::EcrPublic => ecr::answer(self, call, &endpoint),
                Service::Eks => eks::answer(self, call, &endpoint),
            })
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        let protocol = Protocol::of(Endpoint::of_host(call.host())?.service);
        let ServiceError {
            status,
            code,
            message,
        } = error;
        Some(Failure::new(status.as_u16(), code, message).answer(protocol, call))
    }

    fn throttled(&self, call: &Call) -> Option<Answer> {
        let protocol = Protocol::of(Endpoint::of_host(call.host())?.service);
        Some(protocol.throttled().answer(protocol, call))
    }
}

impl fmt::Debug for Aws {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Aws").finish_non_exhaustive()
    }
}
