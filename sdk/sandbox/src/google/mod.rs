//! Google Cloud under its real host names: STS, IAM Credentials, OAuth, GKE, and the metadata server.

mod access;
mod account;
mod credentials;
mod endpoint;
mod failure;
mod federation;
mod form;
mod gke;
mod identity;
mod metadata;
mod name;
mod oauth;
mod policy;
mod principal;
mod sts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

pub use self::federation::WorkloadIdentityProvider;
pub use self::gke::GkeCluster;
pub use self::metadata::Metadata;
pub use self::name::GoogleError;

use self::access::{AccessTokens, CLOUD_PLATFORM, USERINFO_EMAIL};
use self::account::Accounts;
use self::endpoint::Service;
use self::failure::{Failure, Protocol};
use self::federation::{Federation, Target, Trust};
use self::gke::GkeAuthenticator;
use self::name::{ClusterName, PoolName, ProviderName, is_project};
use self::policy::{Policies, Resource};
use crate::answer::{Answer, ServiceError};
use crate::builder::StartError;
use crate::call::Call;
use crate::cloud::CloudService;
use crate::dialer::Dialer;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::kubernetes::Cluster;
use crate::listener::Site;
use crate::metadata::MetadataService;
use crate::signing_key::LazyKey;

/// The user name of every registry login at Google.
const REGISTRY_USER: &str = "oauth2accesstoken";

/// Google Cloud, as far as a test has furnished it.
pub struct Google {
    foundation: Arc<Foundation>,
    projects: Guarded<BTreeMap<String, u64>>,
    accounts: Accounts,
    /// Accounts whose tokens may live twelve hours.
    extended: Guarded<BTreeSet<String>>,
    federation: Federation,
    policies: Policies,
    tokens: Arc<AccessTokens>,
    clusters: Guarded<BTreeMap<ClusterName, Arc<GkeCluster>>>,
    metadata: Guarded<Metadata>,
    metadata_address: SocketAddr,
    key: LazyKey,
}

/// A registry login that holds: an access token, as a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoogleLogin {
    /// The e-mail address of an account or user, or the `principal://` name of a federated identity.
    pub principal: String,
    /// When it ends, by the sandbox's clock.
    pub expires_at: SystemTime,
}

impl Google {
    pub(crate) fn new(foundation: &Arc<Foundation>, metadata_address: SocketAddr) -> Self {
        Self {
            foundation: Arc::clone(foundation),
            projects: Guarded::default(),
            accounts: Accounts::default(),
            extended: Guarded::default(),
            federation: Federation::default(),
            policies: Policies::default(),
            tokens: Arc::default(),
            clusters: Guarded::default(),
            metadata: Guarded::default(),
            metadata_address,
            key: LazyKey::default(),
        }
    }

    pub(crate) fn metadata_service(self: &Arc<Self>) -> Arc<dyn MetadataService> {
        Arc::new(metadata::Server(Arc::clone(self)))
    }

    /// Creates a project with its number.
    ///
    /// # Errors
    ///
    /// The ID is none that Google allows.
    pub fn project(&self, id: &str, number: u64) -> Result<(), GoogleError> {
        if !is_project(id) {
            return Err(GoogleError::new(id, "a project ID"));
        }
        self.projects
            .with(|projects| projects.insert(id.to_owned(), number));
        Ok(())
    }

    /// Creates a service account.
    ///
    /// # Errors
    ///
    /// The e-mail address is not `NAME@PROJECT.iam.gserviceaccount.com`.
    pub fn service_account(&self, email: &str) -> Result<(), GoogleError> {
        self.accounts.create(email)
    }

    /// A new key of a service account: the JSON file of type `service_account`.
    ///
    /// # Errors
    ///
    /// There is no such account.
    pub fn service_account_key(&self, email: &str) -> Result<String, StartError> {
        let account = self.accounts.find(email);
        let account = account.ok_or_else(|| unknown_account(email))?;
        let (id, private) = self.accounts.add_key(&account)?;
        let file = json!({
            "type": "service_account",
            "project_id": account.email.project,
            "private_key_id": id,
            "private_key": private,
            "client_email": email,
            "client_id": account.unique_id,
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": oauth::TOKEN_URL,
            "universe_domain": "googleapis.com",
        });
        Ok(file.to_string())
    }

    /// The credentials of a user who has logged in with `gcloud auth application-default login`: the
    /// JSON file of type `authorized_user`.
    #[must_use]
    pub fn authorized_user(&self, email: &str) -> String {
        let (token, consent) = self.accounts.consent(email);
        let file = json!({
            "type": "authorized_user",
            "account": email,
            "client_id": consent.client_id,
            "client_secret": consent.client_secret,
            "refresh_token": token,
            "universe_domain": "googleapis.com",
        });
        file.to_string()
    }

