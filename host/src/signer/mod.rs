//! Signatures for objects that are their own identity (SPIFFE): tokens and certificates, with a key
//! that never leaves the host. And signatures with keys that a provider brings, in `rsa`.
//!
//! The one place that knows the cryptography library and the one that makes certificates. A provider
//! says what is to be signed; the [`Signer`] reads it, holds it against the object on whose behalf the
//! provider runs, and signs what it has read.
//!
//! Tokens are put together here, and not by a library for tokens: those parse the key for each
//! signature, which on a curve takes longer than to sign.

mod authority;
mod claims;
mod failure;
mod issuer;
mod keys;
mod pem;
mod private_key;
mod public_key;
mod publication;
mod rsa;
mod signing_key;
mod spiffe_id;

pub use authority::IssuedX509;
pub use claims::MAX_LIFETIME;
pub use failure::{KeyError, SignerError};
pub use issuer::{DISCOVERY_PATH, IssuerUrl, JWKS_PATH};
pub use keys::{FixedKey, KeyHistory, PublishedKeys, SigningKeys};
pub use signing_key::{SigningKey, VerificationKey};
pub use spiffe_id::{SpiffeId, TrustDomain};

pub(crate) use rsa::{RsaError, sign_rs256};

use crate::secret::Secret;
use crate::subject::ObjectReference;
use claims::Claims;
use serde_json::Value;
use std::sync::Arc;
use std::time::SystemTime;

/// Signs for objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Signer {
    trust_domain: TrustDomain,
    issuer: Option<IssuerUrl>,
    keys: Arc<dyn SigningKeys>,
}

impl Signer {
    /// Takes the names in which it signs, and its keys. Without an issuer it signs certificates alone.
    #[must_use]
    pub fn new(
        trust_domain: TrustDomain,
        issuer: Option<IssuerUrl>,
        keys: Arc<dyn SigningKeys>,
    ) -> Self {
        Self {
            trust_domain,
            issuer,
            keys,
        }
    }

    /// The trust domain.
    #[must_use]
    pub fn trust_domain(&self) -> &TrustDomain {
        &self.trust_domain
    }

    /// The issuer of tokens.
    #[must_use]
    pub fn issuer(&self) -> Option<&IssuerUrl> {
        self.issuer.as_ref()
    }

    /// The ID of the key that signs now.
    ///
    /// # Errors
    ///
    /// `Unavailable`: there is none.
    pub fn key_id(&self) -> Result<String, SignerError> {
        Ok(self.keys.current()?.verification().id().to_owned())
    }

    /// Signs claims for an object, as a compact JWS: a JWT-SVID that is an OIDC token as well.
    ///
    /// # Errors
    ///
    /// `NotGranted`: there is no issuer. `Refused`: the claims are not exactly `iss`, `sub`, `aud`,
    /// `exp`, `nbf`, `iat` and `jti`, or not those of this issuer, this object and this time.
    /// `Unavailable`: there is no key now.
    pub fn sign_jwt(
        &self,
        object: &ObjectReference,
        claims: &str,
        now: SystemTime,
    ) -> Result<Secret, SignerError> {
        self.sign(&self.read(object, claims, now)?)
    }

    /// As [`sign_jwt`](Self::sign_jwt), and the claim `aud` holds none but these audiences: for what
    /// a provider asks for, which may not choose who accepts the token.
    ///
    /// # Errors
    ///
    /// As [`sign_jwt`](Self::sign_jwt); `Refused`: there is another audience.
    pub fn sign_jwt_for(
        &self,
        object: &ObjectReference,
        audiences: &[String],
        claims: &str,
        now: SystemTime,
    ) -> Result<Secret, SignerError> {
        let claims = self.read(object, claims, now)?;
        claims.check_audiences(audiences)?;
        self.sign(&claims)
    }

    fn read(
        &self,
        object: &ObjectReference,
        claims: &str,
        now: SystemTime,
    ) -> Result<Claims, SignerError> {
        Claims::parse(claims, self.required_issuer()?, &self.id(object)?, now)
    }

    fn sign(&self, claims: &Claims) -> Result<Secret, SignerError> {
        let payload = serde_json::to_vec(claims)
            .map_err(|_| SignerError::Unavailable("the claims cannot be written".into()))?;
        let key = self.keys.current()?;
        Ok(Secret::from(key.sign(&payload)?))
    }

    /// Issues a certificate for an object and a fresh key: an X509-SVID.
    ///
    /// # Errors
    ///
    /// `Refused`: the SPIFFE ID is not the object's, or the end is not within the next hour.
    /// `NotGranted`: the key has no certificate that may sign others. `Unavailable`: there is no key
    /// now, or its certificate has expired.
    pub fn issue_x509(
        &self,
        object: &ObjectReference,
        spiffe_id: &str,
        expires_at: SystemTime,
        now: SystemTime,
    ) -> Result<IssuedX509, SignerError> {
        let id = self.id(object)?;
        if spiffe_id != id.as_str() {
            return Err(SignerError::Refused(format!(
                "the SPIFFE ID must be {id}, that of the request's object"
            )));
        }
        let key = self.keys.current()?;
        key.authority()?.issue(&id, expires_at, now)
    }

    /// The SPIFFE bundle: the keys of tokens (`use` is `jwt-svid`) and the anchors of certificates
    /// (`use` is `x509-svid`), with sequence and refresh hint.
    #[must_use]
    pub fn bundle(&self, now: SystemTime) -> Value {
        publication::bundle(&self.keys.published(now))
    }

    /// The key set that OIDC relying parties read (`use` is `sig`).
    #[must_use]
    pub fn jwks(&self, now: SystemTime) -> Value {
        publication::jwks(&self.keys.published(now))
    }

    /// The issuer's configuration, which is served under [`DISCOVERY_PATH`].
    ///
    /// # Errors
    ///
    /// `NotGranted`: there is no issuer.
    pub fn discovery_document(&self) -> Result<Value, SignerError> {
        Ok(publication::discovery(self.required_issuer()?))
    }

    fn required_issuer(&self) -> Result<&IssuerUrl, SignerError> {
        self.issuer.as_ref().ok_or_else(|| {
            SignerError::NotGranted("this host signs no tokens: it has no issuer".into())
        })
    }

    fn id(&self, object: &ObjectReference) -> Result<SpiffeId, SignerError> {
        SpiffeId::of_object(&self.trust_domain, object)
            .map_err(|error| SignerError::Refused(error.to_string()))
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
