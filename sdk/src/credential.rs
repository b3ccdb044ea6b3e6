//! A short-lived credential and its secret material.

use std::fmt;
use std::time::SystemTime;
use zeroize::Zeroizing;

/// Text that must not be shown. It is zeroed when dropped, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text, where it is needed to make a request or an answer.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(Zeroizing::new(text.into()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

impl<'de> serde::Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

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

/// A user name and a password. `Debug` hides both: some services put a token into the name.
#[derive(Clone, PartialEq, Eq)]
pub struct Basic {
    /// User name.
    pub username: String,
    /// Password.
    pub password: Secret,
}

impl fmt::Debug for Basic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Basic([secret])")
    }
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct X509 {
    /// PEM, leaf first.
    pub certificate_chain: String,
    /// PEM, PKCS#8.
    pub private_key: Secret,
}

/// The secret part of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A bearer token.
    Bearer(Secret),
    /// AWS keys.
    Aws(AwsKeys),
    /// A user name and a password.
    Basic(Basic),
    /// A certificate and its key.
    X509(X509),
    /// Named values, for what no other case fits.
    Custom(Vec<(String, Secret)>),
    /// The ServiceAccount token itself, whose value only the host knows.
    SubjectToken,
}

/// A short-lived credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The secret part.
    pub material: Material,
    /// When the other side stops accepting it; `None` for [`Material::SubjectToken`] alone.
    pub expires_at: Option<SystemTime>,
    /// What else the other side said and may be shown.
    pub attributes: Vec<(String, String)>,
}

impl Credential {
    /// A credential that expires.
    #[must_use]
    pub fn new(material: Material, expires_at: SystemTime) -> Self {
        Self {
            material,
            expires_at: Some(expires_at),
            attributes: Vec::new(),
        }
    }

    /// A bearer token.
    #[must_use]
    pub fn bearer(token: impl Into<Secret>, expires_at: SystemTime) -> Self {
        Self::new(Material::Bearer(token.into()), expires_at)
    }

    /// A user name and a password.
    #[must_use]
    pub fn basic(
        username: impl Into<String>,
        password: impl Into<Secret>,
        expires_at: SystemTime,
    ) -> Self {
        let basic = Basic {
            username: username.into(),
            password: password.into(),
        };
        Self::new(Material::Basic(basic), expires_at)
    }

    /// The ServiceAccount token itself.
    #[must_use]
    pub fn subject_token() -> Self {
        Self {
            material: Material::SubjectToken,
            expires_at: None,
            attributes: Vec::new(),
        }
    }

    /// Adds what may be shown of it.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }
}
