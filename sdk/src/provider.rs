//! The trait that a provider implements.

use crate::{
    ClusterAccess, ClusterReference, Credential, Description, Error, Facts, Host, RegistryTarget,
    Request, Subject,
};
use std::collections::BTreeMap;

/// What an exchange starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The environment of the process, as granted.
    Ambient,
    /// A ServiceAccount token, which the host holds.
    SubjectToken,
    /// The credential of an earlier link of a chain.
    Credential(Credential),
    /// The host's key, which signs for the object of the request.
    Signer,
}

/// Everything that [`Provider::exchange`] is given.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// On whose behalf.
    pub subject: Subject,
    /// What [`Provider::identity`] answered.
    pub identity: String,
    /// Facts of the environment.
    pub facts: Facts,
    /// What to start from.
    pub source: Source,
    /// What the caller asks for.
    pub request: Request,
}

/// One cloud or vendor. Each call runs in a fresh instance, so nothing is kept between calls.
///
/// Only [`describe`](Self::describe) is required; a verb that is not written answers
/// `unsupported`. Verbs without a [`Host`] argument are *pure*: they depend on their arguments
/// alone, and the host may remember what they answer.
pub trait Provider {
    /// Says what this provider is. Must answer the same each time.
    fn describe(&self) -> Description;

    /// Looks at the environment and answers facts that are no secrets.
    ///
    /// # Errors
    ///
    /// `unavailable` where the environment cannot be read now; failures are not remembered.
    fn discover(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        let _ = host;
        Err(unwritten("discover"))
    }

    /// The audiences of the ServiceAccount token, at least one. Not called where the request brings
    /// its own.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if annotations or request are wrong; `needs-facts`.
    fn audience(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<String>, Error> {
        let _ = (subject, facts, request);
        Err(unwritten("audience"))
    }

    /// What the subject becomes at the other side. Checks every annotation, field and parameter
    /// that it uses, and refuses those that it does not.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if annotations or request are wrong; `needs-facts`.
    fn identity(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        let _ = (subject, facts, request);
        Err(unwritten("identity"))
    }

    /// Gets the credential.
    ///
    /// # Errors
    ///
    /// Any code but `needs-facts`; the host retries `throttled`, `unavailable` and `not-yet`.
    fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
        let _ = (exchange, host);
        Err(unwritten("exchange"))
    }

    /// Which registry a repository (`HOST[:PORT][/PATH…]`, no scheme) is in, and the access token
    /// that its login needs.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is not one of this provider's registries.
    fn registry(
        &self,
        repository: &str,
        facts: &Facts,
        request: &Request,
    ) -> Result<RegistryTarget, Error> {
        let _ = (repository, facts, request);
        Err(unwritten("registry"))
    }

    /// Logs in to a registry.
    ///
    /// # Errors
    ///
    /// As [`exchange`](Self::exchange).
    fn registry_credentials(
        &self,
        target: &RegistryTarget,
        access: &Credential,
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        let _ = (target, access, facts, request, host);
        Err(unwritten("registry-credentials"))
    }

    /// One request for each access token that [`rest_config`](Self::rest_config) needs: one to four.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the reference is wrong or incomplete.
    fn cluster(
        &self,
        cluster: &ClusterReference,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        let _ = (cluster, facts, request);
        Err(unwritten("cluster"))
    }

    /// Finds the API server and makes its token.
    ///
    /// # Errors
    ///
    /// As [`exchange`](Self::exchange).
    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        let _ = (cluster, access, facts, request, host);
        Err(unwritten("rest-config"))
    }
}

fn unwritten(verb: &str) -> Error {
    Error::unsupported(format!("this provider does not do {verb}"))
}
