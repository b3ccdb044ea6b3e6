//! On whose behalf a credential is asked for.

use crate::error::Error;
use crate::service_account::{ServiceAccount, ServiceAccountName, check_namespace, is_subdomain};
use std::fmt;
use std::sync::Arc;

/// A namespace, parsed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// Checks the name.
    ///
    /// # Errors
    ///
    /// `Configuration`: it is no DNS-1123 label.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        check_namespace(&name)?;
        Ok(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// On whose behalf, as the caller names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SubjectReference {
    /// The process itself, single-tenant.
    Ambient,
    /// An object in this namespace that names no ServiceAccount: the operator's default account
    /// in that namespace if one is enforced, and the process itself otherwise.
    Namespace(Namespace),
    /// This ServiceAccount.
    ServiceAccount(ServiceAccountName),
    /// The object itself is the identity (SPIFFE).
    Object(ObjectReference),
}

impl SubjectReference {
    /// Checks what is public and so unchecked until now.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Object(object) => object.check(),
            Self::Ambient | Self::Namespace(_) | Self::ServiceAccount(_) => Ok(()),
        }
    }
}

/// A reference to a Kubernetes object that is its own identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectReference {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The plural name of the API resource, as in `ocirepositories`.
    pub resource: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

impl ObjectReference {
    /// Each part is of the syntax that Kubernetes gives it, so that none reaches into another where they
    /// are put together.
    fn check(&self) -> Result<(), Error> {
        check_namespace(&self.namespace)?;
        let name = |text: &str| is_subdomain(text);
        let word = |text: &str| {
            (1..=63).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let (group, version) = self
            .api_version
            .split_once('/')
            .unwrap_or(("core", &self.api_version));
        for (what, text, legal) in [
            (
                "API version",
                &self.api_version,
                name(group) && word(version),
            ),
            ("kind", &self.kind, word(&self.kind)),
            ("resource", &self.resource, name(&self.resource)),
            ("name", &self.name, name(&self.name)),
            ("UID", &self.uid, name(&self.uid)),
        ] {
            if !legal {
                return Err(Error::configuration(format!(
                    "the object's {what} {text:?} is none that Kubernetes has"
                )));
            }
        }
        Ok(())
    }
}

/// On whose behalf, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The process itself.
    Ambient,
    /// A ServiceAccount as the API server has it.
    ServiceAccount(Arc<ServiceAccount>),
    /// The object itself.
    Object(ObjectReference),
}

impl Subject {
    /// The account, if it is one.
    #[must_use]
    pub fn service_account(&self) -> Option<&Arc<ServiceAccount>> {
        match self {
            Self::ServiceAccount(account) => Some(account),
            Self::Ambient | Self::Object(_) => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ambient => formatter.write_str("this process"),
            Self::ServiceAccount(account) => {
                write!(formatter, "service account '{}'", account.name)
            }
            Self::Object(object) => write!(
                formatter,
                "{} '{}/{}'",
                object.resource, object.namespace, object.name
            ),
        }
    }
}
