//! Access tokens: how Entra issues them and how everybody else proves them.

use jsonwebtoken::jwk::JwkSet;
use serde_json::{Value, json};
use uuid::Uuid;

use super::cloud::AzureCloud;
use super::identity::{Directory, Principal, guid};
use crate::json::at;
use crate::random;
use crate::signing_key::LazyKey;
use crate::token::{self, Claims};

/// How the holder proved itself: the token's `appidacr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    Secret,
    Assertion,
}

/// The keys of the clouds: a token of one is nothing in another.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    public: LazyKey,
    china: LazyKey,
    us_government: LazyKey,
}

/// What a new token says.
pub(crate) struct Grant<'a> {
    pub(crate) principal: Principal,
    pub(crate) audience: &'a str,
    pub(crate) proof: Proof,
    pub(crate) now: i64,
    pub(crate) seconds: i64,
}

/// A token that was proven.
#[derive(Debug, Clone)]
pub(crate) struct AccessToken {
    pub(crate) principal: Principal,
    pub(crate) audience: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccessTokenError {
    #[error("not an access token of this cloud")]
    Invalid,
    #[error("the token ended at {0} s of the epoch")]
    Expired(i64),
}

impl Keys {
    fn of(&self, cloud: AzureCloud) -> &LazyKey {
        match cloud {
            AzureCloud::Public => &self.public,
            AzureCloud::China => &self.china,
            AzureCloud::UsGovernment => &self.us_government,
        }
    }

    /// The key set that a cloud publishes; none if no key can be made.
    pub(crate) fn published(&self, cloud: AzureCloud) -> Option<JwkSet> {
        let key = self.of(cloud).key().ok()?;
        Some(JwkSet {
            keys: vec![key.public().clone()],
        })
    }

    /// Signs a token; none if no key can be made.
    pub(crate) fn issue(&self, grant: &Grant<'_>) -> Option<String> {
        let Principal {
            cloud,
            tenant,
            client_id,
            object_id,
        } = grant.principal;
        let issuer = cloud.token_issuer(tenant);
        let claims = json!({
            "aud": grant.audience,
            "iss": issuer,
            "iat": grant.now,
            "nbf": grant.now,
            "exp": grant.now.saturating_add(grant.seconds),
            "aio": random::base64(48),
            "appid": client_id,
            "appidacr": match grant.proof { Proof::Secret => "1", Proof::Assertion => "2" },
            "idp": issuer,
            "idtyp": "app",
            "oid": object_id,
            "sub": object_id,
            "tid": tenant,
            "uti": random::base64url(22),
            "ver": "1.0",
        });
        self.of(cloud).key().ok()?.sign_typed(&claims).ok()
    }

    /// Proves a token of a cloud. The audience is the caller's to judge.
    pub(crate) fn prove(
        &self,
        directory: &Directory,
        cloud: AzureCloud,
        token: &str,
        now: i64,
    ) -> Result<AccessToken, AccessTokenError> {
        let keys = self.published(cloud).ok_or(AccessTokenError::Invalid)?;
        let claims = token::proven(token, &keys).map_err(|_| AccessTokenError::Invalid)?;
        let principal = principal(directory, cloud, &claims).ok_or(AccessTokenError::Invalid)?;
        if !claims.is_current(now) {
            return Err(AccessTokenError::Expired(seconds(claims.exp)));
        }
        let audience = claims
            .aud
            .as_ref()
            .and_then(|audience| audience.all().first());
        Ok(AccessToken {
            principal,
            audience: audience.cloned().unwrap_or_default(),
        })
    }
}

fn principal(directory: &Directory, cloud: AzureCloud, claims: &Claims) -> Option<Principal> {
    let rest = Value::Object(claims.rest.clone());
    let read = |name: &str| -> Option<Uuid> { guid(at(&rest, &[name]).as_str()?).ok() };
    let principal = directory.application(read("appid")?)?.principal;
    let issuer = cloud.token_issuer(principal.tenant);
    let fits = claims.iss.as_ref() == Some(&issuer) && read("tid") == Some(principal.tenant);
    fits.then_some(principal)
}

/// Whole seconds of a time claim; its fraction does not matter here.
pub(crate) fn seconds(claim: Option<f64>) -> i64 {
    let seconds = claim.unwrap_or_default();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float that is out of range becomes the nearest bound"
    )]
    let seconds = seconds as i64;
    seconds
}
