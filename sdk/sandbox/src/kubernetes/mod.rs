//! A Kubernetes cluster: its API server on a listener of its own, and what a test sets up in it.

mod account_token;
mod authentication;
mod authorization;
mod discovery;
mod kubeconfig;
mod object;
mod resource;
mod review;
mod route;
mod selector;
mod server;
mod status;
mod store;
mod watch;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

pub use self::authentication::TrustedIssuer;
pub(crate) use self::authentication::{Authenticator, User};
pub use self::authorization::Rule;

use self::authentication::{Authentication, OwnAccounts};
use self::authorization::Authorization;
use self::resource::Resource;
use self::status::Refusal;
use self::store::{Key, Store};
use crate::builder::StartError;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::json::{at, put};
use crate::signing_key::LazyKey;

/// The user whose token `kubeconfig("admin")` holds.
const ADMIN: &str = "admin";

/// One cluster: an API server at its own `https://127.0.0.1:PORT`.
#[derive(Debug)]
pub struct Cluster {
    foundation: Arc<Foundation>,
    address: SocketAddr,
    store: Arc<Store>,
    authentication: Authentication,
    authorization: Authorization,
    key: LazyKey,
    longest_token: Guarded<Option<Duration>>,
}

/// A setup step that the API server's own rules refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cluster refuses {what}: {why}")]
pub struct SetupError {
    what: String,
    why: String,
}

impl Cluster {
    pub(crate) fn start(foundation: &Arc<Foundation>) -> Result<Arc<Self>, StartError> {
        let socket = Foundation::reserve(0)?;
        let cluster = Arc::new(Self {
            foundation: Arc::clone(foundation),
            address: socket.local_addr()?,
            store: Arc::new(Store::new()),
            authentication: Authentication::new(),
            authorization: Authorization::new(),
            key: LazyKey::default(),
            longest_token: Guarded::default(),
        });
        for namespace in ["default", "kube-system"] {
            cluster.apply_namespace(namespace)?;
        }
        foundation.serve_tls(socket, Arc::clone(&cluster) as Arc<_>)?;
        Ok(cluster)
    }

