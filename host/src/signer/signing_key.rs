//! A key that signs, with the certificates that make it an authority, and what others need to check
//! what it signed.

use super::authority::{Anchor, CertificateAuthority};
use super::failure::{KeyError, SignerError};
use super::private_key::PrivateKey;
use super::public_key::PublicKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::json;
use std::fmt;
use std::sync::Arc;

/// Certificates of a chain that are read.
const MAX_CHAIN: usize = 8;

/// A private key and its certificates. It cannot be printed; the library that holds it zeroes it.
pub struct SigningKey {
    private: Arc<PrivateKey>,
    /// The first part of every token, with the dot: its header never changes.
    header: String,
    verification: Arc<VerificationKey>,
    authority: Result<CertificateAuthority, KeyError>,
}

/// What others need to check what a key signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationKey {
    pub(super) id: String,
    pub(super) key: PublicKey,
    pub(super) anchor: Option<Anchor>,
}

impl SigningKey {
    /// Reads a private key (RSA of at least 2048 bits, P-256 or P-384), and the certificates from its
    /// own upwards. Without certificates, or with one that is no authority's, it signs tokens alone.
    ///
    /// # Errors
    ///
    /// The key is of another kind; a certificate cannot be read, or is for another key.
    pub fn parse(private_key: &[u8], certificates: &[u8]) -> Result<Self, KeyError> {
        let private = Arc::new(PrivateKey::parse(private_key)?);
        let key = private.public().ok_or(KeyError::UnsupportedKey)?;
        let authority = match CertificateAuthority::parse(&chain(certificates)?, &private) {
            Ok(authority) => Ok(authority),
            Err(missing @ KeyError::NoAuthority(_)) => Err(missing),
            Err(broken) => return Err(broken),
        };
        let id = key.thumbprint();
        let header = json!({"alg": key.algorithm(), "kid": id, "typ": "JWT"}).to_string();
        let anchor = authority.as_ref().ok().map(|found| found.anchor().clone());
        Ok(Self {
            private,
            header: format!("{}.", URL_SAFE_NO_PAD.encode(header)),
            verification: Arc::new(VerificationKey { id, key, anchor }),
            authority,
        })
    }

    /// What others need to check what this key signs.
    #[must_use]
    pub fn verification(&self) -> &Arc<VerificationKey> {
        &self.verification
    }

    /// A compact JWS (RFC 7515 §3.1).
    pub(super) fn sign(&self, payload: &[u8]) -> Result<String, SignerError> {
        let mut token = self.header.clone();
        URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = self.private.sign_token(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    pub(super) fn authority(&self) -> Result<&CertificateAuthority, SignerError> {
        let authority = self.authority.as_ref();
        authority.map_err(|reason| SignerError::NotGranted(reason.to_string()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SigningKey")
            .field("id", &self.verification.id)
            .field("algorithm", &self.verification.key.algorithm())
            .finish_non_exhaustive()
    }
}

impl VerificationKey {
    /// The name of the key, which tokens carry as `kid`: its thumbprint by RFC 7638.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The signature algorithm of tokens: `RS256`, `ES256` or `ES384`.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.key.algorithm()
    }
}

fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, KeyError> {
    let certificates = CertificateDer::pem_slice_iter(pem).enumerate();
    let chain: Vec<_> = certificates
        .map(|(number, certificate)| certificate.map_err(|_| KeyError::Certificate(number)))
        .collect::<Result<_, _>>()?;
    let blank = pem.iter().all(u8::is_ascii_whitespace);
    if chain.len() > MAX_CHAIN || (chain.is_empty() && !blank) {
        return Err(KeyError::Certificate(chain.len().min(MAX_CHAIN)));
    }
    Ok(chain)
}

#[cfg(test)]
mod tests;
