//! On whose behalf a credential is asked for.

use crate::Error;
use std::collections::BTreeMap;

/// On whose behalf a credential is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The process that runs the host: single-tenant use.
    Ambient,
    /// A Kubernetes ServiceAccount.
    ServiceAccount(ServiceAccount),
    /// A Kubernetes object that is its own identity (SPIFFE).
    Object(ObjectReference),
}

impl Subject {
    /// The ServiceAccount, for a provider that serves nothing else.
    ///
    /// # Errors
    ///
    /// `unsupported` for every other subject.
    pub fn service_account(&self) -> Result<&ServiceAccount, Error> {
        match self {
            Self::ServiceAccount(account) => Ok(account),
            Self::Ambient => Err(Error::unsupported(
                "this provider needs a ServiceAccount: name one in the request",
            )),
            Self::Object(_) => Err(Error::unsupported(
                "this provider serves ServiceAccounts, not objects that are their own identity",
            )),
        }
    }
}

/// A ServiceAccount as the API server has it, without any token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID: another account of the same name has another.
    pub uid: String,
    /// The annotations that the provider's description names, and no others.
    pub annotations: BTreeMap<String, String>,
}

impl ServiceAccount {
    /// The value of an annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// The value of an annotation that must be there.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is missing or empty: the tenant must add it.
    pub fn required_annotation(&self, key: &str) -> Result<&str, Error> {
        match self.annotation(key) {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(Error::invalid_configuration(format!(
                "service account '{self}' lacks the annotation {key}"
            ))),
        }
    }
}

impl std::fmt::Display for ServiceAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A reference to the object that a controller reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReference {
    /// Group and version, as in `source.toolkit.fluxcd.io/v1`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The plural name of the API resource.
    pub resource: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}
