//! An access token: from the request to the key, and from the key to the exchange.

use super::resolution::Resolution;
use super::{CredentialHost, Loaded, credential_details, rfc3339};
use crate::cache::Keep;
use crate::cache::key::{CacheKey, KeyLines};
use crate::credential::{Credential, Issued, Origination};
use crate::error::Error;
use crate::journal::details;
use crate::provider::{ChosenBy, Source};
use crate::request::{AccessRequest, CredentialRequest};
use crate::service_account::{ServiceAccount, SubjectToken};
use crate::subject::Subject;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// A request up to the look into the cache.
struct Prepared<'a> {
    loaded: &'a Loaded,
    request: &'a CredentialRequest,
    subject: Subject,
    resolution: Resolution,
    lines: KeyLines,
}

impl CredentialHost {
    pub(super) async fn access(
        &self,
        request: &CredentialRequest,
        chosen_by: ChosenBy,
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let prepared = self.prepare(request, chosen_by).await?;
        let key = prepared.lines.key();
        let (value, origination) = self
            .cached_or(key, &prepared.lines, self.exchange(&prepared))
            .await?;
        let issued = Issued {
            value,
            identity: prepared.resolution.identity,
            origination,
        };
        Ok((issued, key))
    }

    /// An access token that a provider wants for a registry or a cluster. Audiences that are not the
    /// caller's are the provider's choice, and judged as such.
    pub(super) async fn derived(
        &self,
        request: &CredentialRequest,
        wanted: &AccessRequest,
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let chosen_by = match wanted.audiences == request.access().audiences {
            true => ChosenBy::Caller,
            false => ChosenBy::Provider,
        };
        let derived = request.with_access(wanted.clone()).map_err(|error| {
            let provider = request.provider();
            Error::plugin(format!(
                "provider '{provider}' asks for an access token that breaks a rule"
            ))
            .because(error)
        })?;
        self.access(&derived, chosen_by).await
    }

    async fn prepare<'a>(
        &'a self,
        request: &'a CredentialRequest,
        chosen_by: ChosenBy,
    ) -> Result<Prepared<'a>, Error> {
        let loaded = self.loaded(request)?;
        let subject = self.subject(request, loaded.provider.description()).await?;
        let resolution = self.resolve(loaded, request, &subject, chosen_by).await?;
        let lines = KeyLines::access(
            request,
            loaded.provider.digest(),
            &subject,
            &resolution.identity,
            &resolution.audiences,
            &resolution.facts,
        );
        Ok(Prepared {
            loaded,
            request,
            subject,
            resolution,
            lines,
        })
    }

    pub(super) async fn cached_or<T: Keep>(
        &self,
        key: CacheKey,
        lines: &KeyLines,
        make: impl Future<Output = Result<T, Error>>,
    ) -> Result<(Arc<T>, Origination), Error> {
        self.journal.passed("key", || {
            let mut shown = details([("sha256", &key)]);
            let pair = |line: &str| {
                line.split_once('=')
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
            };
            shown.extend(lines.to_string().lines().filter_map(pair));
            shown
        });
        let (value, origination) = self.inner.cache.get_or_exchange(key, make).await?;
        self.journal.passed("cache", || {
            let outcome = match origination {
                Origination::Cache => "hit",
                Origination::Exchange => "miss",
            };
            details([("outcome", &outcome)])
        });
        Ok((value, origination))
    }

    async fn exchange(&self, prepared: &Prepared<'_>) -> Result<Credential, Error> {
        let Prepared {
            loaded,
            request,
            subject,
            resolution,
            ..
        } = prepared;
        let source = self.source(prepared).await?;
        let exchange = || -> BoxFuture<'_, Result<Credential, Error>> {
            let call = self.call(request, &resolution.facts);
            loaded
                .provider
                .exchange(subject, &resolution.identity, source.clone(), call)
        };
        let credential = self
            .retrying("exchange", exchange)
            .await
            .map_err(|error| error.during(format_args!("{} for {subject}", request.provider())))?;
        self.check(&credential, request.provider())?;
        self.journal
            .passed("exchange", || credential_details(&credential));
        tracing::info!(
            provider = request.provider(),
            %subject,
            identity = %resolution.identity,
            expires = rfc3339(credential.expires_at()),
            "credential issued"
        );
        Ok(credential)
    }

    async fn source(&self, prepared: &Prepared<'_>) -> Result<Source, Error> {
        match &prepared.subject {
            Subject::Ambient => Ok(Source::Ambient),
            Subject::Object(_) => Ok(Source::Signer),
            Subject::ServiceAccount(account) => {
                let audiences = &prepared.resolution.audiences;
                let lifetime = prepared.request.token_lifetime();
                let token = self.token(account, audiences, lifetime).await?;
                Ok(Source::SubjectToken(token))
            }
        }
    }

    async fn token(
        &self,
        account: &ServiceAccount,
        audiences: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error> {
        let accounts = self.accounts()?;
        let token = self
            .retrying("token", || accounts.token(account, audiences, lifetime))
            .await?;
        self.journal.passed("token", || {
            details([
                ("sha256", &token.token.sha256()),
                ("expires", &rfc3339(token.expires_at)),
            ])
        });
        Ok(token)
    }
}
