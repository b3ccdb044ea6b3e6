//! An access token: from the request to the key, and from the key to the exchange.

use super::resolution::Resolution;
use super::{CredentialHost, Loaded, credential_details, rfc3339};
use crate::cache::Keep;
use crate::cache::key::{CacheKey, KeyLines};
use crate::credential::{Credential, Issued, Origination, StartingKeys};
use crate::error::Error;
use crate::journal::details;
use crate::provider::{ChosenBy, Provider, Source, SourceKind};
use crate::request::{AccessRequest, CredentialRequest};
use crate::service_account::{ServiceAccount, SubjectToken};
use crate::subject::Subject;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// What an exchange starts from: what the subject has by itself, or an earlier link of a chain.
enum Start {
    Subject,
    Earlier(Arc<Credential>),
}

/// A request up to the look into the cache.
struct Prepared<'a> {
    loaded: &'a Loaded,
    request: &'a CredentialRequest,
    subject: &'a Subject,
    start: Start,
    resolution: Resolution,
    lines: KeyLines,
}

impl CredentialHost {
    pub(super) async fn access(
        &self,
        request: &CredentialRequest,
        chosen_by: ChosenBy,
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let loaded = self.loaded(request)?;
        let subject = self.subject(request, loaded.provider.as_ref()).await?;
        let links: Vec<_> = request
            .links()
            .iter()
            .map(|link| request.link(link))
            .collect();
        self.check_chain(loaded, request, &links, &subject, chosen_by)
            .await?;
        let mut issued = match request.start() {
            None => self.first(loaded, request, &subject, chosen_by).await?,
            Some(keys) => self.held(keys),
        };
        for link in &links {
            issued = self.link(loaded, link, &subject, issued).await?;
        }
        Ok(issued)
    }

    /// An access token that a provider wants for a registry, a cluster or a remote. Audiences that are not
    /// the caller's are the provider's choice, and judged as such; what else it breaks is its vendor's.
    pub(super) async fn derived(
        &self,
        request: &CredentialRequest,
        wanted: &AccessRequest,
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let chosen_by = match wanted.audiences == request.access().audiences {
            true => ChosenBy::Caller,
            false => ChosenBy::Provider,
        };
        let provider = &self.loaded(request)?.provider;
        let derived = request
            .with_access(wanted.clone())
            .and_then(|derived| provider.check(derived.access()).map(|()| derived))
            .map_err(|error| {
                let provider = request.provider();
                Error::plugin(format!(
                    "provider '{provider}' asks for an access token that breaks a rule"
                ))
                .because(error)
            })?;
        self.access(&derived, chosen_by).await
    }

    /// Judges every link before anything is sent: parameters, identity, and that the chain leads on.
    async fn check_chain(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        links: &[CredentialRequest],
        subject: &Subject,
        chosen_by: ChosenBy,
    ) -> Result<(), Error> {
        let mut seen: Vec<Arc<str>> = Vec::new();
        if request.start().is_none() && !links.is_empty() {
            let kind = own_source(subject);
            let first = self
                .resolve(loaded, request, subject, chosen_by, kind)
                .await?;
            seen.push(first.identity);
        }
        for link in links {
            loaded.provider.check(link.access())?;
            loaded.provider.check_source(SourceKind::Credential)?;
            let chosen_by = ChosenBy::Caller;
            let kind = SourceKind::Credential;
            let resolution = self.resolve(loaded, link, subject, chosen_by, kind).await?;
            if seen.contains(&resolution.identity) {
                return Err(Error::configuration(format!(
                    "the chain comes back to {}: each of its links must lead to another identity",
                    resolution.identity
                )));
            }
            seen.push(resolution.identity);
        }
        Ok(())
    }

    /// The first link: what the subject gets by itself.
    async fn first(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        subject: &Subject,
        chosen_by: ChosenBy,
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let kind = own_source(subject);
        loaded.provider.check_source(kind)?;
        let signed_by = match kind {
            SourceKind::Signer => Some(signing_key(loaded.provider.as_ref())?),
            _ => None,
        };
        let resolution = self
            .resolve(loaded, request, subject, chosen_by, kind)
            .await?;
        let lines = KeyLines::access(
            request,
            loaded.provider.digest(),
            subject,
            &resolution.identity,
            &resolution.audiences,
            &resolution.facts,
        );
        let lines = match &signed_by {
            Some(key) => lines.signed_by(key),
            None => lines,
        };
        let start = Start::Subject;
        let prepared = Prepared {
            loaded,
            request,
            subject,
            start,
            resolution,
            lines,
        };
        self.issue(prepared).await
    }

    /// A further link: what the credential of the one before is exchanged for.
    async fn link(
        &self,
        loaded: &Loaded,
        request: &CredentialRequest,
        subject: &Subject,
        (earlier, earlier_key): (Issued<Credential>, CacheKey),
    ) -> Result<(Issued<Credential>, CacheKey), Error> {
        let kind = SourceKind::Credential;
        let resolution = self
            .resolve(loaded, request, subject, ChosenBy::Caller, kind)
            .await?;
        let lines = KeyLines::link(
            earlier_key,
            request,
            loaded.provider.digest(),
            subject,
            &resolution.identity,
            &resolution.facts,
        );
        let start = Start::Earlier(earlier.value);
        let prepared = Prepared {
            loaded,
            request,
            subject,
            start,
            resolution,
            lines,
        };
        self.issue(prepared).await
    }

    /// Keys that the caller holds, as if a link had issued them.
    fn held(&self, keys: &StartingKeys) -> (Issued<Credential>, CacheKey) {
        let issued = Issued {
            value: Arc::new(keys.credential(self.inner.clock.wall())),
            identity: "keys of the caller".into(),
            origination: Origination::Cache,
        };
        (issued, KeyLines::start(keys).key())
    }

    async fn issue(&self, prepared: Prepared<'_>) -> Result<(Issued<Credential>, CacheKey), Error> {
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
        if let Start::Earlier(credential) = &prepared.start {
            return Ok(Source::Credential(Arc::clone(credential)));
        }
        match prepared.subject {
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

/// The key by which the host signs for a provider's objects.
fn signing_key(provider: &dyn Provider) -> Result<String, Error> {
    let authority = provider.signing_authority()?;
    authority.map(|authority| authority.key).ok_or_else(|| {
        let error = Error::configuration(format!(
            "an object has no identity of its own here: nobody signs for provider '{}'",
            provider.description().name
        ));
        error.remedy(
            "configure spiffe (trust domain, Secret, issuer), and grant the plugin the signer",
        )
    })
}

/// What a subject has by itself.
fn own_source(subject: &Subject) -> SourceKind {
    match subject {
        Subject::Ambient => SourceKind::Ambient,
        Subject::ServiceAccount(_) => SourceKind::SubjectToken,
        Subject::Object(_) => SourceKind::Signer,
    }
}
