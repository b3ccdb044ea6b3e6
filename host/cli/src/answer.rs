//! What is asked of the host, and what it answers, as outputs want to see it.

use gatepass::{
    CaBundle, ClusterAccess, ClusterReference, Credential, CredentialHost, CredentialRequest,
    Error, GitUrl, Issued, Material, Origination, RegistryCredential, Repository,
};
use std::time::SystemTime;

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// An access token.
    Token,
    /// A login to the registry of this repository.
    Registry(Repository),
    /// A login to this Git remote.
    Git(GitUrl),
    /// Access to this cluster.
    Cluster(ClusterReference),
}

impl Wanted {
    /// The command of this question.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Registry(_) => "registry",
            Self::Git(_) => "git",
            Self::Cluster(_) => "kubeconfig",
        }
    }

    /// Whether it says its region itself: the host of a registry and of a remote does, and so
    /// does an ARN.
    pub(crate) fn says_its_region(&self) -> bool {
        match self {
            Self::Token => false,
            Self::Registry(_) | Self::Git(_) => true,
            Self::Cluster(cluster) => cluster
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with("arn:")),
        }
    }

    /// Asks the host.
    pub(crate) async fn ask(
        &self,
        host: &CredentialHost,
        request: &CredentialRequest,
    ) -> Result<Answer, Error> {
        match self {
            Self::Token => host.access_token(request).await.map(Answer::Token),
            Self::Registry(repository) => host
                .registry_credential(request, repository)
                .await
                .map(Answer::Registry),
            Self::Git(url) => host
                .git_credential(request, url)
                .await
                .map(|issued| Answer::Git(issued, url.clone())),
            Self::Cluster(cluster) => host
                .cluster_access(request, cluster)
                .await
                .map(Answer::Cluster),
        }
    }
}

/// What the host answered.
#[derive(Debug)]
pub(crate) enum Answer {
    Token(Issued<Credential>),
    Registry(Issued<RegistryCredential>),
    Git(Issued<Credential>, GitUrl),
    Cluster(Issued<ClusterAccess>),
}

impl Answer {
    /// The answer as outputs see it.
    pub(crate) fn issue<'a>(&'a self, provider: &'a str) -> Issue<'a> {
        let (credential, identity, origination, place) = match self {
            Self::Token(issued) => (
                issued.value.as_ref(),
                &issued.identity,
                issued.origination,
                Place::Anywhere,
            ),
            Self::Registry(issued) => {
                let place = Place::Registry {
                    host: issued.value.host(),
                };
                (
                    issued.value.login(),
                    &issued.identity,
                    issued.origination,
                    place,
                )
            }
            Self::Git(issued, url) => (
                issued.value.as_ref(),
                &issued.identity,
                issued.origination,
                Place::Remote { url: url.as_str() },
            ),
            Self::Cluster(issued) => {
                let place = Place::Cluster {
                    server: issued.value.server().as_str(),
                    ca: issued.value.ca(),
                };
                (
                    issued.value.login(),
                    &issued.identity,
                    issued.origination,
                    place,
                )
            }
        };
        Issue {
            provider,
            identity,
            is_cached: origination == Origination::Cache,
            material: credential.material(),
            expires_at: credential.expires_at(),
            attributes: credential.attributes(),
            place,
        }
    }
}

/// Where a credential is good.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    Anywhere,
    Registry {
        host: &'a str,
    },
    Remote {
        url: &'a str,
    },
    /// Wherever a workload shows who it is; from the Workload API at this address.
    Workload {
        socket: &'a str,
    },
    Cluster {
        server: &'a str,
        ca: Option<&'a CaBundle>,
    },
}

/// A credential with all that outputs say of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue<'a> {
    pub(crate) provider: &'a str,
    pub(crate) identity: &'a str,
    pub(crate) is_cached: bool,
    pub(crate) material: &'a Material,
    pub(crate) expires_at: SystemTime,
    pub(crate) attributes: &'a [(String, String)],
    pub(crate) place: Place<'a>,
}

impl Issue<'_> {
    /// Where it came from, in one word.
    pub(crate) fn from(&self) -> &'static str {
        match (self.place, self.is_cached) {
            (Place::Workload { .. }, _) => "agent",
            (_, true) => "cache",
            (_, false) => "cloud",
        }
    }
}
