//! An issuer's RSA key: signs JSON Web Tokens and describes its public half.

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize};
use serde_json::Value;

use crate::builder::StartError;

pub(crate) struct SigningKey {
    private: EncodingKey,
    id: String,
    public: Jwk,
}

impl SigningKey {
    /// A fresh RSA key of 2048 bits, what Kubernetes installers generate.
    pub(crate) fn generate() -> Result<Self, StartError> {
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
        let private = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes())?;
        // Kubernetes names a key by the hash of its public half (its source: keyIDFromPublicKey).
        let id = URL_SAFE_NO_PAD.encode(digest(&SHA256, &pair.subject_public_key_info()));
        let mut public = Jwk::from_encoding_key(&private, Algorithm::RS256)?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self {
            private,
            id,
            public,
        })
    }

    /// Signs with a header of `alg` and `kid` and nothing else, as Kubernetes does.
    pub(crate) fn sign(&self, claims: &Value) -> jsonwebtoken::errors::Result<String> {
        self.sign_as(None, claims)
    }

    /// Signs with a header that says `JWT` as well, as most others do.
    pub(crate) fn sign_typed(&self, claims: &Value) -> jsonwebtoken::errors::Result<String> {
        self.sign_as(Some("JWT".to_owned()), claims)
    }

    fn sign_as(
        &self,
        kind: Option<String>,
        claims: &Value,
    ) -> jsonwebtoken::errors::Result<String> {
        let mut header = Header::new(Algorithm::RS256);
        header.typ = kind;
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.private)
    }

    pub(crate) fn public(&self) -> &Jwk {
        &self.public
    }
}

/// A key that is made when it is first needed: an RSA key takes a noticeable part of a second.
#[derive(Default)]
pub(crate) struct LazyKey(OnceLock<SigningKey>);

impl LazyKey {
    pub(crate) fn key(&self) -> Result<&SigningKey, StartError> {
        if let Some(key) = self.0.get() {
            return Ok(key);
        }
        let key = SigningKey::generate()?;
        // Of two that race, the first is kept for both.
        Ok(self.0.get_or_init(|| key))
    }
}

impl fmt::Debug for LazyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LazyKey(..)")
    }
}
