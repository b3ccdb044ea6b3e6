//! docker-registry: the distribution protocol as it is deployed, with token authentication.
//!
//! The registry is Debian's build of distribution 2.8; the token service that its challenge leads to is
//! [`TokenService`], which is ours. The registry verifies signature, issuer, audience, times (with a
//! minute of leeway) and access of each token; it takes no other tokens than those, so no ServiceAccount's.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::certificate::{Authority, Leaf};
use super::process::{Process, free_address, listens};
use crate::http::{Answer, Request, Server};

/// The program.
const PROGRAM: &str = "docker-registry";
/// Issuer and audience of its tokens.
const SERVICE: &str = "gatepass-tests";
/// How long tokens live: as long as the token specification says where nothing else does.
const LIFETIME: i64 = 60;

/// Finds the program.
///
/// # Errors
/// It is not installed; the error says what to install.
pub fn ensure_installed() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file());
    match found {
        Some(program) => Ok(program),
        None => bail!(
            "`{PROGRAM}` was not found: install the package docker-registry (`apt-get install docker-registry`), then run the tests again"
        ),
    }
}

/// What a user may do in each repository, as `push` and `pull`.
pub type Rights = BTreeMap<String, Vec<String>>;

/// A user of the token service.
#[derive(Clone, Debug)]
pub struct User {
    /// The password.
    pub password: String,
    /// The rights.
    pub rights: Rights,
}

/// A running registry.
#[derive(Debug)]
pub struct Registry {
    // The process drops before the folder it works in.
    process: Process,
    folder: TempDir,
    address: SocketAddr,
    /// Whom its challenge leads to.
    pub tokens: TokenService,
}

/// Whom a registry lets in.
#[derive(Clone, Debug)]
pub enum Accepts {
    /// Who has a token of its token service. Who has no user name there has no rights.
    Tokens(BTreeMap<String, User>),
    /// Who shows a certificate of the authority.
    Certificates,
}

/// Starts a registry behind TLS and its token service.
///
/// # Errors
/// The program is not installed, or the process does not get ready.
pub async fn start(target: &Path, authority: &Authority, accepts: Accepts) -> Result<Registry> {
    let program = ensure_installed()?;
    let folder = tempfile::tempdir()?;
    let files = authority
        .issue(&["127.0.0.1", "localhost"])?
        .write(folder.path())?;
    let users = match &accepts {
        Accepts::Tokens(users) => users.clone(),
        Accepts::Certificates => BTreeMap::new(),
    };
    let tokens = TokenService::start(authority.issue(&["tokens.example"])?, users).await?;
    let trusted = folder.path().join("tokens.pem");
    std::fs::write(&trusted, authority.pem())?;
    let address = free_address()?;
    let (auth, client_authorities) = match accepts {
        Accepts::Certificates => (json!({}), json!([trusted])),
        Accepts::Tokens(_) => {
            let token = json!({
                "realm": format!("http://{}/token", tokens.server.address()),
                "service": SERVICE,
                "issuer": SERVICE,
                "rootcertbundle": trusted,
            });
            (json!({ "token": token }), json!([]))
        }
    };
    // JSON is YAML.
    let config = json!({
        "version": "0.1",
        "log": { "level": "info" },
        "storage": { "filesystem": { "rootdirectory": folder.path().join("data") } },
        "http": {
            "addr": address.to_string(),
            "tls": {
                "certificate": files.certificate,
                "key": files.key,
                "clientcas": client_authorities,
            },
        },
        "auth": auth,
    });
    let path = folder.path().join("config.yml");
    std::fs::write(&path, config.to_string()).context("cannot write the configuration")?;
    let mut command = Command::new(program);
    command.arg("serve").arg(path).env_clear();
    let mut process = Process::spawn(target, "registry", &mut command)?;
    process.ready(|| listens(address)).await?;
    Ok(Registry {
        process,
        folder,
        address,
        tokens,
    })
}

impl Registry {
    /// `HOST:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Where it keeps the blob of this digest, for a test that tampers with it.
    pub fn blob(&self, digest: &str) -> PathBuf {
        let hex = digest.trim_start_matches("sha256:");
        let begin: String = hex.chars().take(2).collect();
        let blobs = self
            .folder
            .path()
            .join("data/docker/registry/v2/blobs/sha256");
        blobs.join(begin).join(hex).join("data")
    }

    /// All that it has written so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }
}

