//! One registry host: who is let in, and what is answered.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderName;
use http::{Method, StatusCode};
use serde_json::json;

use super::access::{Access, Rule, scope};
use super::clouds::{Action, Challenge, RegistryCloud};
use super::content;
use super::failure::Failure;
use super::route::{Place, Route};
use super::store::Store;
use super::token;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::kubernetes::TrustedIssuer;

/// The path of the token endpoint at hosts of no cloud.
const TOKEN_PATH: &str = "/token";

/// A registry under a host name, with its users and its content.
pub struct RegistryHost {
    pub(crate) name: String,
    pub(crate) foundation: Arc<Foundation>,
    pub(crate) cloud: Option<Arc<dyn RegistryCloud>>,
    pub(crate) challenge: Challenge,
    pub(crate) access: Access,
    pub(crate) store: Guarded<Store>,
}

/// Why content given to a registry is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry refuses {what}: {why}")]
pub struct RegistryError {
    what: String,
    why: String,
}

impl RegistryHost {
    pub(crate) fn new(
        name: &str,
        foundation: &Arc<Foundation>,
        cloud: Option<(Arc<dyn RegistryCloud>, Challenge)>,
    ) -> Self {
        let (cloud, challenge) = match cloud {
            Some((cloud, challenge)) => (Some(cloud), challenge),
            None => (None, Challenge::Token(TOKEN_PATH)),
        };
        Self {
            name: name.to_owned(),
            foundation: Arc::clone(foundation),
            cloud,
            challenge,
            access: Access::default(),
            store: Guarded::default(),
        }
    }

    /// Creates or replaces a user. A registry of a cloud knows its logins from that cloud alone.
    pub fn user(&self, name: &str, password: &str) {
        self.access
            .users
            .with(|users| users.insert(name.to_owned(), password.to_owned()));
    }

    /// Trusts an OIDC issuer: its tokens are taken as bearer tokens, and as passwords of any user.
    pub fn trust(&self, issuer: TrustedIssuer) {
        self.access.issuers.with(|issuers| issuers.push(issuer));
    }

    /// Lets users pull from (and push to) repositories; both may contain `*`. Who does not log in
    /// has an empty name.
    pub fn allow(&self, user: &str, repository: &str, push: bool) {
        let mut actions = vec![Action::Pull];
        if push {
            actions.push(Action::Push);
        }
        let rule = Rule {
            user: user.to_owned(),
            repository: repository.to_owned(),
            actions,
        };
        self.access.rules.with(|rules| rules.push(rule));
    }

    /// Puts a blob into a repository without asking anybody, and answers its digest.
    ///
    /// # Errors
    ///
    /// The registry is full.
    pub fn add_blob(&self, repository: &str, content: &[u8]) -> Result<String, RegistryError> {
        let content = Bytes::copy_from_slice(content);
        let added = self.store.with(|store| store.add_blob(repository, content));
        added
            .map(|digest| digest.to_string())
            .map_err(|failure| RegistryError::new("the blob", &failure))
    }

    /// Puts a manifest into a repository under a tag without asking anybody, and answers its digest.
    ///
    /// # Errors
    ///
    /// It is no manifest, a part of it is not there, the tag is none, or the registry is full.
    pub fn add_manifest(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
        content: &[u8],
    ) -> Result<String, RegistryError> {
        let content = Bytes::copy_from_slice(content);
        content::put_manifest(self, repository, tag, media_type, content)
            .map(|manifest| manifest.digest.to_string())
            .map_err(|failure| RegistryError::new("the manifest", &failure))
    }

    /// Whether a path belongs to the registry; the same host may serve other things of its cloud.
    pub(crate) fn serves(&self, call: &Call) -> bool {
        let is_token = matches!(self.challenge, Challenge::Token(path) if call.path == path);
        is_token || call.path == "/v2" || call.path.starts_with("/v2/")
    }

    pub(crate) async fn answer(&self, call: &Call) -> Answer {
        let answered = match self.challenge {
            Challenge::Token(path) if call.path == path => token::answer(self, call).await,
            _ => self.route(call).await,
        };
        let answer = answered.unwrap_or_else(|failure| failure.answer());
        let version = HeaderName::from_static("docker-distribution-api-version");
        answer::with_header(answer, version, "registry/2.0")
    }

    pub(crate) fn now(&self) -> i64 {
        self.foundation.clock.seconds()
    }

    async fn route(&self, call: &Call) -> Result<Answer, Failure> {
        let Route::Repository { name, place } = Route::of(call)? else {
            self.caller(call, "").await?;
            return Ok(answer::json(StatusCode::OK, &json!({})));
        };
        let action = action(call, &place)?;
        let caller = self.caller(call, &scope(&name, action)).await?;
        self.check(&caller, &name, action)?;
        let may_mount = |from: &str| -> bool { self.permits(&caller, from, Action::Pull) };
        content::answer(self, call, &name, &place, &may_mount)
    }
}

impl RegistryError {
    fn new(what: &str, failure: &Failure) -> Self {
        Self {
            what: what.to_owned(),
            why: failure.message.clone(),
        }
    }
}

impl fmt::Debug for RegistryHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RegistryHost")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a request needs to be allowed; nothing is ever deleted but an upload.
fn action(call: &Call, place: &Place) -> Result<Action, Failure> {
    let is_upload = matches!(place, Place::Uploads | Place::Upload(_));
    match call.method {
        Method::GET | Method::HEAD if !is_upload => Ok(Action::Pull),
        Method::GET | Method::POST | Method::PATCH | Method::PUT => Ok(Action::Push),
        Method::DELETE if is_upload => Ok(Action::Push),
        _ => Err(Failure::unsupported()),
    }
}
