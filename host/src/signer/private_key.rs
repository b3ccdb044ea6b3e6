//! Private keys: parsed once, kept by the cryptography library, which zeroes them.

use super::failure::{KeyError, SignerError};
use super::public_key::{Curve, PublicKey};
use aws_lc_rs::error::KeyRejected;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING,
    ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A private key of a kind that is taken.
///
/// Parsing costs as much as signing on a curve, so that the key is kept parsed: once for the fixed
/// form of signatures that tokens have, once for the ASN.1 form of certificates.
pub(super) enum PrivateKey {
    Rsa(Box<RsaKeyPair>),
    Ec(Box<EcKey>),
}

pub(super) struct EcKey {
    curve: Curve,
    fixed: EcdsaKeyPair,
    asn1: EcdsaKeyPair,
}

impl PrivateKey {
    /// Reads PEM with one private key in PKCS#8, PKCS#1 or SEC 1: cert-manager writes all three.
    pub(super) fn parse(pem: &[u8]) -> Result<Self, KeyError> {
        let mut keys = PrivateKeyDer::pem_slice_iter(pem);
        let key = match keys.next() {
            Some(Ok(key)) => Zeroizing::new(key),
            Some(Err(_)) | None => return Err(KeyError::PrivateKeys),
        };
        if let Some(further) = keys.next() {
            drop(further.map(Zeroizing::new));
            return Err(KeyError::PrivateKeys);
        }
        match &*key {
            PrivateKeyDer::Pkcs1(key) => rsa(RsaKeyPair::from_der(key.secret_pkcs1_der())),
            PrivateKeyDer::Sec1(key) => ec(key.secret_sec1_der()),
            PrivateKeyDer::Pkcs8(key) => {
                let der = key.secret_pkcs8_der();
                ec(der).or_else(|_| rsa(RsaKeyPair::from_pkcs8(der)))
            }
            _ => Err(KeyError::UnsupportedKey),
        }
    }

    pub(super) fn public(&self) -> Option<PublicKey> {
        match self {
            Self::Rsa(key) => PublicKey::rsa(key.public_key().as_ref()),
            Self::Ec(key) => PublicKey::ec(key.curve, key.asn1.public_key().as_ref()),
        }
    }

    /// The signature of a token (RFC 7518 §3.3, §3.4).
    pub(super) fn sign_token(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        match self {
            Self::Rsa(key) => sign_rsa(key, message),
            Self::Ec(key) => sign_ec(&key.fixed, message),
        }
    }

    fn sign_certificate(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        match self {
            Self::Rsa(key) => sign_rsa(key, message),
            Self::Ec(key) => sign_ec(&key.asn1, message),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[private key]")
    }
}

fn rsa(parsed: Result<RsaKeyPair, KeyRejected>) -> Result<PrivateKey, KeyError> {
    match parsed {
        Ok(key) => Ok(PrivateKey::Rsa(Box::new(key))),
        Err(error) if matches!(error.description_(), "TooSmall" | "TooLarge") => {
            Err(KeyError::RsaSize)
        }
        Err(_) => Err(KeyError::UnsupportedKey),
    }
}

fn ec(der: &[u8]) -> Result<PrivateKey, KeyError> {
    let on = |curve, fixed: &'static EcdsaSigningAlgorithm, asn1| {
        let key = EcKey {
            curve,
            fixed: EcdsaKeyPair::from_private_key_der(fixed, der).ok()?,
            asn1: EcdsaKeyPair::from_private_key_der(asn1, der).ok()?,
        };
        Some(PrivateKey::Ec(Box::new(key)))
    };
    on(
        Curve::P256,
        &ECDSA_P256_SHA256_FIXED_SIGNING,
        &ECDSA_P256_SHA256_ASN1_SIGNING,
    )
    .or_else(|| {
        on(
            Curve::P384,
            &ECDSA_P384_SHA384_FIXED_SIGNING,
            &ECDSA_P384_SHA384_ASN1_SIGNING,
        )
    })
    .ok_or(KeyError::UnsupportedKey)
}

fn sign_rsa(key: &RsaKeyPair, message: &[u8]) -> Result<Vec<u8>, SignerError> {
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message,
        &mut signature,
    )
    .map_err(|_| unusable())?;
    Ok(signature)
}

fn sign_ec(key: &EcdsaKeyPair, message: &[u8]) -> Result<Vec<u8>, SignerError> {
    let signature = key.sign(&SystemRandom::new(), message);
    Ok(signature.map_err(|_| unusable())?.as_ref().to_vec())
}

fn unusable() -> SignerError {
    SignerError::Unavailable("the signing key cannot be used".into())
}

/// The key, as the library that makes certificates wants it.
#[derive(Clone, Debug)]
pub(super) struct CertificateKey(pub(super) Arc<PrivateKey>);

impl rcgen::PublicKeyData for CertificateKey {
    fn der_bytes(&self) -> &[u8] {
        match &*self.0 {
            PrivateKey::Rsa(key) => key.public_key().as_ref(),
            PrivateKey::Ec(key) => key.asn1.public_key().as_ref(),
        }
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        match &*self.0 {
            PrivateKey::Rsa(_) => &PKCS_RSA_SHA256,
            PrivateKey::Ec(key) => match key.curve {
                Curve::P256 => &PKCS_ECDSA_P256_SHA256,
                Curve::P384 => &PKCS_ECDSA_P384_SHA384,
            },
        }
    }
}

impl rcgen::SigningKey for CertificateKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.0.sign_certificate(message);
        signature.map_err(|_| rcgen::Error::RemoteKeyError)
    }
}
