//! Signatures with RSA keys that a provider brings: each is read for one signature, and zeroed.

use super::pem;
use aws_lc_rs::error::KeyRejected;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};

/// The longest text of a key: one of 4096 bits takes 3.2 KiB, and people write comments around it.
const MAX_KEY_BYTES: usize = 16 << 10;

/// The longest message: a token with every claim that a cloud knows is a few KiB.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The longest modulus: 4096 bits. Time grows with the third power of it. The shortest, 2048 bits
/// (NIST SP 800-131A), is the library's own rule.
const MAX_MODULUS_BYTES: usize = 4096 / 8;

/// Why nothing is signed. No part of the key or of the message is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RsaError {
    #[error("the private key {0}")]
    InvalidKey(&'static str),
    #[error("the {what} has {bytes} bytes, and may have {most}")]
    TooLarge {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
}

impl RsaError {
    /// What is no key that the library can sign with.
    pub(crate) const UNUSABLE: Self =
        Self::InvalidKey("is not an RSA key, or its numbers do not belong together");
    const NO_PEM: Self = Self::InvalidKey(
        "must be one section of PEM, PRIVATE KEY or RSA PRIVATE KEY, without password",
    );
    const SIZE: Self = Self::InvalidKey("must have 2048 to 4096 bits");
}

/// Signs as RS256 (RFC 7518 §3.3).
///
/// # Errors
///
/// `InvalidKey`: the text is not one RSA key in PEM (PKCS#8 or PKCS#1), of 2048 to 4096 bits.
/// `TooLarge`: it, or the message, is longer than any in use.
pub(crate) fn sign_rs256(private_key: &str, message: &[u8]) -> Result<Vec<u8>, RsaError> {
    check_size("private key", private_key.len(), MAX_KEY_BYTES)?;
    check_size("message", message.len(), MAX_MESSAGE_BYTES)?;
    let key = parse(private_key)?;
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        message,
        &mut signature,
    )
    .map_err(|_| RsaError::UNUSABLE)?;
    Ok(signature)
}

fn check_size(what: &'static str, bytes: usize, most: usize) -> Result<(), RsaError> {
    match bytes <= most {
        true => Ok(()),
        false => Err(RsaError::TooLarge { what, bytes, most }),
    }
}

/// The library zeroes what it holds, and so does the DER.
fn parse(text: &str) -> Result<RsaKeyPair, RsaError> {
    let (label, der) = pem::decode(text).ok_or(RsaError::NO_PEM)?;
    let key = match label {
        "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
        "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
        _ => return Err(RsaError::NO_PEM),
    };
    let key = key.map_err(refused)?;
    match key.public_modulus_len() <= MAX_MODULUS_BYTES {
        true => Ok(key),
        false => Err(RsaError::SIZE),
    }
}

fn refused(error: KeyRejected) -> RsaError {
    match error.description_() {
        "TooSmall" | "TooLarge" => RsaError::SIZE,
        _ => RsaError::UNUSABLE,
    }
}

#[cfg(test)]
mod tests;
