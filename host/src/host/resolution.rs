//! What the subject becomes: the pure verbs, and what is remembered of them.

use super::{CredentialHost, Loaded, lies};
use crate::cache::key::KeyLines;
use crate::error::Error;
use crate::journal::details;
use crate::provider::{Call, ChosenBy, Facts, Failure, Provider, SourceKind};
use crate::request::{CredentialRequest, check_list, check_text};
use crate::subject::Subject;
use futures::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the pure verbs answered.
#[derive(Clone)]
pub(crate) struct Resolution {
    pub(super) identity: Arc<str>,
    pub(super) audiences: Arc<[String]>,
    pub(super) facts: Facts,
}

impl CredentialHost {
    /// What the subject becomes. Remembered by everything that decides it.
    pub(super) async fn resolve(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        subject: &Subject,
        chosen_by: ChosenBy,
        source: SourceKind,
    ) -> Result<Resolution, Error> {
        let digest = loaded.provider.digest();
        let key = KeyLines::resolution(request, digest, subject, chosen_by, source).key();
        let ask = self.ask_resolution(loaded, request, subject, chosen_by, source);
        let resolution = self
            .inner
            .resolutions
            .try_get_with(key, ask)
            .await
            .map_err(|error: Arc<Error>| Error::clone(&error).during(subject))?;
        self.journal.passed("identity", || {
            let audiences = resolution.audiences.join(", ");
            details([
                ("identity", &resolution.identity),
                ("audiences", &audiences),
            ])
        });
        Ok(resolution)
    }

    async fn ask_resolution(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        subject: &Subject,
        chosen_by: ChosenBy,
        source: SourceKind,
    ) -> Result<Resolution, Error> {
        let mut facts = loaded.facts.get(&()).await;
        let identity = self
            .ask(
                loaded,
                request,
                &mut facts,
                subject,
                |provider, subject, call| provider.identity(subject, call),
            )
            .await?;
        check_text(
            "identity",
            Some(&identity)
                .filter(|identity| !identity.is_empty())
                .map(String::as_str),
        )
        .map_err(|error| lies(request.provider(), error))?;
        let (audiences, chosen_by) = match (source, request.access().audiences.as_slice()) {
            (SourceKind::SubjectToken, []) => {
                let own = self
                    .ask(
                        loaded,
                        request,
                        &mut facts,
                        subject,
                        |provider, subject, call| provider.audience(subject, call),
                    )
                    .await?;
                check_list("audience", &own).map_err(|error| lies(request.provider(), error))?;
                (own, ChosenBy::Provider)
            }
            (_, given) => (given.to_vec(), chosen_by),
        };
        let signed = source == SourceKind::Signer && !audiences.is_empty();
        if source == SourceKind::SubjectToken || signed {
            check_audiences(loaded.provider.as_ref(), &audiences, chosen_by)?;
        }
        Ok(Resolution {
            identity: identity.into(),
            audiences: audiences.into(),
            facts,
        })
    }

    /// Runs a pure verb, after `discover` if it needs facts.
    pub(super) async fn ask<I: ?Sized, T>(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        facts: &mut Facts,
        input: &I,
        verb: impl for<'a> Fn(&'a dyn Provider, &'a I, Call<'a>) -> BoxFuture<'a, Result<T, Failure>>,
    ) -> Result<T, Error> {
        loop {
            let answer = verb(loaded.provider.as_ref(), input, self.call(request, facts)).await;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(Failure::Error(error)) => return Err(error),
                Err(Failure::NeedsFacts) if facts.is_some() => {
                    let provider = request.provider();
                    return Err(Error::plugin(format!(
                        "provider '{provider}' asks for facts that it has"
                    )));
                }
                Err(Failure::NeedsFacts) => *facts = Some(self.discover(loaded).await?),
            }
        }
    }

    /// Remembered for the life of the process; a failure is not.
    async fn discover(&self, loaded: &Loaded) -> Result<Arc<BTreeMap<String, String>>, Error> {
        let discover = async { loaded.provider.discover(&self.journal).await.map(Arc::new) };
        let discovered = loaded.facts.try_get_with((), discover).await;
        let discovered = discovered.map_err(|error: Arc<Error>| Error::clone(&error))?;
        self.journal.passed("facts", || {
            let pair = |(name, value): (&String, &String)| (name.clone(), value.clone());
            discovered.iter().map(pair).collect()
        });
        Ok(discovered)
    }
}

/// A token without audience is good for the API server itself, and is never asked for.
fn check_audiences(
    provider: &dyn Provider,
    audiences: &[String],
    chosen_by: ChosenBy,
) -> Result<(), Error> {
    if audiences.is_empty() {
        let name = &provider.description().name;
        return Err(Error::plugin(format!(
            "provider '{name}' names no audience for the service account's token"
        )));
    }
    provider.check_audiences(audiences, chosen_by)
}
