//! The spiffe provider: an object is its own identity, and the host signs a token or a certificate
//! for it, for registries, clusters and services that trust the host's trust domain.

mod cluster;
mod exchange;
mod identity;
mod registry;
mod terms;
mod trust;

use gatepass_sdk::{
    ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts, Host,
    Provider, RegistryTarget, Request, SourceKind, Subject, Trust, Verb, Wishes,
};
use std::collections::BTreeMap;

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spiffe;

impl Provider for Spiffe {
    fn describe(&self) -> Description {
        Description {
            name: "spiffe".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "SPIFFE: a signed token or certificate for the object itself".into(),
            parameters: terms::SCHEMA.into(),
            wishes: Wishes {
                audiences: vec!["*".into()],
                signer: true,
                ..Wishes::default()
            },
            verbs: vec![
                Verb::Discover,
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![SourceKind::Signer],
            ..Description::default()
        }
    }

    fn discover(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        identity::discover(host)
    }

    fn identity(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        identity::identity(subject, facts, request)
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

impl Trust for Spiffe {
    fn policy(
        &self,
        subject: &Subject,
        identity: &str,
        issuer: &str,
        audiences: &[String],
        _: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        trust::trust(subject, identity, issuer, audiences, request)
    }
}

gatepass_sdk::export!(Spiffe, trust);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_wishes_for_the_signer_and_nothing_of_the_environment() {
        let description = Spiffe.describe();
        assert_eq!(description.name, "spiffe");
        assert!(description.wishes.signer);
        assert!(description.wishes.hosts.is_empty());
        assert!(description.wishes.environment.is_empty());
        assert_eq!(description.sources, [SourceKind::Signer]);
        assert_eq!(description, Spiffe.describe());
    }
}
