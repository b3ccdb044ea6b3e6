//! kube-apiserver on etcd, both of the versions pinned in `tests/peers/kubernetes/go.mod`.
//!
//! RBAC decides; there are no nodes and no controllers, so a namespace has no `default` account until a
//! test creates one. Discovery and key set are readable without a credential, as an identity provider that
//! clouds trust has to publish them.

mod program;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, PKCS_RSA_SHA256};
use serde_json::{Value, json};
use tempfile::TempDir;

pub use self::program::ensure_built;
use super::certificate::{Authority, LeafFiles};
use super::process::{Process, free_address, listens};

/// Who asks. Both authenticate with a bearer token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Member of `system:masters`: may do everything.
    Admin,
    /// The user `limited`: may read ServiceAccounts everywhere, and nothing else until a test binds a role.
    Limited,
}

impl User {
    /// The user's name in RBAC.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Limited => "limited",
        }
    }

    /// The user's bearer token. Known to everybody: the server listens on loopback, for one test.
    pub fn token(self) -> &'static str {
        match self {
            Self::Admin => "admin-token-of-a-test",
            Self::Limited => "limited-token-of-a-test",
        }
    }
}

/// What a test may want otherwise.
#[derive(Debug, Default)]
pub struct Options {
    /// Where it listens, for who has to name it before it runs. Default: a free port of loopback.
    pub address: Option<SocketAddr>,
    /// An `AuthenticationConfiguration` document (apiserver.config.k8s.io), which makes the server a relying
    /// party of further issuers. Default: none.
    pub authentication_configuration: Option<String>,
    /// The longest lifetime of a requested token (`--service-account-max-token-expiration`), such as `1h`.
    /// Default: the server's, which is no limit below 2^32 s.
    pub maximum_token_lifetime: Option<String>,
}

/// A running API server with its store.
#[derive(Debug)]
pub struct Cluster {
    // Fields drop in this order: the server, its store, the folder of both.
    api_server: Process,
    etcd: Process,
    _folder: TempDir,
    address: SocketAddr,
    ca_pem: String,
    client: reqwest::Client,
}

/// Builds if needed, starts etcd and kube-apiserver, waits until `/readyz` is content (about three seconds on
/// an idle machine), and opens issuer discovery to everybody.
///
/// # Errors
/// The build fails, a process does not get ready, or the first objects are refused.
pub async fn start(target: &Path, authority: &Authority, options: &Options) -> Result<Cluster> {
    let programs = ensure_built(target)?;
    let folder = tempfile::tempdir()?;
    let (etcd, store) = start_etcd(target, &programs, folder.path()).await?;
    let address = options.address.map_or_else(free_address, Ok)?;
    let mut command = Command::new(programs.join("kube-apiserver"));
    command.args(arguments(
        folder.path(),
        address,
        store,
        authority,
        options,
    )?);
    let api_server = Process::spawn(target, "kube-apiserver", &mut command)?;
    let mut cluster = Cluster {
        api_server,
        etcd,
        _folder: folder,
        address,
        ca_pem: authority.pem().to_owned(),
        client: authority.client()?,
    };
    cluster.ready().await?;
    cluster.bind_discovery().await?;
    cluster.bind_limited().await?;
    Ok(cluster)
}

async fn start_etcd(
    target: &Path,
    programs: &Path,
    folder: &Path,
) -> Result<(Process, SocketAddr)> {
    let (clients, peers) = (free_address()?, free_address()?);
    let mut command = Command::new(programs.join("etcd"));
    command
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .arg(format!("--listen-client-urls=http://{clients}"))
        .arg(format!("--advertise-client-urls=http://{clients}"))
        .arg(format!("--listen-peer-urls=http://{peers}"))
        .arg(format!("--initial-advertise-peer-urls=http://{peers}"))
        .arg(format!("--initial-cluster=default=http://{peers}"))
        // Nothing here has to survive a power cut.
        .args(["--unsafe-no-fsync", "--log-level=warn"]);
    let mut etcd = Process::spawn(target, "etcd", &mut command)?;
    etcd.ready(|| listens(clients)).await?;
    Ok((etcd, clients))
}

