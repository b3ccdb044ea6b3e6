//! A relying party: fetches an issuer's documents over HTTPS and proves a token with them.

use jsonwebtoken::jwk::JwkSet;
use serde::Deserialize;

use crate::dialer::{Dialer, FetchError};
use crate::token::{self, Claims, TokenError};

#[derive(Debug, Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OidcError {
    #[error("the issuer's documents cannot be fetched")]
    Fetch(#[from] FetchError),
    #[error("the issuer's documents are not what OpenID Connect Discovery 1.0 asks for: {0}")]
    Document(&'static str),
    #[error(transparent)]
    Token(#[from] TokenError),
}

/// Proves `token` with the keys that `issuer` publishes.
pub(crate) async fn prove(dialer: &Dialer, issuer: &str, token: &str) -> Result<Claims, OidcError> {
    let keys = keys(dialer, issuer).await?;
    Ok(token::proven(token, &keys)?)
}

async fn keys(dialer: &Dialer, issuer: &str) -> Result<JwkSet, OidcError> {
    let base = issuer.trim_end_matches('/');
    let document = dialer
        .fetch(&format!("{base}/.well-known/openid-configuration"))
        .await?;
    let discovery: Discovery = serde_json::from_slice(&document)
        .map_err(|_| OidcError::Document("the discovery document cannot be read"))?;
    // OpenID Connect Discovery 1.0 §4.3: identical, not equivalent.
    if discovery.issuer != issuer {
        return Err(OidcError::Document("the document names another issuer"));
    }
    let keys = dialer.fetch(&discovery.jwks_uri).await?;
    serde_json::from_slice(&keys).map_err(|_| OidcError::Document("the key set cannot be read"))
}
