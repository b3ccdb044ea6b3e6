//! Kubernetes ServiceAccounts and their tokens, as values, and the port through which they come.

use crate::error::Error;
use crate::secret::Secret;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// A ServiceAccount by name, parsed: both parts are DNS-1123 names, as Kubernetes demands.
///
/// ```
/// use gatepass::ServiceAccountName;
///
/// let name: ServiceAccountName = "team-a/app".parse()?;
/// assert_eq!(name.namespace(), "team-a");
/// assert!("team-a/../other".parse::<ServiceAccountName>().is_err());
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceAccountName {
    namespace: String,
    name: String,
}

impl ServiceAccountName {
    /// Checks both parts.
    ///
    /// # Errors
    ///
    /// `Configuration`: a part is no name that Kubernetes accepts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Result<Self, Error> {
        let (namespace, name) = (namespace.into(), name.into());
        check_namespace(&namespace)?;
        if !is_subdomain(&name) {
            return Err(Error::configuration(format!(
                "service account name '{name}' must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.', at most 253"
            )));
        }
        Ok(Self { namespace, name })
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name in the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for ServiceAccountName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some((namespace, name)) = text.split_once('/') else {
            return Err(Error::configuration(format!(
                "service account '{text}' must be written NAMESPACE/NAME"
            )));
        };
        Self::new(namespace, name)
    }
}

impl fmt::Display for ServiceAccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Checks a namespace's name.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), Error> {
    if is_label(namespace) {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "namespace '{namespace}' must be a DNS-1123 label: lower-case letters, digits and '-', at most 63"
    )))
}

/// DNS-1123 label, the syntax of namespaces
/// (<https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>).
fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|&byte| alphanumeric(byte) || byte == b'-')
        && bytes.first().is_some_and(|&byte| alphanumeric(byte))
        && bytes.last().is_some_and(|&byte| alphanumeric(byte))
}

/// DNS-1123 subdomain, the syntax of ServiceAccount names.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A ServiceAccount as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Where it is.
    pub name: ServiceAccountName,
    /// Another account of the same name has another.
    pub uid: String,
    /// Changes with every edit.
    pub resource_version: String,
    /// What the account says of itself, for providers to read.
    pub annotations: BTreeMap<String, String>,
}

/// A ServiceAccount token, straight from the API server. `Debug` hides it.
#[derive(Clone, Debug)]
pub struct SubjectToken {
    /// The JWT.
    pub token: Secret,
    /// When it expires, as the API server said; it may shorten what was asked for.
    pub expires_at: SystemTime,
}

/// The shortest lifetime that the API server gives a token
/// (<https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/>).
pub const MIN_TOKEN_LIFETIME: Duration = Duration::from_secs(600);

/// The longest lifetime that this host asks for; Google's token service refuses older tokens.
pub const MAX_TOKEN_LIFETIME: Duration = Duration::from_secs(86_400);

/// The lifetime that the API server gives when none is asked for.
pub const DEFAULT_TOKEN_LIFETIME: Duration = Duration::from_secs(3600);

/// Where ServiceAccounts and their tokens come from.
#[async_trait]
pub trait ServiceAccounts: Send + Sync + fmt::Debug {
    /// Reads an account. Called on every request, so a controller answers from a reflector's store.
    ///
    /// # Errors
    ///
    /// `ServiceAccount` if it does not exist or may not be read; `Unavailable` if nobody answers.
    async fn service_account(&self, name: &ServiceAccountName) -> Result<Lookup, Error>;

    /// Asks for a token of this account for these audiences, by TokenRequest. The account's UID is
    /// to be the one that the API server has: a token of a namesake must not be given.
    ///
    /// # Errors
    ///
    /// `ServiceAccount` if the account is gone or was replaced, or if RBAC forbids it;
    /// `Throttled` and `Unavailable` for what passes.
    async fn token(
        &self,
        account: &ServiceAccount,
        audiences: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error>;

    /// The account that this process itself has at the API server.
    ///
    /// # Errors
    ///
    /// `ServiceAccount` if it has none: it is a user, say.
    async fn own_account(&self) -> Result<ServiceAccountName, Error> {
        Err(Error::new(
            crate::error::ErrorKind::ServiceAccount,
            "nobody says which service account this process has itself",
        ))
    }

    /// Who signs the tokens: the `iss` that the other side must trust.
    ///
    /// # Errors
    ///
    /// `ServiceAccount` if the discovery document may not be read; `Unavailable` if nobody answers.
    async fn issuer(&self) -> Result<String, Error> {
        Err(Error::new(
            crate::error::ErrorKind::ServiceAccount,
            "nobody says who signs the tokens of service accounts",
        ))
    }
}

/// The answer to a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The account.
    Found(std::sync::Arc<ServiceAccount>),
    /// There is none of this name.
    Absent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        let long = format!("a/{}", "x".repeat(64));
        for bad in [
            "a", "/b", "a/", "A/b", "a/B", "a b/c", "a/b/c", "-a/b", "a/b-", "a/.b", "a\n/b",
            "a/b\0", &long,
        ] {
            let refused = bad.parse::<ServiceAccountName>();
            assert_eq!(
                refused.map_err(|error| error.kind()),
                Err(crate::ErrorKind::Configuration),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn names_that_kubernetes_accepts_are_accepted() {
        for good in ["a/b", "team-a/app.v2", "0/9"] {
            let name: ServiceAccountName = good.parse().unwrap();
            assert_eq!(name.to_string(), good);
        }
    }
}
