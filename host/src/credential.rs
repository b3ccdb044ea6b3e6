//! What comes out: credentials, registry logins, access to clusters.

use crate::error::Error;
use crate::secret::{Secret, hex};
use crate::text::steers;
use crate::transport::CaBundle;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Keys of an AWS session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsKeys {
    /// Not a secret: it stands in every signed request.
    pub access_key_id: String,
    /// Signs requests.
    pub secret_access_key: Secret,
    /// Absent for the keys of an AWS user.
    pub session_token: Option<Secret>,
}

/// A user name and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basic {
    /// User name. Some services put a token into it.
    pub username: Secret,
    /// Password.
    pub password: Secret,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct X509 {
    /// PEM, leaf first.
    pub certificate_chain: String,
    /// PEM, PKCS#8.
    pub private_key: Secret,
}

/// The secret part of a credential. `Debug` shows its kind and nothing of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Material {
    /// A bearer token.
    Bearer(Secret),
    /// AWS keys.
    Aws(AwsKeys),
    /// A user name and a password.
    Basic(Basic),
    /// A certificate and its key.
    X509(X509),
    /// Named values.
    Custom(Vec<(String, Secret)>),
}

impl Material {
    /// The kind in one word, for tables and audit records.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bearer(_) => "bearer",
            Self::Aws(_) => "aws",
            Self::Basic(_) => "basic",
            Self::X509(_) => "x509",
            Self::Custom(_) => "custom",
        }
    }
}

/// Where the material comes from: decides whether the provider may see it in a later verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The other side issued it to the provider.
    Issued,
    /// It is the ServiceAccount token, which no provider sees.
    SubjectToken,
}

/// A short-lived credential. It cannot be printed; its memory is zeroed when it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub(crate) material: Material,
    pub(crate) expires_at: SystemTime,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) origin: Origin,
}

impl Credential {
    /// The secret part.
    #[must_use]
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// When the other side stops accepting it.
    #[must_use]
    pub fn expires_at(&self) -> SystemTime {
        self.expires_at
    }

    /// What else the other side said and may be shown: an account, the ARN of a session.
    #[must_use]
    pub fn attributes(&self) -> &[(String, String)] {
        &self.attributes
    }
}

impl Credential {
    /// Checks what a provider answered, before it is stored or handed out.
    pub(crate) fn check(&self, now: SystemTime) -> Result<(), Error> {
        if self.material.is_empty() {
            return Err(Error::plugin("answered an empty credential"));
        }
        if self.material.has_control_characters() {
            return Err(Error::plugin(
                "answered a credential with control characters",
            ));
        }
        let life = self.expires_at.duration_since(now).unwrap_or_default();
        if life.is_zero() {
            let error = Error::unavailable("answered a credential that has expired already");
            return Err(
                error.remedy("compare the clock of this machine with that of the other side")
            );
        }
        if life > MAX_LIFETIME {
            return Err(Error::plugin(format!(
                "answered a credential that lives {} days, which is not short",
                life.as_secs() / 86_400
            )));
        }
        Ok(())
    }
}

/// No token service issues for longer than 36 hours; a year tells seconds from milliseconds.
const MAX_LIFETIME: Duration = Duration::from_secs(366 * 86_400);

impl Material {
    fn is_empty(&self) -> bool {
        let blank = |secret: &Secret| secret.expose().trim().is_empty();
        match self {
            Self::Bearer(token) => blank(token),
            Self::Aws(keys) => keys.access_key_id.is_empty() || blank(&keys.secret_access_key),
            Self::Basic(basic) => blank(&basic.password),
            Self::X509(x509) => x509.certificate_chain.is_empty() || blank(&x509.private_key),
            Self::Custom(values) => values.is_empty(),
        }
    }

    /// What ends up in a header or on a line of its own must not begin another.
    fn has_control_characters(&self) -> bool {
        let any = |text: &str| text.chars().any(char::is_control);
        match self {
            Self::Bearer(token) => any(token.expose()),
            Self::Aws(keys) => {
                let token = keys.session_token.as_ref().map_or("", Secret::expose);
                any(&keys.access_key_id) || any(keys.secret_access_key.expose()) || any(token)
            }
            Self::Basic(basic) => any(basic.username.expose()) || any(basic.password.expose()),
            Self::X509(_) => false,
            Self::Custom(values) => values.iter().any(|(name, _)| any(name)),
        }
    }
}

/// Keys that a caller holds already, to begin a chain with: those of an AWS user in a Secret, say. Two
/// are equal if the keys are; `Debug` shows nothing of them.
#[derive(Clone)]
pub struct StartingKeys {
    keys: Arc<AwsKeys>,
    fingerprint: [u8; 32],
}

impl StartingKeys {
    /// Takes the keys.
    #[must_use]
    pub fn new(keys: AwsKeys) -> Self {
        let mut digest = Sha256::new();
        let token = keys.session_token.as_ref().map_or("", Secret::expose);
        for part in [&keys.access_key_id, keys.secret_access_key.expose(), token] {
            // With its length before it, so that no part can reach into the next.
            digest.update(part.len().to_be_bytes());
            digest.update(part.as_bytes());
        }
        Self {
            keys: Arc::new(keys),
            fingerprint: digest.finalize().into(),
        }
    }

    /// SHA-256 of the keys in hex: what distinguishes them in a cache key.
    pub(crate) fn fingerprint(&self) -> String {
        hex(&self.fingerprint)
    }

    /// The keys as a link of a chain, good for as long as a link is.
    pub(crate) fn credential(&self, now: SystemTime) -> Credential {
        Credential {
            material: Material::Aws(AwsKeys::clone(&self.keys)),
            expires_at: now + STARTING_KEYS_LIFE,
            attributes: Vec::new(),
            origin: Origin::Issued,
        }
    }
}