/// Writes the files that kube-apiserver reads into `folder`, and returns its command line.
fn arguments(
    folder: &Path,
    address: SocketAddr,
    store: SocketAddr,
    authority: &Authority,
    options: &Options,
) -> Result<Vec<String>> {
    let LeafFiles { certificate, key } = authority
        .issue(&["127.0.0.1", "localhost", "kubernetes.default.svc"])?
        .write(folder)?;
    // RSA, for RS256: the one algorithm that every relying party verifies.
    let signing = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
    let signing_key = write(folder, "signing.key", &signing.serialize_pem())?;
    let verification_key = write(folder, "signing.pub", &signing.public_key_pem())?;
    let users = write(folder, "users.csv", &user_table())?;
    let mut arguments = vec![
        format!("--etcd-servers=http://{store}"),
        format!("--bind-address={}", address.ip()),
        format!("--advertise-address={}", address.ip()),
        format!("--secure-port={}", address.port()),
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
        format!("--service-account-issuer=https://{address}"),
        format!("--service-account-jwks-uri=https://{address}/openid/v1/jwks"),
        format!("--service-account-signing-key-file={signing_key}"),
        format!("--service-account-key-file={verification_key}"),
        format!("--token-auth-file={users}"),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // A loopback address cannot be the endpoint of the `kubernetes` service, and nobody needs it.
        "--endpoint-reconciler-type=none".to_owned(),
    ];
    if let Some(document) = &options.authentication_configuration {
        let file = write(folder, "authentication.yaml", document)?;
        arguments.push(format!("--authentication-config={file}"));
    }
    if let Some(lifetime) = &options.maximum_token_lifetime {
        arguments.push(format!("--service-account-max-token-expiration={lifetime}"));
    }
    Ok(arguments)
}

/// The token file's lines: token, name, uid, groups.
fn user_table() -> String {
    let line =
        |user: User, group: &str| format!("{},{},{0},\"{group}\"\n", user.token(), user.name());
    line(User::Admin, "system:masters") + &line(User::Limited, "tenants")
}

fn write(folder: &Path, name: &str, text: &str) -> Result<String> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.display().to_string())
}

impl Cluster {
    /// Base URL of the API, without a slash at the end.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// What the server writes into the `iss` claim of the tokens it issues.
    pub fn issuer(&self) -> String {
        self.url()
    }

    /// The authority that signed the server's certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// A kubeconfig that speaks as `user`, in JSON, which every reader of YAML takes.
    pub fn kubeconfig(&self, user: User) -> String {
        let authority = STANDARD.encode(&self.ca_pem);
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "peer", "cluster": {
                "server": self.url(), "certificate-authority-data": authority}}],
            "users": [{"name": user.name(), "user": {"token": user.token()}}],
            "contexts": [{"name": "peer", "context": {
                "cluster": "peer", "user": user.name(), "namespace": "default"}}],
            "current-context": "peer",
        })
        .to_string()
    }

    /// Posts `body` to `path` as `user`; returns status and answer.
    ///
    /// # Errors
    /// The server does not answer, or not with JSON.
    pub async fn post(&self, user: User, path: &str, body: &Value) -> Result<(u16, Value)> {
        let answer = self
            .client
            .post(format!("{}{path}", self.url()))
            .bearer_auth(user.token())
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await?;
        let status = answer.status().as_u16();
        let answer = serde_json::from_slice(&answer.bytes().await?)
            .with_context(|| format!("{path} answered {status} without JSON"))?;
        Ok((status, answer))
    }

    /// Creates an object as [`User::Admin`]; `path` is the collection's, such as `/api/v1/namespaces`.
    ///
    /// # Errors
    /// The server does not answer 201; the error quotes its answer.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        match self.post(User::Admin, path, object).await? {
            (201, created) => Ok(created),
            (status, answer) => bail!("{path} answered {status}: {answer}"),
        }
    }

    /// All that kube-apiserver has logged so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.api_server.log()
    }

    /// Process ids of the server and its store.
    pub fn process_ids(&self) -> [u32; 2] {
        [self.api_server.id(), self.etcd.id()]
    }

    async fn ready(&mut self) -> Result<()> {
        let url = format!("https://{}/readyz", self.address);
        let client = self.client.clone();
        self.api_server
            .ready(|| {
                let request = client.get(&url).bearer_auth(User::Admin.token());
                async {
                    request
                        .send()
                        .await
                        .is_ok_and(|answer| answer.status().is_success())
                }
            })
            .await
    }

    /// Out of the box only authenticated accounts may read discovery; a cloud has no account here.
    async fn bind_discovery(&self) -> Result<()> {
        self.bind(
            "system:service-account-issuer-discovery",
            "Group",
            "system:unauthenticated",
        )
        .await
    }

    async fn bind_limited(&self) -> Result<()> {
        let role = json!({
            "metadata": {"name": "service-account-reader"},
            "rules": [{"apiGroups": [""], "resources": ["serviceaccounts"],
                "verbs": ["get", "list", "watch"]}],
        });
        self.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role)
            .await?;
        self.bind("service-account-reader", "User", User::Limited.name())
            .await
    }

    async fn bind(&self, role: &str, kind: &str, name: &str) -> Result<()> {
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": {"name": format!("peer:{role}")},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": kind, "name": name}],
        });
        self.create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            &binding,
        )
        .await?;
        Ok(())
    }
}