    /// Creates or replaces a provider of a workload identity pool, by its name
    /// `projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER`.
    ///
    /// # Errors
    ///
    /// The name is not of this form.
    pub fn provider(
        &self,
        name: &str,
        provider: WorkloadIdentityProvider,
    ) -> Result<(), GoogleError> {
        let name = provider_name(name)?;
        let target = Target::Provider(name.clone());
        self.federation.set(target, Trust::Provider(name, provider));
        Ok(())
    }

    /// Deletes a provider.
    ///
    /// # Errors
    ///
    /// The name is not that of a provider.
    pub fn remove_provider(&self, name: &str) -> Result<(), GoogleError> {
        self.federation
            .remove(&Target::Provider(provider_name(name)?));
        Ok(())
    }

    /// Takes the account tokens of a cluster as those of a GKE cluster with this name: their audience
    /// is `PROJECT.svc.id.goog`, and that of the exchange
    /// `identitynamespace:PROJECT.svc.id.goog:https://container.googleapis.com/v1/NAME`.
    ///
    /// # Errors
    ///
    /// The name is not `projects/PROJECT/locations/LOCATION/clusters/CLUSTER`, or the project was not
    /// created.
    pub fn fleet_issuer(&self, name: &str, issuer: &str) -> Result<(), GoogleError> {
        let cluster = cluster_name(name)?;
        let number = self.number(&cluster.project)?;
        let trust = Trust::Cluster {
            issuer: issuer.to_owned(),
            pool: PoolName {
                project: number.to_string(),
                pool: format!("{}.svc.id.goog", cluster.project),
            },
        };
        self.federation.set(Target::Cluster(cluster), trust);
        Ok(())
    }

    /// Binds a role to a member on a project, `projects/-/serviceAccounts/E-MAIL` or
    /// `projects/PROJECT/locations/LOCATION/repositories/REPOSITORY`.
    ///
    /// # Errors
    ///
    /// The resource or member has no form that IAM knows, or the role is not one that decides over
    /// something here.
    pub fn bind(&self, resource: &str, role: &str, member: &str) -> Result<(), GoogleError> {
        self.policies.bind(resource, role, member)
    }

    /// Takes a binding away.
    ///
    /// # Errors
    ///
    /// As [`Google::bind`].
    pub fn unbind(&self, resource: &str, role: &str, member: &str) -> Result<(), GoogleError> {
        self.policies.unbind(resource, role, member)
    }

    /// Lets access tokens of a service account live up to twelve hours: the organisation policy
    /// `constraints/iam.allowServiceAccountCredentialLifetimeExtension`.
    pub fn extend_lifetime(&self, email: &str) {
        self.extended
            .with(|extended| extended.insert(email.to_owned()));
    }

    /// Creates a GKE cluster with an API server of its own that takes Google's access tokens, and
    /// whose account tokens can be exchanged.
    ///
    /// # Errors
    ///
    /// The name is not `projects/PROJECT/locations/LOCATION/clusters/CLUSTER`, the project was not
    /// created, or no port is free.
    pub fn cluster(&self, name: &str) -> Result<Arc<GkeCluster>, StartError> {
        let parsed = cluster_name(name)?;
        let kubernetes = Cluster::start(&self.foundation)?;
        self.fleet_issuer(name, &kubernetes.issuer())?;
        kubernetes.add_webhook(Arc::new(GkeAuthenticator {
            tokens: Arc::clone(&self.tokens),
            clock: Arc::clone(&self.foundation.clock),
        }));
        let cluster = Arc::new(GkeCluster::new(parsed.clone(), kubernetes, self.now()));
        self.clusters
            .with(|clusters| clusters.insert(parsed, Arc::clone(&cluster)));
        Ok(cluster)
    }

    /// A cluster that was created, by its name.
    #[must_use]
    pub fn gke(&self, name: &str) -> Option<Arc<GkeCluster>> {
        self.find_cluster(&ClusterName::parse(name)?)
    }

