//! Why a key is not taken, and why nothing is signed.

use crate::error::Error;

/// Why a private key or its certificate is not taken. No text of either is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is not exactly one private key that is not encrypted.
    #[error("there must be one private key in PEM, without password")]
    PrivateKeys,
    /// It is a key of another kind.
    #[error("the private key must be RSA, P-256 or P-384")]
    UnsupportedKey,
    /// An RSA key is too short or too long.
    #[error("an RSA key must have 2048 to 8192 bits")]
    RsaSize,
    /// A certificate cannot be read; they are counted from 0.
    #[error("certificate {0} of the chain cannot be read")]
    Certificate(usize),
    /// The first certificate is for another key.
    #[error("the certificate is for another private key")]
    AnotherKey,
    /// There is no certificate that may sign others.
    #[error("no certificates can be issued: {0}")]
    NoAuthority(&'static str),
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::configuration("cannot take the signing key").because(error)
    }
}

/// Why nothing is signed, sorted as the contract's `signer` interface has it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerError {
    /// The operator has not configured what this needs.
    #[error("{0}")]
    NotGranted(String),
    /// The provider asked for something that is not the object's.
    #[error("{0}")]
    Refused(String),
    /// The key cannot be read or used at the moment.
    #[error("{0}")]
    Unavailable(String),
}
