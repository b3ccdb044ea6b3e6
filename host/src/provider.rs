//! What the host asks of a provider. A [plugin](crate::plugin::Plugin) is one that is wasm.

use crate::credential::{ClusterReference, Credential};
use crate::error::Error;
use crate::journal::Journal;
use crate::request::{AccessRequest, CredentialRequest};
use crate::service_account::SubjectToken;
use crate::subject::Subject;
use crate::transport::CaBundle;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A verb of the contract, beside `describe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Facts of the environment.
    Discover,
    /// Audiences of the ServiceAccount token.
    Audience,
    /// What the subject becomes.
    Identity,
    /// The credential.
    Exchange,
    /// Which registry, and the access its login needs.
    Registry,
    /// The registry's login.
    RegistryCredentials,
    /// The access that a cluster needs.
    Cluster,
    /// The API server and its token.
    RestConfig,
    /// The access that the login to a Git remote needs (interface `git`).
    Repository,
    /// The login to a Git remote (interface `git`).
    GitCredentials,
    /// What the other side must be told (interface `trust`).
    Policy,
}

impl Verb {
    /// The verb as the contract writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Audience => "audience",
            Self::Identity => "identity",
            Self::Exchange => "exchange",
            Self::Registry => "registry",
            Self::RegistryCredentials => "registry-credentials",
            Self::Cluster => "cluster",
            Self::RestConfig => "rest-config",
            Self::Repository => "repository",
            Self::GitCredentials => "git-credentials",
            Self::Policy => "policy",
        }
    }
}

/// What an exchange can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// The environment of the process.
    Ambient,
    /// A ServiceAccount token.
    SubjectToken,
    /// The credential of an earlier link of a chain.
    Credential,
    /// The host's key.
    Signer,
}

impl SourceKind {
    /// The kind as the contract writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ambient => "ambient",
            Self::SubjectToken => "subject-token",
            Self::Credential => "credential",
            Self::Signer => "signer",
        }
    }
}

/// An annotation that a provider reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its key.
    pub key: String,
    /// Whether a request fails without it.
    pub required: bool,
    /// One line.
    pub summary: String,
}

/// What a provider would like to be granted; see [`Grant`](crate::plugin::Grant) for what it gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Hosts, as [`AllowedHost`](crate::egress::AllowedHost) reads them; `*`: whatever hosts the operator
    /// names.
    pub hosts: Vec<String>,
    /// Audiences of ServiceAccount tokens; `*`: those of the request.
    pub audiences: Vec<String>,
    /// Environment variables.
    pub environment: Vec<String>,
    /// Files.
    pub files: Vec<String>,
    /// The host's signer.
    pub signer: bool,
}

/// What a provider says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name under which requests ask for it.
    pub name: String,
    /// The provider's own version.
    pub version: String,
    /// One line for people.
    pub summary: String,
    /// JSON Schema of the parameters.
    pub parameters: String,
    /// Annotations it reads.
    pub annotations: Vec<Annotation>,
    /// What it would like to be granted.
    pub wishes: Wishes,
    /// Verbs that it answers.
    pub verbs: Vec<Verb>,
    /// What an exchange can start from.
    pub sources: Vec<SourceKind>,
}

/// Facts of the environment; `None`: not discovered yet.
pub type Facts = Option<Arc<BTreeMap<String, String>>>;

/// Why a verb gave no answer.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The pure verb needs the facts of `discover` first.
    NeedsFacts,
    /// Everything else, sorted by who must act.
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// What an exchange starts from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The environment of the process.
    Ambient,
    /// This token, which the provider does not see.
    SubjectToken(SubjectToken),
    /// The credential of an earlier link of a chain.
    Credential(Arc<Credential>),
    /// The host's key, which signs for the object of the request.
    Signer,
}

impl Source {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        match self {
            Self::Ambient => SourceKind::Ambient,
            Self::SubjectToken(_) => SourceKind::SubjectToken,
            Self::Credential(_) => SourceKind::Credential,
            Self::Signer => SourceKind::Signer,
        }
    }
}

/// Who chose an audience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChosenBy {
    /// The caller's request: the grant must hold it.
    Caller,
    /// The provider: the grant and the provider's wishes must hold it.
    Provider,
}

impl ChosenBy {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Provider => "provider",
        }
    }
}

/// What every verb is told beside its own arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What the caller asks for.
    pub request: &'a CredentialRequest,
    /// Facts of the environment.
    pub facts: &'a Facts,
    /// Takes decisions for `explain`.
    pub journal: &'a Journal,
}

/// Which registry a repository is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryTarget {
    /// `HOST[:PORT]`.
    pub host: String,
    /// What distinguishes one login from another.
    pub cache_input: String,
    /// The access that the login needs.
    pub access: AccessRequest,
}

/// What a login to a Git remote needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitTarget {
    /// What distinguishes one login from another.
    pub cache_input: String,
    /// The access that the login needs.
    pub access: AccessRequest,
}

/// In whose name the host signs for a provider's objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningAuthority {
    /// The ID of the key that signs now: another key means other credentials.
    pub key: String,
    /// Who signs tokens; `None`: only certificates are signed.
    pub issuer: Option<String>,
}

/// Whom the other side is to trust.
#[derive(Clone, Copy, Debug)]
pub struct Trusted<'a> {
    /// The subject.
    pub subject: &'a Subject,
    /// What it becomes.
    pub identity: &'a str,
    /// Who signs its tokens.
    pub issuer: &'a str,
    /// For whom they are.
    pub audiences: &'a [String],
}

/// Where a cluster's API server is, and its login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestConfig {
    /// URL of the API server, as the provider wrote it.
    pub server: String,
    /// Certificate authorities; `None`: those of the system.
    pub ca: Option<CaBundle>,
    /// The login.
    pub login: Credential,
}

/// One cloud or vendor. Object-safe; every method may be called from many tasks at once.
///
/// The host calls `audience` and `identity` first, without side effects, and may remember what they
/// answer. It calls nothing after an error. An implementation must not keep anything of one call
/// for another.
#[async_trait]
pub trait Provider: Send + Sync + std::fmt::Debug {
    /// What the provider says of itself.
    fn description(&self) -> &Description;

    /// Checks that an exchange can start from this kind of source, before anything is asked for.
    ///
    /// # Errors
    ///
    /// `Configuration`, naming what it starts from.
    fn check_source(&self, source: SourceKind) -> Result<(), Error> {
        let description = self.description();
        if description.sources.contains(&source) {
            return Ok(());
        }
        let error = Error::configuration(format!(
            "provider '{}' does not start from {}",
            description.name,
            source.as_str()
        ));
        let starts = description.sources.iter().map(|source| source.as_str());
        let starts: Vec<&str> = starts.collect();
        Err(error.remedy(format!("it starts from {}", starts.join(", "))))
    }

    /// What distinguishes this very code from every other: the digest of a plugin.
    fn digest(&self) -> &str;

    /// In whose name the host signs for this provider; `None`: nobody does.
    ///
    /// # Errors
    ///
    /// `Unavailable`: there is a signer without a key.
    fn signing_authority(&self) -> Result<Option<SigningAuthority>, Error> {
        Ok(None)
    }

    /// Checks what can be checked of a request before anything is read or run.
    ///
    /// # Errors
    ///
    /// `Configuration`: a parameter is unknown or has an illegal value.
    fn check(&self, access: &AccessRequest) -> Result<(), Error>;

    /// Checks that audiences lie within what the operator granted.
    ///
    /// # Errors
    ///
    /// `Egress`, naming the audience; `Plugin` if the provider never said that it wants it.
    fn check_audiences(&self, audiences: &[String], chosen_by: ChosenBy) -> Result<(), Error>;

    /// Facts of the environment.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn discover(&self, journal: &Journal) -> Result<BTreeMap<String, String>, Error>;

    /// Audiences of the ServiceAccount token.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act.
    async fn audience(&self, subject: &Subject, call: Call<'_>) -> Result<Vec<String>, Failure>;

    /// What the subject becomes at the other side.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act.
    async fn identity(&self, subject: &Subject, call: Call<'_>) -> Result<String, Failure>;

    /// The credential.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn exchange(
        &self,
        subject: &Subject,
        identity: &str,
        source: Source,
        call: Call<'_>,
    ) -> Result<Credential, Error>;

    /// Which registry a repository is in.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act.
    async fn registry(&self, repository: &str, call: Call<'_>) -> Result<RegistryTarget, Failure>;

    /// The registry's login.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn registry_credentials(
        &self,
        target: &RegistryTarget,
        access: &Credential,
        call: Call<'_>,
    ) -> Result<Credential, Error>;

    /// The access that a cluster needs.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act.
    async fn cluster(
        &self,
        cluster: &ClusterReference,
        call: Call<'_>,
    ) -> Result<Vec<AccessRequest>, Failure>;

    /// The API server and its token.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Arc<Credential>],
        call: Call<'_>,
    ) -> Result<RestConfig, Error>;

    /// The access that the login to a Git remote needs.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act; `Configuration` if it knows no remotes.
    async fn git_repository(&self, url: &str, call: Call<'_>) -> Result<GitTarget, Failure>;

    /// The login to a Git remote.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn git_credentials(
        &self,
        url: &str,
        access: &Credential,
        call: Call<'_>,
    ) -> Result<Credential, Error>;

    /// A policy or commands by which the other side comes to trust a subject.
    ///
    /// # Errors
    ///
    /// [`Failure::NeedsFacts`], or sorted by who must act; `Configuration` if it knows none.
    async fn trust_policy(&self, trusted: Trusted<'_>, call: Call<'_>) -> Result<String, Failure>;
}
