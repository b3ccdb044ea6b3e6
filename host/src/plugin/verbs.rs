//! The verbs of a plugin: conversions in, one call, conversions out.

use super::bindings::exports::gatepass::provider::provider as exported;
use super::bindings::gatepass::provider::types;
use super::{Plugin, convert};
use crate::credential::{ClusterReference, Credential, Material, Origin};
use crate::error::Error;
use crate::journal::Journal;
use crate::provider::{
    Call, ChosenBy, Description, Failure, GitTarget, Provider, RegistryTarget, RestConfig,
    SigningAuthority, Source, Trusted, Verb,
};
use crate::request::AccessRequest;
use crate::service_account::SubjectToken;
use crate::subject::Subject;
use crate::transport::Transport;
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

    fn signing_authority(&self) -> Result<Option<SigningAuthority>, Error> {
        let Some(signer) = self.signer() else {
            return Ok(None);
        };
        let key = signer
            .key_id()
            .map_err(|error| Error::unavailable("the host's signer has no key").because(error))?;
        Ok(Some(SigningAuthority {
            key,
            issuer: signer.issuer().map(|issuer| issuer.as_str().to_owned()),
        }))
    }

    fn check_audiences(&self, audiences: &[String], chosen_by: ChosenBy) -> Result<(), Error> {
        self.granted
            .check_audiences(audiences, chosen_by)
            .map_err(|error| error.during(format!("plugin '{}'", self.name)))
    }

    async fn discover(&self, journal: &Journal) -> Result<BTreeMap<String, String>, Error> {
        let mut powers = self.powers(&Transport::default(), None, true);
        powers.signing = self.signing(None, &[]);
        let facts = self
            .act(
                &self.linked.provider,
                Verb::Discover,
                powers,
                journal,
                |plugin, store| {
                    Box::pin(async move {
                        plugin
                            .gatepass_provider_provider()
                            .call_discover(store)
                            .await
                    })
                },
            )
            .await?;
        convert::discovered(&self.name, &facts)
    }

    async fn audience(&self, subject: &Subject, call: Call<'_>) -> Result<Vec<String>, Failure> {
        let (subject, facts, request) = pure(subject, call);
        self.ask(
            &self.linked.provider,
            Verb::Audience,
            call.journal,
            move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_provider();
                    guest.call_audience(store, &subject, &facts, &request).await
                })
            },
        )
        .await
    }

    async fn identity(&self, subject: &Subject, call: Call<'_>) -> Result<String, Failure> {
        let (subject, facts, request) = pure(subject, call);
        self.ask(
            &self.linked.provider,
            Verb::Identity,
            call.journal,
            move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_provider();
                    guest.call_identity(store, &subject, &facts, &request).await
                })
            },
        )
        .await
    }

    async fn exchange(
        &self,
        subject: &Subject,
        identity: &str,
        source: Source,
        call: Call<'_>,
    ) -> Result<Credential, Error> {
        let ambient = matches!(source, Source::Ambient);
        let signing = match (&source, subject) {
            (Source::Signer, Subject::Object(object)) => {
                self.signing(Some(object), &call.request.access().audiences)
            }
            _ => None,
        };
        let (token, source) = match source {
            Source::Ambient => (None, exported::Source::Ambient),
            Source::SubjectToken(token) => (Some(token), exported::Source::SubjectToken),
            Source::Credential(earlier) => {
                let lent = convert::lent(&earlier);
                (
                    lent_token([earlier.as_ref()]),
                    exported::Source::Credential(lent),
                )
            }
            Source::Signer => (None, exported::Source::Signer),
        };
        let mut powers = self.powers(call.request.transport(), token.as_ref(), ambient);
        powers.signing = signing;
        powers.brings_keys = ambient;
        let (subject, facts, request) = pure(subject, call);
        let identity = identity.to_owned();
        let answer = self
            .act(
                &self.linked.provider,
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
        let (facts, request) = asked(call);
        let repository = repository.to_owned();
        let target = self
            .ask(
                &self.linked.provider,
                Verb::Registry,
                call.journal,
                move |plugin, store| {
                    Box::pin(async move {
                        let guest = plugin.gatepass_provider_provider();
                        guest
                            .call_registry(store, &repository, &facts, &request)
                            .await
                    })
                },
            )
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
        let (facts, request) = asked(call);
        let (target, access) = (convert::exported_target(target), convert::lent(access));
        let answer = self
            .act(
                &self.linked.provider,
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
        let (facts, request) = asked(call);
        let cluster = convert::cluster(cluster);
        let requests = self
            .ask(
                &self.linked.provider,
                Verb::Cluster,
                call.journal,
                move |plugin, store| {
                    Box::pin(async move {
                        let guest = plugin.gatepass_provider_provider();
                        guest.call_cluster(store, &cluster, &facts, &request).await
                    })
                },
            )
            .await?;
        Ok(requests.into_iter().map(convert::access_request).collect())
    }

    async fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Arc<Credential>],
        call: Call<'_>,
    ) -> Result<RestConfig, Error> {
        let access_tokens = access.iter().map(AsRef::as_ref);
        check_one_token(&self.name, access_tokens.clone())?;
        let token = lent_token(access_tokens);
        let powers = self.powers(call.request.transport(), token.as_ref(), false);
        let (facts, request) = asked(call);
        let cluster = convert::cluster(cluster);
        let access: Vec<types::Credential> =
            access.iter().map(|access| convert::lent(access)).collect();
        let answer = self
            .act(
                &self.linked.provider,
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

    async fn git_repository(&self, url: &str, call: Call<'_>) -> Result<GitTarget, Failure> {
        let git = self.optional(self.linked.git.as_ref(), Verb::Repository)?;
        let (facts, request) = asked(call);
        let url = url.to_owned();
        let target = self
            .ask(git, Verb::Repository, call.journal, move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_git();
                    guest.call_repository(store, &url, &facts, &request).await
                })
            })
            .await?;
        Ok(GitTarget {
            cache_input: target.cache_input,
            access: convert::access_request(target.access),
        })
    }

    async fn git_credentials(
        &self,
        url: &str,
        access: &Credential,
        call: Call<'_>,
    ) -> Result<Credential, Error> {
        let verb = Verb::GitCredentials;
        let git = self.optional(self.linked.git.as_ref(), verb)?;
        let token = lent_token([access]);
        let powers = self.powers(call.request.transport(), token.as_ref(), false);
        let (facts, request) = asked(call);
        let (url, access) = (url.to_owned(), convert::lent(access));
        let answer = self
            .act(git, verb, powers, call.journal, move |plugin, store| {
                Box::pin(async move {
                    let guest = plugin.gatepass_provider_git();
                    guest
                        .call_git_credentials(store, &url, &access, &facts, &request)
                        .await
                })
            })
            .await?;
        convert::credential(&self.name, answer, token.as_ref())
    }

    async fn trust_policy(&self, trusted: Trusted<'_>, call: Call<'_>) -> Result<String, Failure> {
        let trust = self.optional(self.linked.trust.as_ref(), Verb::Policy)?;
        let (subject, facts, request) = pure(trusted.subject, call);
        let (identity, issuer) = (trusted.identity.to_owned(), trusted.issuer.to_owned());
        let audiences = trusted.audiences.to_vec();
        self.ask(trust, Verb::Policy, call.journal, move |plugin, store| {
            Box::pin(async move {
                let guest = plugin.gatepass_provider_trust();
                guest
                    .call_policy(
                        store, &subject, &identity, &issuer, &audiences, &facts, &request,
                    )
                    .await
            })
        })
        .await
    }
}

impl Plugin {
    /// An interface that a component may lack.
    fn optional<'a, I>(&self, interface: Option<&'a I>, verb: Verb) -> Result<&'a I, Error> {
        interface.ok_or_else(|| {
            Error::configuration(format!(
                "provider '{}' does not do {}",
                self.name,
                verb.as_str()
            ))
        })
    }
}

fn asked(call: Call<'_>) -> (types::Facts, types::Request) {
    (
        convert::facts(call.facts),
        convert::request(call.request.access()),
    )
}

fn pure(subject: &Subject, call: Call<'_>) -> (types::Subject, types::Facts, types::Request) {
    (
        convert::subject(subject),
        convert::facts(call.facts),
        convert::request(call.request.access()),
    )
}

/// `subject-token` stands for one token, so that there must be one at most.
fn check_one_token<'a>(
    plugin: &str,
    access: impl Iterator<Item = &'a Credential>,
) -> Result<(), Error> {
    match access
        .filter(|access| access.origin == Origin::SubjectToken)
        .count()
    {
        0 | 1 => Ok(()),
        count => Err(Error::plugin(format!(
            "plugin '{plugin}' asks for {count} tokens of a service account for one cluster"
        ))),
    }
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
