//! Who is asking: bearer tokens of every kind that a cluster takes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::Serialize;

use super::account_token;
use super::status::Refusal;
use super::store::Store;
use crate::call::Call;
use crate::dialer::Dialer;
use crate::guarded::Guarded;
use crate::signing_key::LazyKey;
use crate::{oidc, random, token};

/// A user as Kubernetes knows one; serialises as `UserInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct User {
    pub(crate) username: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub(crate) fn authenticated(username: &str, groups: &[String]) -> Self {
        let mut groups = groups.to_vec();
        groups.push("system:authenticated".to_owned());
        Self {
            username: username.to_owned(),
            groups,
            ..Self::default()
        }
    }

    fn anonymous() -> Self {
        Self {
            username: "system:anonymous".to_owned(),
            groups: vec!["system:unauthenticated".to_owned()],
            ..Self::default()
        }
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        self.username == "system:anonymous"
    }
}

/// A webhook authenticator: tokens that only somebody else can read.
pub(crate) trait Authenticator: Send + Sync {
    /// The user behind a token; none if it is not accepted.
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>>;
}

/// A foreign OIDC issuer whose tokens a cluster or a registry accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedIssuer {
    /// The issuer's https URL, as in `iss`.
    pub url: String,
    /// A token must be meant for one of these.
    pub audiences: Vec<String>,
    /// Put before `sub` to make the user name. The API server's own default is the issuer and `#`;
    /// that of the registry zot is the issuer and `/`.
    pub username_prefix: String,
}

/// Everything that turns a bearer token into a user.
pub(crate) struct Authentication {
    fixed: Guarded<HashMap<String, User>>,
    issuers: Guarded<Vec<TrustedIssuer>>,
    webhooks: Guarded<Vec<Arc<dyn Authenticator>>>,
    anonymous: Guarded<bool>,
}

/// What the tokens of a cluster's own accounts are checked against.
pub(crate) struct OwnAccounts<'a> {
    /// Also the audience of the API server itself.
    pub(crate) issuer: String,
    pub(crate) key: &'a LazyKey,
    pub(crate) store: &'a Store,
    pub(crate) dialer: &'a Dialer,
    pub(crate) now: i64,
}

impl Authentication {
    pub(crate) fn new() -> Self {
        Self {
            fixed: Guarded::default(),
            issuers: Guarded::default(),
            webhooks: Guarded::default(),
            anonymous: Guarded::new(true),
        }
    }

    /// A static token for a user; the same one each time.
    pub(crate) fn fixed_token(&self, username: &str, groups: &[String]) -> String {
        let user = User::authenticated(username, groups);
        self.fixed.with(|fixed| {
            let known = fixed.iter().find(|(_, other)| **other == user);
            if let Some((token, _)) = known {
                return token.clone();
            }
            let token = random::base64url(43);
            fixed.insert(token.clone(), user);
            token
        })
    }

    pub(crate) fn trust(&self, issuer: TrustedIssuer) {
        self.issuers.with(|issuers| issuers.push(issuer));
    }

    pub(crate) fn add_webhook(&self, webhook: Arc<dyn Authenticator>) {
        self.webhooks.with(|webhooks| webhooks.push(webhook));
    }

    pub(crate) fn allow_anonymous(&self, allow: bool) {
        self.anonymous.with(|anonymous| *anonymous = allow);
    }

    /// The user behind a request.
    ///
    /// # Errors
    ///
    /// 401 for a token that nobody accepts, or for none where anonymous requests are off.
    pub(crate) async fn user(&self, call: &Call, own: &OwnAccounts<'_>) -> Result<User, Refusal> {
        match bearer(call) {
            Some(token) => self
                .user_of(token, own)
                .await
                .ok_or_else(Refusal::unauthorized),
            None if self.anonymous.with(|anonymous| *anonymous) => Ok(User::anonymous()),
            None => Err(Refusal::unauthorized()),
        }
    }

    /// The user behind a token meant for the API server itself.
    pub(crate) async fn user_of(&self, token: &str, own: &OwnAccounts<'_>) -> Option<User> {
        if let Some(user) = self.fixed.with(|fixed| fixed.get(token).cloned()) {
            return Some(user);
        }
        if let Some((user, _)) =
            account_token::review(token, std::slice::from_ref(&own.issuer), own)
        {
            return Some(user);
        }
        if let Some(user) = self.foreign(token, own).await {
            return Some(user);
        }
        for webhook in self.webhooks.with(|webhooks| webhooks.clone()) {
            if let Some(user) = webhook.authenticate(token).await {
                return Some(user);
            }
        }
        None
    }

    async fn foreign(&self, token: &str, own: &OwnAccounts<'_>) -> Option<User> {
        let issuer = token::unproven(token).ok()?.iss?;
        let trusted = self.issuers.with(|issuers| {
            issuers
                .iter()
                .find(|trusted| trusted.url == issuer)
                .cloned()
        })?;
        let proven = oidc::prove(own.dialer, &trusted.url, token).await;
        let claims = proven
            .inspect_err(|error| tracing::debug!(%error, "foreign token refused"))
            .ok()?;
        claims.is_current(own.now).then_some(())?;
        let meant = claims
            .aud
            .as_ref()?
            .all()
            .iter()
            .any(|audience| trusted.audiences.contains(audience));
        let subject = claims.sub.filter(|_| meant)?;
        let username = format!("{}{subject}", trusted.username_prefix);
        Some(User::authenticated(&username, &[]))
    }
}

impl fmt::Debug for Authentication {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Authentication")
            .finish_non_exhaustive()
    }
}

/// The bearer token; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(call: &Call) -> Option<&str> {
    let (scheme, token) = call.header("authorization")?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