/// Keys of a user have no end. What is made of them is told a bounded one.
const STARTING_KEYS_LIFE: Duration = Duration::from_secs(3600);

impl std::fmt::Debug for StartingKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StartingKeys([secret])")
    }
}

impl PartialEq for StartingKeys {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for StartingKeys {}

impl std::hash::Hash for StartingKeys {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

/// A login to an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryCredential {
    pub(crate) host: String,
    pub(crate) login: Credential,
}

impl RegistryCredential {
    /// `HOST[:PORT]` of the registry.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The login: basic, bearer or a certificate.
    #[must_use]
    pub fn login(&self) -> &Credential {
        &self.login
    }
}

/// A remote cluster, as the caller knows it.
///
/// Which of the three a provider needs is its own to say; RFC-0010 wants at least two of them, or
/// the name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClusterReference {
    /// The fully qualified name in the cloud's API: an ARN, a resource ID.
    pub name: Option<String>,
    /// URL of the API server.
    pub address: Option<String>,
    /// Its certificate authorities.
    pub ca: Option<CaBundle>,
}

impl ClusterReference {
    /// Checks that something is given and that nothing is empty.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.name.is_none() && self.address.is_none() {
            return Err(Error::configuration(
                "a cluster needs its name in the cloud's API or the address of its API server",
            ));
        }
        for (what, text) in [("cluster", &self.name), ("address", &self.address)] {
            let Some(text) = text else { continue };
            if text.is_empty() || text.len() > 2048 || text.chars().any(steers) {
                return Err(Error::configuration(format!(
                    "{what} {text:?} must be 1 to 2048 printable characters"
                )));
            }
        }
        Ok(())
    }
}

/// Reads what a provider says of a cluster's address: `https://HOST[:PORT]` and at most a path.
pub(crate) fn parse_server(server: &str, provider: &str) -> Result<url::Url, Error> {
    let refuse = || {
        Error::plugin(format!(
            "provider '{provider}' answered an API server that is not https://HOST[:PORT]"
        ))
    };
    let url = url::Url::parse(server).map_err(|_| refuse())?;
    let bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    match url.scheme() == "https" && url.host().is_some() && bare {
        true => Ok(url),
        false => Err(refuse()),
    }
}

/// What a Kubernetes client needs for a remote cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAccess {
    pub(crate) server: url::Url,
    pub(crate) ca: Option<CaBundle>,
    pub(crate) login: Credential,
}

impl ClusterAccess {
    /// `https://HOST[:PORT]/`.
    #[must_use]
    pub fn server(&self) -> &url::Url {
        &self.server
    }

    /// Certificate authorities of the API server; `None`: those of the system.
    #[must_use]
    pub fn ca(&self) -> Option<&CaBundle> {
        self.ca.as_ref()
    }

    /// The login: a bearer token or a client certificate.
    #[must_use]
    pub fn login(&self) -> &Credential {
        &self.login
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origination {
    /// The cache held it.
    Cache,
    /// The other side issued it for this very call.
    Exchange,
}

/// An answer of the host: the value, and what a caller wants to know of how it came.
#[derive(Clone, Debug)]
pub struct Issued<T> {
    /// The credential, shared with the cache.
    pub value: Arc<T>,
    /// What the subject became at the other side.
    pub identity: Arc<str>,
    /// Cache or exchange.
    pub origination: Origination,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn credential(material: Material, life: Duration) -> Result<(), ErrorKind> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let credential = Credential {
            material,
            expires_at: now + life,
            attributes: vec![],
            origin: Origin::Issued,
        };
        credential.check(now).map_err(|error| error.kind())
    }

    #[test]
    fn what_is_empty_expired_or_endless_is_refused() {
        let bearer = |token: &str| Material::Bearer(token.into());
        let hour = Duration::from_secs(3600);
        assert_eq!(credential(bearer("t"), hour), Ok(()));
        assert_eq!(credential(bearer(" "), hour), Err(ErrorKind::Plugin));
        assert_eq!(
            credential(bearer("t\r\nx: y"), hour),
            Err(ErrorKind::Plugin)
        );
        assert_eq!(
            credential(Material::Custom(vec![]), hour),
            Err(ErrorKind::Plugin)
        );
        assert_eq!(
            credential(bearer("t"), Duration::ZERO),
            Err(ErrorKind::Unavailable)
        );
        assert_eq!(
            credential(bearer("t"), MAX_LIFETIME * 2),
            Err(ErrorKind::Plugin)
        );
    }

    #[test]
    fn only_https_servers_are_read() {
        let cases = [
            ("https://a.example", true),
            ("https://a.example:6443/k8s", true),
            ("http://a.example", false),
            ("a.example", false),
            ("https://u@a.example", false),
            ("https://a.example?x", false),
            ("", false),
        ];
        for (server, expected) in cases {
            assert_eq!(parse_server(server, "p").is_ok(), expected, "{server}");
        }
    }

    #[test]
    fn no_debug_shows_a_secret() {
        let keys = AwsKeys {
            access_key_id: "AKIA".into(),
            secret_access_key: "canary-1".into(),
            session_token: Some("canary-2".into()),
        };
        let basic = Basic {
            username: "canary-7".into(),
            password: "canary-3".into(),
        };
        let x509 = X509 {
            certificate_chain: "c".into(),
            private_key: "canary-4".into(),
        };
        let custom = vec![("n".to_owned(), "canary-5".into())];
        let materials = [
            Material::Aws(keys),
            Material::Basic(basic),
            Material::X509(x509),
            Material::Custom(custom),
            Material::Bearer("canary-6".into()),
        ];
        assert!(!format!("{materials:?}").contains("canary"));
    }
}
