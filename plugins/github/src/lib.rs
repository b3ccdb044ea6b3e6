//! The github provider: the OIDC token of a GitHub Actions job is the credential, for registries,
//! clusters and services that trust GitHub's issuer.

mod cluster;
mod exchange;
mod identity;
mod registry;
mod token;

use gatepass_sdk::{
    ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts, Host,
    Provider, RegistryTarget, Request, SourceKind, Subject, Verb, Wishes,
};

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct GitHub;

impl Provider for GitHub {
    fn describe(&self) -> Description {
        Description {
            name: "github".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "the OIDC token of a GitHub Actions job".into(),
            wishes: Wishes {
                hosts: vec![exchange::HOSTS.into()],
                environment: vec![exchange::URL.into(), exchange::TOKEN.into()],
                ..Wishes::default()
            },
            verbs: vec![
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![SourceKind::Ambient],
            ..Description::default()
        }
    }

    fn identity(&self, subject: &Subject, _: &Facts, request: &Request) -> Result<String, Error> {
        identity::identity(subject, request)
    }

    fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
        exchange::exchange(exchange, host)
    }

    fn registry(
        &self,
        repository: &str,
        _: &Facts,
        request: &Request,
    ) -> Result<RegistryTarget, Error> {
        registry::target(repository, request)
    }

    fn registry_credentials(
        &self,
        _: &RegistryTarget,
        access: &Credential,
        _: &Facts,
        request: &Request,
        _: &dyn Host,
    ) -> Result<Credential, Error> {
        registry::login(access, request)
    }

    fn cluster(
        &self,
        cluster: &ClusterReference,
        _: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        cluster::access(cluster, request)
    }

    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        _: &Facts,
        request: &Request,
        _: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        cluster::rest_config(cluster, access, request)
    }
}

gatepass_sdk::export!(GitHub);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_wishes_for_what_a_job_has() {
        let description = GitHub.describe();
        assert_eq!(description.name, "github");
        assert_eq!(
            description.wishes.hosts,
            ["https://*.actions.githubusercontent.com"]
        );
        assert_eq!(
            description.wishes.environment,
            [
                "ACTIONS_ID_TOKEN_REQUEST_URL",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
            ]
        );
        assert_eq!(description.sources, [SourceKind::Ambient]);
        assert_eq!(description, GitHub.describe());
    }
}
