//! What the host does for a provider: ports, so that tests can stand in for it.

use crate::{Credential, Error, Secret, egress};
use std::time::SystemTime;

/// Sends HTTP requests under the operator's grant.
pub trait Egress {
    /// Sends one request and waits for the whole answer, whatever its status.
    ///
    /// # Errors
    ///
    /// No answer came: see [`egress::ErrorCode`]. `?` turns it into the [`Error`] it means.
    fn send(&self, request: egress::Request) -> Result<egress::Response, egress::Error>;
}

/// Tells the time.
pub trait Clock {
    /// The wall clock.
    fn now(&self) -> SystemTime;
}

/// In whose name a host signs. Not a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningAuthority {
    /// The SPIFFE trust domain.
    pub trust_domain: String,
    /// The issuer of JWTs; `None`: the host signs no JWT.
    pub issuer: Option<String>,
}

/// Signs with keys that stay in the host.
pub trait Signer {
    /// In whose name the host signs. Answers in [`discover`](crate::Provider::discover) too.
    ///
    /// # Errors
    ///
    /// `denied`: the host has no signer, or the operator has not granted it.
    fn authority(&self) -> Result<SigningAuthority, Error>;

    /// Signs claims, a JSON object, as a compact JWS.
    ///
    /// # Errors
    ///
    /// The host refuses claims that are not those of the request's object.
    fn sign_jwt(&self, claims: &str) -> Result<String, Error>;

    /// Issues a certificate with this SPIFFE ID for a fresh key. The credential's material is
    /// `X509`, and its expiry may be sooner than `expires_at`.
    ///
    /// # Errors
    ///
    /// The host refuses an ID that is not that of the request's object.
    fn issue_x509(&self, spiffe_id: &str, expires_at: SystemTime) -> Result<Credential, Error>;
}

/// Signs with RSA keys that the provider brings, natively and in constant time: no RSA inside a
/// component does. Answers in an ambient exchange alone, where files that hold keys are.
pub trait RsaSigner {
    /// Signs a message as RS256 with a key in PEM (PKCS#8 or PKCS#1) of 2048 to 4096 bits.
    ///
    /// # Errors
    ///
    /// `invalid-configuration`: the key is no such key, or it or the message is too large. The words
    /// begin with what is wrong, `the private key …`. `denied`: the exchange is not an ambient one, or
    /// has used up its signatures.
    fn sign_rs256(&self, private_key: &Secret, message: &[u8]) -> Result<Vec<u8>, Error>;
}

/// The environment of the process, as granted; empty for all but ambient calls.
pub trait Environment {
    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// The content of a file.
    ///
    /// # Errors
    ///
    /// It is not granted, not there, or not readable.
    fn file(&self, path: &str) -> std::io::Result<Vec<u8>>;
}

/// How important a line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For who debugs the provider.
    Debug,
    /// For the operator, in good times.
    Info,
    /// Something is odd but works.
    Warn,
    /// Something failed.
    Error,
}

/// Takes lines for the operator.
pub trait Log {
    /// Writes one line. Never a secret.
    fn log(&self, level: Level, message: &str);
}

/// All that a host does.
pub trait Host: Egress + Clock + Signer + RsaSigner + Environment + Log {}

impl<T: Egress + Clock + Signer + RsaSigner + Environment + Log> Host for T {}
