//! The verbs of a plugin: conversions in, one call, conversions out.

use super::bindings::exports::gatepass::provider::provider as exported;
use super::bindings::gatepass::provider::types;
use super::{Plugin, convert};
use crate::credential::{ClusterReference, Credential, Material, Origin};
use crate::error::Error;
use crate::journal::Journal;
use crate::provider::{
    Call, ChosenBy, Description, Failure, Provider, RegistryTarget, RestConfig, Source, SourceKind,
    Verb,
};
use crate::request::{AccessRequest, Transport};
use crate::service_account::SubjectToken;
use crate::subject::Subject;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;

#[async_trait]
impl Provider for Plugin {
    fn description(&self) -> &Description {
        &self.description
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn check(&self, access: &AccessRequest) -> Result<(), Error> {
        self.schema.check(&self.name, &access.parameters)
    }

    fn check_audiences(&self, audiences: &[String], chosen_by: ChosenBy) -> Result<(), Error> {
        self.granted
            .check_audiences(audiences, chosen_by)
            .map_err(|error| error.during(format!("plugin '{}'", self.name)))
    }

    async fn discover(&self, journal: &Journal) -> Result<BTreeMap<String, String>, Error> {
        let powers = self.powers(&Transport::default(), None, true);
        let facts = self
            .act(Verb::Discover, powers, journal, |plugin, store| {
                Box::pin(async move {
                    plugin
                        .gatepass_provider_provider()
                        .call_discover(store)
                        .await
                })
            })
            .await?;
        convert::discovered(&self.name, &facts)
    }

    async fn audience(&self, subject: &Subject, call: Call<'_>) -> Result<Vec<String>, Failure> {
        let (subject, facts, request) = pure(subject, call);
        self.ask(Verb::Audience, call.journal, move |plugin, store| {
            Box::pin(async move {
                let guest = plugin.gatepass_provider_provider();
                guest.call_audience(store, &subject, &facts, &request).await
            })
        })
        .await
    }

    async fn identity(&self, subject: &Subject, call: Call<'_>) -> Result<String, Failure> {
        let (subject, facts, request) = pure(subject, call);
        self.ask(Verb::Identity, call.journal, move |plugin, store| {
            Box::pin(async move {
                let guest = plugin.gatepass_provider_provider();
                guest.call_identity(store, &subject, &facts, &request).await
            })
        })
        .await
    }

    async fn exchange(
        &self,
        subject: &Subject,
        identity: &str,
        source: Source,
        call: Call<'_>,
    ) -> Result<Credential, Error> {
        let (kind, token) = match source {
            Source::Ambient => (SourceKind::Ambient, None),
            Source::SubjectToken(token) => (SourceKind::SubjectToken, Some(token)),
            Source::Signer => (SourceKind::Signer, None),
        };
        self.check_source(kind)?;
        let powers = self.powers(
            call.request.transport(),
            token.as_ref(),
            kind == SourceKind::Ambient,
        );
        let (subject, facts, request) = pure(subject, call);
        let identity = identity.to_owned();
        let source = match kind {
            SourceKind::SubjectToken => exported::Source::SubjectToken,
            SourceKind::Signer => exported::Source::Signer,
            SourceKind::Ambient | SourceKind::Credential => exported::Source::Ambient,
        };
        let answer = self
            .act(
                Verb::Exchange,
                powers,
                call.journal,
                move |plugin, store| {
                    Box::pin(async move {
                        let guest = plugin.gatepass_provider_provider();
                        guest
                            .call_exchange(store, &subject, &identity, &facts, &source, &request)
                            .await
                    })
                },
            )
            .await?;
        convert::credential(&self.name, answer, token.as_ref())
    }

    async fn registry(&self, repository: &str, call: Call<'_>) -> Result<RegistryTarget, Failure> {
        let (facts, request) = (
            convert::facts(call.facts),
            convert::request(call.request.access()),
        );
        let repository = repository.to_owned();
        let target = self
            .ask(Verb::Registry, call.journal, move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_provider();
                    guest
                        .call_registry(store, &repository, &facts, &request)
                        .await
                })
            })
            .await?;
        Ok(convert::registry_target(target))
    }

    async fn registry_credentials(
        &self,
        target: &RegistryTarget,
        access: &Credential,
        call: Call<'_>,
    ) -> Result<Credential, Error> {
        let token = lent_token([access]);
        let powers = self.powers(call.request.transport(), token.as_ref(), false);
        let (facts, request) = (
            convert::facts(call.facts),
            convert::request(call.request.access()),
        );
        let (target, access) = (convert::exported_target(target), convert::lent(access));
        let answer = self
            .act(
                Verb::RegistryCredentials,
                powers,
                call.journal,
                move |plugin, store| {
                    Box::pin(async move {
                        let guest = plugin.gatepass_provider_provider();
                        guest
                            .call_registry_credentials(store, &target, &access, &facts, &request)
                            .await
                    })
                },
            )
            .await?;
        convert::credential(&self.name, answer, token.as_ref())
    }

    async fn cluster(
        &self,
        cluster: &ClusterReference,
        call: Call<'_>,
    ) -> Result<Vec<AccessRequest>, Failure> {
        let (facts, request) = (
            convert::facts(call.facts),
            convert::request(call.request.access()),
        );
        let cluster = convert::cluster(cluster);
        let requests = self
            .ask(Verb::Cluster, call.journal, move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_provider();
                    guest.call_cluster(store, &cluster, &facts, &request).await
                })
            })
            .await?;
        Ok(requests.into_iter().map(convert::access_request).collect())
    }

    async fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Arc<Credential>],
        call: Call<'_>,
    ) -> Result<RestConfig, Error> {
        let token = lent_token(access.iter().map(AsRef::as_ref));
        let powers = self.powers(call.request.transport(), token.as_ref(), false);
        let (facts, request) = (
            convert::facts(call.facts),
            convert::request(call.request.access()),
        );
        let cluster = convert::cluster(cluster);
        let access: Vec<types::Credential> =
            access.iter().map(|access| convert::lent(access)).collect();
        let answer = self
            .act(
                Verb::RestConfig,
                powers,
                call.journal,
                move |plugin, store| {
                    Box::pin(async move {
                        let guest = plugin.gatepass_provider_provider();
                        guest
                            .call_rest_config(store, &cluster, &access, &facts, &request)
                            .await
                    })
                },
            )
            .await?;
        convert::rest_config(&self.name, answer, token.as_ref())
    }
}

fn pure(subject: &Subject, call: Call<'_>) -> (types::Subject, types::Facts, types::Request) {
    (
        convert::subject(subject),
        convert::facts(call.facts),
        convert::request(call.request.access()),
    )
}

/// The subject token among the credentials of earlier verbs, which a later verb may still send.
fn lent_token<'a>(access: impl IntoIterator<Item = &'a Credential>) -> Option<SubjectToken> {
    access.into_iter().find_map(
        |credential| match (&credential.material, credential.origin) {
            (Material::Bearer(token), Origin::SubjectToken) => Some(SubjectToken {
                token: token.clone(),
                expires_at: credential.expires_at,
            }),
            _ => None,
        },
    )
}
