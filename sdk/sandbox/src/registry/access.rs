//! Who may do what at a registry host: passwords, tokens of its own, and tokens of issuers that it
//! trusts.

use std::collections::{BTreeMap, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::clouds::{Action, Challenge, Login};
use super::failure::Failure;
use super::host::RegistryHost;
use crate::call::Call;
use crate::guarded::Guarded;
use crate::kubernetes::TrustedIssuer;
use crate::{oidc, pattern, token};

/// What a host knows of its users.
#[derive(Debug, Default)]
pub(crate) struct Access {
    pub(crate) users: Guarded<BTreeMap<String, String>>,
    pub(crate) issuers: Guarded<Vec<TrustedIssuer>>,
    pub(crate) rules: Guarded<Vec<Rule>>,
    pub(crate) grants: Guarded<HashMap<String, Grant>>,
}

/// Lets users do things in repositories; both may contain `*`.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) user: String,
    pub(crate) repository: String,
    pub(crate) actions: Vec<Action>,
}

/// What a token of the host's own is good for.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) scopes: Vec<(String, Vec<Action>)>,
    pub(crate) expires_at: i64,
}

/// Whoever sent a request.
pub(crate) enum Caller {
    /// With a password, which a cloud's rules may look at again.
    User {
        user: String,
        password: String,
    },
    /// By a token of an issuer; or, with an empty name, nobody in particular.
    Name(String),
    Token(Grant),
}

impl Access {
    pub(crate) fn permits(&self, name: &str, repository: &str, action: Action) -> bool {
        self.rules.with(|rules| {
            rules.iter().any(|rule| {
                pattern::fits(&rule.user, name)
                    && pattern::fits(&rule.repository, repository)
                    && rule.actions.contains(&action)
            })
        })
    }

    fn is_user(&self, login: Login<'_>) -> bool {
        self.users.with(|users| {
            users
                .get(login.user)
                .is_some_and(|known| known == login.password)
        })
    }
}

impl RegistryHost {
    /// The caller of a request to `/v2/`; `scope` is what a client is told to ask a token for.
    pub(crate) async fn caller(&self, call: &Call, scope: &str) -> Result<Caller, Failure> {
        let refused = |error| Failure::unauthorized(self.challenge_header(scope, error));
        let Some(header) = call.header("authorization") else {
            return Err(refused(None));
        };
        let invalid = || refused(Some("invalid_token"));
        if let Some(token) = header.strip_prefix("Bearer ") {
            return self.bearer(token).await.ok_or_else(invalid);
        }
        let (user, password) = basic(header).ok_or_else(invalid)?;
        // A registry with a token endpoint takes passwords there alone, but for those of clouds.
        if self.challenge != Challenge::Basic && self.cloud.is_none() {
            return Err(refused(None));
        }
        let login = Login {
            user: &user,
            password: &password,
        };
        self.login(login).await.ok_or_else(invalid)
    }

    /// Whoever logs in, also with a token of a trusted issuer as the password.
    pub(crate) async fn login(&self, login: Login<'_>) -> Option<Caller> {
        let is_known = match &self.cloud {
            Some(cloud) => cloud.principal(&self.name, login).is_some(),
            None => self.access.is_user(login),
        };
        if is_known {
            return Some(Caller::User {
                user: login.user.to_owned(),
                password: login.password.to_owned(),
            });
        }
        self.subject(login.password).await.map(Caller::Name)
    }

    /// The name behind a token of a trusted issuer.
    pub(crate) async fn subject(&self, bearer: &str) -> Option<String> {
        let issuer = token::unproven(bearer).ok()?.iss?;
        let trusted = self.access.issuers.with(|issuers| {
            let found = issuers.iter().find(|trusted| trusted.url == issuer);
            found.cloned()
        })?;
        let dialer = &self.foundation.dialer;
        let claims = oidc::prove(dialer, &trusted.url, bearer).await;
        let claims = claims
            .inspect_err(|error| tracing::debug!(%error, "token refused by the registry"))
            .ok()?;
        let meant = claims.aud.as_ref().map(token::Audience::all)?;
        let is_meant = meant.iter().any(|meant| trusted.audiences.contains(meant));
        let is_current = claims.is_current(self.now());
        let subject = claims.sub.filter(|_| is_meant && is_current)?;
        Some(format!("{}{subject}", trusted.username_prefix))
    }

    pub(crate) fn permits(&self, caller: &Caller, repository: &str, action: Action) -> bool {
        match (caller, &self.cloud) {
            (Caller::User { user, password }, Some(cloud)) => {
                let login = Login { user, password };
                cloud.permits(&self.name, login, repository, action)
            }
            (Caller::User { user: name, .. }, None) | (Caller::Name(name), _) => {
                self.access.permits(name, repository, action)
            }
            (Caller::Token(grant), _) => grant
                .scopes
                .iter()
                .any(|(name, actions)| name == repository && actions.contains(&action)),
        }
    }

    /// # Errors
    ///
    /// A token is refused so that the client asks for a wider one; anybody else for good.
    pub(crate) fn check(
        &self,
        caller: &Caller,
        repository: &str,
        action: Action,
    ) -> Result<(), Failure> {
        if self.permits(caller, repository, action) {
            return Ok(());
        }
        match caller {
            Caller::Token(_) => {
                let challenge =
                    self.challenge_header(&scope(repository, action), Some("insufficient_scope"));
                Err(Failure::unauthorized(challenge))
            }
            Caller::User { .. } | Caller::Name(_) => Err(Failure::denied()),
        }
    }

    async fn bearer(&self, bearer: &str) -> Option<Caller> {
        let grant = self
            .access
            .grants
            .with(|grants| grants.get(bearer).cloned());
        match grant {
            Some(grant) => (self.now() < grant.expires_at).then_some(Caller::Token(grant)),
            None => self.subject(bearer).await.map(Caller::Name),
        }
    }

    fn challenge_header(&self, scope: &str, error: Option<&str>) -> String {
        let name = &self.name;
        let Challenge::Token(path) = self.challenge else {
            return format!("Basic realm=\"https://{name}/\",service=\"{name}\"");
        };
        let mut header = format!("Bearer realm=\"https://{name}{path}\",service=\"{name}\"");
        for (field, value) in [("scope", Some(scope)), ("error", error)] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                header.push_str(&format!(",{field}=\"{value}\""));
            }
        }
        header
    }
}

/// What a token must be asked for; who pushes looks as well.
pub(crate) fn scope(repository: &str, action: Action) -> String {
    match action {
        Action::Pull => format!("repository:{repository}:pull"),
        Action::Push => format!("repository:{repository}:pull,push"),
    }
}

/// User and password of a Basic header (RFC 7617).
pub(crate) fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    let decoded = STANDARD.decode(encoded).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (user, password) = decoded.split_once(':')?;
    let pair = (user.to_owned(), password.to_owned());
    scheme.eq_ignore_ascii_case("basic").then_some(pair)
}
