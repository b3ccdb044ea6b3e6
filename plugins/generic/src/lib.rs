//! The generic provider: the ServiceAccount token itself is the credential, for registries,
//! clusters and services that trust the cluster's token issuer.

mod cluster;
mod exchange;
mod identity;
mod registry;
mod trust;

use gatepass_sdk::{
    ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts, Host,
    Provider, RegistryTarget, Request, SourceKind, Subject, Trust, Verb, Wishes,
};

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Generic;

impl Provider for Generic {
    fn describe(&self) -> Description {
        Description {
            name: "generic".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "the ServiceAccount token itself, for whoever trusts the cluster's issuer"
                .into(),
            wishes: Wishes {
                audiences: vec!["*".into()],
                ..Wishes::default()
            },
            verbs: vec![
                Verb::Audience,
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![SourceKind::SubjectToken],
            ..Description::default()
        }
    }

    fn audience(
        &self,
        subject: &Subject,
        _: &Facts,
        request: &Request,
    ) -> Result<Vec<String>, Error> {
        identity::audience(subject, request)
    }

    fn identity(&self, subject: &Subject, _: &Facts, request: &Request) -> Result<String, Error> {
        identity::identity(subject, request)
    }

    fn exchange(&self, exchange: &Exchange, _: &dyn Host) -> Result<Credential, Error> {
        exchange::exchange(exchange)
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

impl Trust for Generic {
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

gatepass_sdk::export!(Generic, trust);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_wishes_for_no_host_and_any_audience() {
        let description = Generic.describe();
        assert_eq!(description.name, "generic");
        assert_eq!(description.wishes.hosts, Vec::<String>::new());
        assert_eq!(description.wishes.audiences, ["*"]);
        assert_eq!(description, Generic.describe());
    }
}