    /// An access token of a service account without asking anybody, for a process that has one
    /// already.
    ///
    /// # Errors
    ///
    /// There is no such account.
    pub fn access_token(
        &self,
        email: &str,
        scopes: &[&str],
        life: Duration,
    ) -> Result<String, GoogleError> {
        let account = self.accounts.find(email);
        let account = account.ok_or_else(|| unknown_account(email))?;
        let seconds = i64::try_from(life.as_secs()).unwrap_or(i64::from(u32::MAX));
        Ok(self.tokens.issue(access::Access {
            principal: account.principal(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            expires_at: self.now() + seconds,
        }))
    }

    /// What Artifact Registry knows of a user name and password: whose login it is, if it holds.
    #[must_use]
    pub fn verify_registry_login(&self, user: &str, password: &str) -> Option<GoogleLogin> {
        if user != REGISTRY_USER {
            return None;
        }
        let access = self.tokens.find(password, self.now())?;
        let expires_at = u64::try_from(access.expires_at).ok()?;
        access.has_scope(&[CLOUD_PLATFORM]).then(|| GoogleLogin {
            principal: access.principal.name(),
            expires_at: SystemTime::UNIX_EPOCH + Duration::from_secs(expires_at),
        })
    }

    /// Whether the identity behind a login may pull from (or push to) a repository
    /// `projects/PROJECT/locations/LOCATION/repositories/REPOSITORY`.
    #[must_use]
    pub fn may_use_repository(&self, token: &str, repository: &str, push: bool) -> bool {
        let permission = if push {
            policy::UPLOAD
        } else {
            policy::DOWNLOAD
        };
        let Ok(repository) = Resource::parse(repository) else {
            return false;
        };
        let access = self.tokens.find(token, self.now());
        access.is_some_and(|access| {
            access.has_scope(&[CLOUD_PLATFORM])
                && self
                    .policies
                    .permits(&access.principal, permission, &repository)
        })
    }

    /// What the metadata server says from now on.
    pub fn set_metadata(&self, metadata: Metadata) {
        self.metadata.with(|current| *current = metadata);
    }

    /// The metadata server's host and port: what GCE_METADATA_HOST takes.
    #[must_use]
    pub fn metadata_host(&self) -> String {
        self.metadata_address.to_string()
    }

    pub(crate) fn now(&self) -> i64 {
        self.foundation.clock.seconds()
    }

    fn dialer(&self) -> &Dialer {
        &self.foundation.dialer
    }

    fn authority_pem(&self) -> &str {
        self.foundation.authority.pem()
    }

    fn default_scopes(&self) -> Vec<String> {
        vec![CLOUD_PLATFORM.to_owned(), USERINFO_EMAIL.to_owned()]
    }

    fn number(&self, project: &str) -> Result<u64, GoogleError> {
        let number = self
            .projects
            .with(|projects| projects.get(project).copied());
        number.ok_or_else(|| GoogleError::new(project, "a project that was created"))
    }

    fn find_cluster(&self, name: &ClusterName) -> Option<Arc<GkeCluster>> {
        self.clusters.with(|clusters| clusters.get(name).cloned())
    }

    /// The cluster whose endpoint has this host name.
    fn cluster_of_host(&self, host: &str) -> Option<Arc<GkeCluster>> {
        self.clusters.with(|clusters| {
            let mut clusters = clusters.values();
            clusters
                .find(|cluster| cluster.dns_endpoint() == host)
                .cloned()
        })
    }
}

impl CloudService for Google {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>> {
        async {
            if let Some(cluster) = self.cluster_of_host(call.host()) {
                return Some(gke::connect(self, call, &cluster).await);
            }
            Some(match Service::of_host(call.host())? {
                Service::Sts => sts::answer(self, call).await,
                Service::IamCredentials => credentials::answer(self, call),
                Service::OAuth => oauth::answer(self, call),
                Service::Container => gke::answer(self, call),
                Service::Accounts => identity::discovery(call),
                Service::Certificates => identity::keys(self, call),
            })
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        if let Some(cluster) = self.cluster_of_host(call.host()) {
            return Some(Site::error(cluster.kubernetes(), call, error));
        }
        let protocol = Protocol::of(Service::of_host(call.host())?);
        let ServiceError {
            status,
            code,
            message,
        } = error;
        Some(Failure::new(status.as_u16(), code, message).answer(protocol))
    }

    fn throttled(&self, call: &Call) -> Option<Answer> {
        Service::of_host(call.host()).map(failure::throttled)
    }
}

impl fmt::Debug for Google {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Google").finish_non_exhaustive()
    }
}

fn provider_name(name: &str) -> Result<ProviderName, GoogleError> {
    let expected = "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER";
    ProviderName::parse(name).ok_or_else(|| GoogleError::new(name, expected))
}

fn cluster_name(name: &str) -> Result<ClusterName, GoogleError> {
    let expected = "projects/PROJECT/locations/LOCATION/clusters/CLUSTER";
    ClusterName::parse(name).ok_or_else(|| GoogleError::new(name, expected))
}

fn unknown_account(email: &str) -> GoogleError {
    GoogleError::new(email, "a service account that was created")
}