    /// The API server's socket address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The API server's host and port: how faults and recorded requests name this cluster.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The issuer in this cluster's account tokens, which is also their default audience: its URL.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.url()
    }

    /// The bearer token of a user: of the administrator for `admin`, else of one without rights.
    #[must_use]
    pub fn token(&self, user: &str) -> String {
        let groups = if user == ADMIN {
            vec!["system:masters".to_owned()]
        } else {
            Vec::new()
        };
        self.authentication.fixed_token(user, &groups)
    }

    /// A kubeconfig (YAML) that logs a user in with that token; `admin` may do everything.
    #[must_use]
    pub fn kubeconfig(&self, user: &str) -> String {
        kubeconfig::yaml(
            &self.url(),
            self.foundation.authority.pem(),
            user,
            &self.token(user),
        )
    }

    /// Creates a namespace, with its `default` account, if it is not there.
    ///
    /// # Errors
    ///
    /// The name is none that Kubernetes allows.
    pub fn apply_namespace(&self, name: &str) -> Result<(), SetupError> {
        let key = Key::new(Resource::Namespaces, "", name);
        if self.store.find(&key).is_some() {
            return Ok(());
        }
        let created = self
            .objects()
            .create(Resource::Namespaces, "", named("", name));
        created
            .map(drop)
            .map_err(|refusal| SetupError::new(&key, &refusal))
    }

    /// Creates or replaces a service account with exactly these annotations.
    ///
    /// # Errors
    ///
    /// A name is none that Kubernetes allows.
    pub fn apply_service_account(
        &self,
        namespace: &str,
        name: &str,
        annotations: &[(&str, &str)],
    ) -> Result<(), SetupError> {
        let mut account = named(namespace, name);
        put(
            &mut account,
            &["metadata", "annotations"],
            json!(text_map(annotations)),
        );
        self.apply(Resource::ServiceAccounts, namespace, name, account)
    }

    /// The token of an account as the kubelet puts it into a volume of a pod: for these audiences, good
    /// for an hour.
    ///
    /// # Errors
    ///
    /// There is no such account.
    pub fn volume_token(
        &self,
        namespace: &str,
        name: &str,
        audiences: &[&str],
    ) -> Result<String, SetupError> {
        let key = Key::new(Resource::ServiceAccounts, namespace, name);
        let audiences: Vec<String> = audiences.iter().map(|one| (*one).to_owned()).collect();
        account_token::of_volume(&key, &audiences, &self.own_accounts())
            .map_err(|refusal| SetupError::new(&key, &refusal))
    }

    /// Creates or replaces a secret with these entries.
    ///
    /// # Errors
    ///
    /// A name is none that Kubernetes allows.
    pub fn apply_secret(
        &self,
        namespace: &str,
        name: &str,
        data: &[(&str, &str)],
    ) -> Result<(), SetupError> {
        let mut secret = named(namespace, name);
        put(&mut secret, &["stringData"], json!(text_map(data)));
        self.apply(Resource::Secrets, namespace, name, secret)
    }

    /// Creates or replaces a secret of type `kubernetes.io/tls` with `tls.crt` and `tls.key`.
    ///
    /// # Errors
    ///
    /// A name is none that Kubernetes allows.
    pub fn apply_tls_secret(
        &self,
        namespace: &str,
        name: &str,
        certificate: &str,
        key: &str,
    ) -> Result<(), SetupError> {
        let mut secret = named(namespace, name);
        let data = json!({"tls.crt": certificate, "tls.key": key});
        put(&mut secret, &["stringData"], data);
        put(&mut secret, &["type"], json!("kubernetes.io/tls"));
        self.apply(Resource::Secrets, namespace, name, secret)
    }

    /// Creates or replaces a config map with these entries.
    ///
    /// # Errors
    ///
    /// A name is none that Kubernetes allows.
    pub fn apply_config_map(
        &self,
        namespace: &str,
        name: &str,
        data: &[(&str, &str)],
    ) -> Result<(), SetupError> {
        let mut map = named(namespace, name);
        put(&mut map, &["data"], json!(text_map(data)));
        self.apply(Resource::ConfigMaps, namespace, name, map)
    }

    /// Creates or replaces a pod that runs as this account; nothing runs, but tokens can be bound to it.
    ///
    /// # Errors
    ///
    /// A name is none that Kubernetes allows.
    pub fn apply_pod(
        &self,
        namespace: &str,
        name: &str,
        service_account: &str,
    ) -> Result<(), SetupError> {
        let mut pod = named(namespace, name);
        put(
            &mut pod,
            &["spec"],
            json!({"serviceAccountName": service_account, "containers": []}),
        );
        self.apply(Resource::Pods, namespace, name, pod)
    }

    /// Deletes a service account. Its tokens end with it.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn delete_service_account(&self, namespace: &str, name: &str) -> Result<(), SetupError> {
        self.delete(&Key::new(Resource::ServiceAccounts, namespace, name))
    }

    /// Deletes a secret.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn delete_secret(&self, namespace: &str, name: &str) -> Result<(), SetupError> {
        self.delete(&Key::new(Resource::Secrets, namespace, name))
    }

    /// Deletes a pod.
    ///
    /// # Errors
    ///
    /// It is not there.
    pub fn delete_pod(&self, namespace: &str, name: &str) -> Result<(), SetupError> {
        self.delete(&Key::new(Resource::Pods, namespace, name))
    }

    /// The UID of a service account, if it is there.
    #[must_use]
    pub fn service_account_uid(&self, namespace: &str, name: &str) -> Option<String> {
        let account = self
            .store
            .find(&Key::new(Resource::ServiceAccounts, namespace, name))?;
        at(&account, &["metadata", "uid"])
            .as_str()
            .map(str::to_owned)
    }

    /// Grants rights to a user or group.
    pub fn allow(&self, rule: Rule) {
        self.authorization.allow(rule);
    }

    /// Takes a right from a user or group, administrators too. Each text may be `*`; a subresource
    /// is written `serviceaccounts/token`.
    pub fn deny(&self, user: &str, verb: &str, resource: &str) {
        self.authorization.deny(user, verb, resource);
    }

    /// Whether a request without a token is `system:anonymous` (the default) or refused with 401.
    pub fn allow_anonymous(&self, allow: bool) {
        self.authentication.allow_anonymous(allow);
    }

    /// Whether everybody may read the issuer's documents (the default), or accounts alone, as in a
    /// cluster where nobody has bound `system:service-account-issuer-discovery` further.
    pub fn open_discovery(&self, open: bool) {
        self.authorization.open_discovery(open);
    }

    /// Accepts the tokens of a foreign OIDC issuer.
    pub fn trust(&self, issuer: TrustedIssuer) {
        self.authentication.trust(issuer);
    }

    /// The longest life of an account token; longer requests are shortened
    /// (`--service-account-max-token-expiration`). None by default.
    pub fn limit_token_life(&self, longest: Option<Duration>) {
        self.longest_token.with(|current| *current = longest);
    }

    /// Forgets the history of changes: watches from before now end in 410 `Expired`.
    pub fn compact(&self) {
        self.store.compact();
    }

    pub(crate) fn add_webhook(&self, webhook: Arc<dyn Authenticator>) {
        self.authentication.add_webhook(webhook);
    }

    fn apply(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        object: Value,
    ) -> Result<(), SetupError> {
        self.apply_namespace(namespace)?;
        let key = Key::new(resource, namespace, name);
        let objects = self.objects();
        let written = match self.store.find(&key) {
            Some(_) => objects.replace(&key, object),
            None => objects.create(resource, namespace, object),
        };
        written
            .map(drop)
            .map_err(|refusal| SetupError::new(&key, &refusal))
    }

    fn delete(&self, key: &Key) -> Result<(), SetupError> {
        let deleted = self.objects().delete(key, &Value::Null);
        deleted
            .map(drop)
            .map_err(|refusal| SetupError::new(key, &refusal))
    }

    fn own_accounts(&self) -> OwnAccounts<'_> {
        OwnAccounts {
            issuer: self.issuer(),
            key: &self.key,
            store: &self.store,
            dialer: &self.foundation.dialer,
            now: self.foundation.clock.seconds(),
        }
    }

    fn longest_token_seconds(&self) -> Option<i64> {
        let longest = self.longest_token.with(|longest| *longest)?;
        i64::try_from(longest.as_secs()).ok()
    }
}

impl SetupError {
    fn new(key: &Key, refusal: &Refusal) -> Self {
        Self {
            what: format!("{} {}/{}", key.resource.plural(), key.namespace, key.name),
            why: refusal.message().to_owned(),
        }
    }
}

fn named(namespace: &str, name: &str) -> Value {
    let mut object = json!({"metadata": {"name": name}});
    if !namespace.is_empty() {
        put(&mut object, &["metadata", "namespace"], namespace.into());
    }
    object
}

fn text_map<'a>(entries: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    entries.iter().copied().collect()
}
