//! What the other side must be told, so that it trusts a subject.

use super::CredentialHost;
use crate::error::Error;
use crate::provider::{ChosenBy, Provider, SourceKind, Trusted};
use crate::request::CredentialRequest;
use crate::subject::Subject;
use crate::text::steers;
use std::sync::Arc;

/// A policy or commands by which the other side comes to trust a subject, and for whom they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustPolicy {
    /// What the subject becomes.
    pub identity: Arc<str>,
    /// Who signs the subject's tokens.
    pub issuer: String,
    /// For whom the tokens are.
    pub audiences: Arc<[String]>,
    /// What the other side's administrator reads and applies.
    pub text: String,
}

impl CredentialHost {
    pub(super) async fn trust(
        &self,
        request: &CredentialRequest,
        issuer: Option<&str>,
    ) -> Result<TrustPolicy, Error> {
        let loaded = self.loaded(request)?;
        if !request.links().is_empty() {
            let error =
                Error::configuration("the policies of a chain's further links are not known here");
            return Err(error.remedy(
                "leave the links out: each further one trusts the identity of the one before it",
            ));
        }
        let subject = self.subject(request, loaded.provider.as_ref()).await?;
        let kind = match &subject {
            Subject::ServiceAccount(_) => SourceKind::SubjectToken,
            Subject::Object(_) => SourceKind::Signer,
            Subject::Ambient => {
                let error = Error::configuration(
                    "this process presents no token that another side could trust",
                );
                return Err(error.remedy("name a service account"));
            }
        };
        loaded.provider.check_source(kind)?;
        let resolution = self
            .resolve(loaded, request, &subject, ChosenBy::Caller, kind)
            .await?;
        let issuer = match (issuer, &subject) {
            (Some(issuer), _) => issuer.to_owned(),
            (None, Subject::Object(_)) => signing_issuer(loaded.provider.as_ref())?,
            (None, _) => self.accounts()?.issuer().await?,
        };
        let trusted = Trusted {
            subject: &subject,
            identity: &resolution.identity,
            issuer: &issuer,
            audiences: &resolution.audiences,
        };
        let mut facts = resolution.facts.clone();
        let text = self
            .ask(
                loaded,
                request,
                &mut facts,
                &trusted,
                |provider, trusted, call| provider.trust_policy(*trusted, call),
            )
            .await
            .map_err(|error| {
                error.remedy("if the other side knows the issuer by another URL, name it: --issuer")
            })?;
        check_policy(request.provider(), &text)?;
        Ok(TrustPolicy {
            identity: resolution.identity,
            audiences: resolution.audiences,
            issuer,
            text,
        })
    }
}

/// The longest policy: IAM's own limit is 2048 characters for a trust policy.
const MAX_POLICY: usize = 64 << 10;

/// People read it and paste it into a shell: nothing in it may hide a part of it from them.
fn check_policy(provider: &str, text: &str) -> Result<(), Error> {
    let hides = |character: char| steers(character) && character != '\n';
    if text.len() <= MAX_POLICY && !text.chars().any(hides) {
        return Ok(());
    }
    Err(Error::plugin(format!(
        "provider '{provider}' answered a policy of {} bytes that is too long, or holds characters that steer a terminal",
        text.len()
    )))
}

fn signing_issuer(provider: &dyn Provider) -> Result<String, Error> {
    let issuer = provider
        .signing_authority()?
        .and_then(|authority| authority.issuer);
    issuer.ok_or_else(|| {
        Error::configuration("this host signs no tokens, and so has no issuer of its own")
    })
}