/// A token service for the registry (Docker's token specification, the GET form).
#[derive(Debug)]
pub struct TokenService {
    server: Server,
    state: Arc<State>,
}

/// What it knows, and what it was asked.
struct State {
    users: BTreeMap<String, User>,
    signing: Signing,
    asked: Mutex<Vec<String>>,
    /// How many seconds its clock is behind.
    behind: Mutex<i64>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").finish_non_exhaustive()
    }
}

/// The key that tokens are signed with, and its certificate in DER.
struct Signing {
    key: EncodingKey,
    certificate: String,
}

impl TokenService {
    async fn start(leaf: Leaf, users: BTreeMap<String, User>) -> Result<Self> {
        let certificate = leaf
            .certificate_pem
            .lines()
            .filter(|line| !line.starts_with('-'))
            .collect();
        let state = Arc::new(State {
            users,
            signing: Signing {
                key: EncodingKey::from_ec_pem(leaf.key_pem.as_bytes())?,
                certificate,
            },
            asked: Mutex::default(),
            behind: Mutex::default(),
        });
        let answering = Arc::clone(&state);
        let server = Server::start(move |request| {
            let state = Arc::clone(&answering);
            async move { state.answer(&request) }
        })
        .await?;
        Ok(Self { server, state })
    }

    /// Sets its clock back: what it issues has less time left than others think, or none.
    pub fn set_behind(&self, seconds: i64) {
        *lock(&self.state.behind) = seconds;
    }

    /// The scopes that it was asked for so far.
    pub fn asked(&self) -> Vec<String> {
        lock(&self.state.asked).clone()
    }

    /// A token for this user and scope, `repository:NAME:ACTION,…`.
    ///
    /// # Errors
    /// It cannot be signed.
    pub fn issue(&self, user: &str, scope: &str) -> Result<String> {
        self.state.issue(user, scope)
    }
}

impl State {
    fn answer(&self, request: &Request) -> Answer {
        let scope = query(&request.target, "scope");
        lock(&self.asked).push(scope.clone());
        let login = request.header("authorization").map(basic);
        let user = match login {
            None => String::new(),
            Some(Some((user, password)))
                if self
                    .users
                    .get(&user)
                    .is_some_and(|known| known.password == password) =>
            {
                user
            }
            Some(_) => return Answer::new(401, "wrong user name or password"),
        };
        match self.issue(&user, &scope) {
            Ok(token) => Answer::new(200, json!({ "token": token }).to_string()),
            Err(error) => Answer::new(500, error.to_string()),
        }
    }

    fn issue(&self, user: &str, scope: &str) -> Result<String> {
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
        let now = now - *lock(&self.behind);
        let claims = json!({
            "iss": SERVICE,
            "aud": SERVICE,
            "sub": user,
            "iat": now,
            "nbf": now,
            "exp": now + LIFETIME,
            "jti": format!("{now}-{}", lock(&self.asked).len()),
            "access": self.access(user, scope),
        });
        let mut header = Header::new(Algorithm::ES256);
        header.x5c = Some(vec![self.signing.certificate.clone()]);
        Ok(jsonwebtoken::encode(&header, &claims, &self.signing.key)?)
    }

    /// What of the scope the user may have. As with the real ones, less is no error.
    fn access(&self, user: &str, scope: &str) -> Value {
        let mut parts = scope.splitn(3, ':').skip(1);
        let (name, wanted) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let rights = self.users.get(user).and_then(|user| user.rights.get(name));
        let granted: Vec<&str> = wanted
            .split(',')
            .filter(|action| rights.is_some_and(|rights| rights.iter().any(|own| own == action)))
            .collect();
        json!([{ "type": "repository", "name": name, "actions": granted }])
    }
}

fn basic(header: &str) -> Option<(String, String)> {
    let pair = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
    let pair = String::from_utf8(pair).ok()?;
    let (user, password) = pair.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// A field of the query; scopes hold no other escapes than these.
fn query(target: &str, name: &str) -> String {
    let fields = target.split_once('?').map_or("", |(_, query)| query);
    let value = fields
        .split('&')
        .filter_map(|field| field.split_once('='))
        .find(|(known, _)| *known == name)
        .map_or("", |(_, value)| value);
    value
        .replace("%3A", ":")
        .replace("%2F", "/")
        .replace("%2C", ",")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Plain values are never half-written, so a poisoned lock is still good.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
