//! Access tokens: opaque, and known to whoever issued them.

use std::collections::HashMap;

use super::failure::Failure;
use super::principal::Principal;
use crate::call::Call;
use crate::guarded::Guarded;
use crate::random;

pub(crate) const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
pub(crate) const IAM: &str = "https://www.googleapis.com/auth/iam";
pub(crate) const USERINFO_EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
/// Scopes of OpenID Connect that are no URLs.
const SHORT_SCOPES: [&str; 3] = ["openid", "email", "profile"];

/// What a token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) principal: Principal,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at: i64,
}

impl Access {
    /// Whether one of these scopes was granted.
    pub(crate) fn has_scope(&self, any: &[&str]) -> bool {
        self.scopes
            .iter()
            .any(|scope| any.contains(&scope.as_str()))
    }
}

#[derive(Debug, Default)]
pub(crate) struct AccessTokens(Guarded<HashMap<String, Access>>);

impl AccessTokens {
    pub(crate) fn issue(&self, access: Access) -> String {
        let kind = match access.principal {
            Principal::ServiceAccount { .. } => "c",
            Principal::Federated(_) => "d",
            Principal::User { .. } => "a",
        };
        let token = format!("ya29.{kind}.{}", random::base64url(200));
        self.0.with(|tokens| tokens.insert(token.clone(), access));
        token
    }

    /// What a token stands for, if it has not ended.
    pub(crate) fn find(&self, token: &str, now: i64) -> Option<Access> {
        let access = self.0.with(|tokens| tokens.get(token).cloned())?;
        (now < access.expires_at).then_some(access)
    }

    /// Whoever sent this request.
    pub(crate) fn caller(&self, call: &Call, now: i64) -> Result<Access, Failure> {
        let header = call
            .header("authorization")
            .ok_or_else(Failure::credentials_missing)?;
        let unsupported = || Failure::credentials_invalid("ACCESS_TOKEN_TYPE_UNSUPPORTED");
        let (scheme, token) = header.split_once(' ').ok_or_else(unsupported)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(unsupported());
        }
        let access = self.0.with(|tokens| tokens.get(token).cloned());
        let access = access.ok_or_else(unsupported)?;
        if access.expires_at <= now {
            return Err(Failure::credentials_invalid("ACCESS_TOKEN_EXPIRED"));
        }
        Ok(access)
    }
}

/// Whether Google could know a scope by this name.
pub(crate) fn is_scope(scope: &str) -> bool {
    let name = scope.strip_prefix("https://www.googleapis.com/auth/");
    let is_name = |name: &str| {
        let all = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        all && !name.is_empty()
    };
    name.is_some_and(is_name) || SHORT_SCOPES.contains(&scope)
}
