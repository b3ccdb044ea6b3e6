//! Reading JSON Web Tokens: claims, and a signature checked against a key set.

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The claims that every verifier here looks at; the others stay in `rest`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: Option<String>,
    pub(crate) sub: Option<String>,
    pub(crate) aud: Option<Audience>,
    pub(crate) exp: Option<f64>,
    pub(crate) nbf: Option<f64>,
    pub(crate) iat: Option<f64>,
    #[serde(flatten)]
    pub(crate) rest: Map<String, Value>,
}

impl Claims {
    /// Whether `exp` lies ahead and `nbf` behind; a token without `exp` is never current.
    pub(crate) fn is_current(&self, now: i64) -> bool {
        // Exact: seconds of this era are far below 2^53.
        let now = now as f64;
        self.exp.is_some_and(|exp| now < exp) && self.nbf.is_none_or(|nbf| nbf <= now)
    }
}

/// RFC 7519 §4.1.3: one string or an array of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(audience) => std::slice::from_ref(audience),
            Self::Many(audiences) => audiences,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("not a JSON Web Token")]
    Malformed,
    #[error("no key of the issuer fits the token")]
    NoKey,
    #[error("the signature is wrong")]
    Signature,
}

/// The claims as they stand, not yet proven.
pub(crate) fn unproven(token: &str) -> Result<Claims, TokenError> {
    let claims = jsonwebtoken::dangerous::insecure_decode_claims(token);
    claims.map_err(|_| TokenError::Malformed)
}

/// The claims, once their signature is proven by a key of the set.
///
/// Times and audiences are the caller's to judge, by the sandbox's clock.
pub(crate) fn proven(token: &str, keys: &JwkSet) -> Result<Claims, TokenError> {
    let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Malformed)?;
    // What AWS IAM and Kubernetes both accept from a workload's issuer.
    if !matches!(header.alg, Algorithm::RS256 | Algorithm::ES256) {
        return Err(TokenError::NoKey);
    }
    let id = header.kid.as_deref().ok_or(TokenError::NoKey)?;
    let key = keys.find(id).ok_or(TokenError::NoKey)?;
    let key = DecodingKey::from_jwk(key).map_err(|_| TokenError::NoKey)?;
    let mut rules = Validation::new(header.alg);
    rules.required_spec_claims.clear();
    rules.validate_exp = false;
    rules.validate_aud = false;
    let decoded = jsonwebtoken::decode(token, &key, &rules);
    Ok(decoded.map_err(|_| TokenError::Signature)?.claims)
}
