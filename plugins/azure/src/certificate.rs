//! An assertion that the application signs with the key of its certificate.
//!
//! Entra wants RSA, PSS and SHA-256 (learn.microsoft.com/entra/identity-platform/certificate-credentials).
//! `libcrux-rsa` signs: its code is generated from HACL*, whose proofs hold for the absence of
//! timing that depends on secrets too.

use crate::ambient::CERTIFICATE_VARIABLE;
use crate::der::{INTEGER, OCTET_STRING, Reader, SEQUENCE};
use crate::discover::variable;
use crate::principal::ClientId;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gatepass_sdk::{Error, Host, Secret};
use libcrux_rsa::{DigestAlgorithm, VarLenPrivateKey};
use rustls_pki_types::pem::{PemObject, SectionKind};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// The password of a file that is encrypted.
pub(crate) const PASSWORD_VARIABLE: &str = "AZURE_CLIENT_CERTIFICATE_PASSWORD";

/// Whether the chain is sent too, for applications that trust a subject and its issuer instead
/// of one certificate: `1` or `true`.
pub(crate) const CHAIN_VARIABLE: &str = "AZURE_CLIENT_SEND_CERTIFICATE_CHAIN";

/// How long an assertion is good for: what Entra's documentation advises.
const LIFETIME: Duration = Duration::from_secs(600);

/// Bytes of a modulus: RSA of 2048, 3072 and 4096 bits. They sign in some 80, 170 and 500 ms as
/// WebAssembly, and a call has a second; a longer one would take more.
const MODULUS_BYTES: [usize; 3] = [256, 384, 512];

/// The one public exponent that is in use (FIPS 186-5 §5.1 names its bounds).
const EXPONENT: [u8; 3] = [1, 0, 1];

/// Bytes of the salt: as many as of the hash (RFC 7518 §3.5).
const SALT_BYTES: usize = 32;

/// `rsaEncryption` (RFC 8017 §A.1), with its tag and length.
const RSA_ENCRYPTION: [u8; 11] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
];

/// Makes an assertion that `client` is who asks at `audience`, with the `pem` of the file `path`.
///
/// # Errors
///
/// `invalid-configuration` if the file is not a certificate with its key; `unsupported` for a
/// file with a password, and for keys that Entra or this provider has no use for.
pub(crate) fn assertion(
    path: &str,
    pem: &[u8],
    client: &ClientId,
    audience: &str,
    host: &dyn Host,
) -> Result<Secret, Error> {
    let wrong = |what: &str| {
        format!(
            "{CERTIFICATE_VARIABLE}: the file '{}' {what}",
            path.escape_debug()
        )
    };
    if variable(host, PASSWORD_VARIABLE).is_some() {
        return Err(Error::unsupported(format!(
            "{PASSWORD_VARIABLE} is not supported: give the certificate and its key as PEM without password"
        )));
    }
    let identity = Identity::read(pem).map_err(|fault| match fault {
        Fault::Malformed(what) => Error::invalid_configuration(wrong(what)),
        Fault::Unsupported(what) => Error::unsupported(wrong(what)),
    })?;
    let chain = matches!(
        variable(host, CHAIN_VARIABLE).as_deref(),
        Some("1" | "true" | "TRUE" | "True")
    );
    let claims = claims(client, audience, host.now())?;
    identity.sign(&claims, chain)
}

/// Why a file is of no use.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    Malformed(&'static str),
    Unsupported(&'static str),
}

/// A certificate, those above it, and its key.
struct Identity {
    leaf: Vec<u8>,
    chain: Vec<Vec<u8>>,
    key: RsaKey,
}

impl Identity {
    /// Reads PEM: the certificate first, those above it after it, the key anywhere.
    fn read(pem: &[u8]) -> Result<Self, Fault> {
        let mut certificates = Vec::new();
        let mut key = None;
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
            let (kind, der) = section.map_err(|_| Fault::Malformed("is PEM that is broken"))?;
            let der = Zeroizing::new(der);
            let read = match kind {
                SectionKind::Certificate => {
                    certificates.push(der.to_vec());
                    continue;
                }
                SectionKind::PrivateKey => RsaKey::pkcs8(&der),
                SectionKind::RsaPrivateKey => RsaKey::pkcs1(&der),
                SectionKind::EcPrivateKey => Err(Fault::Unsupported(NOT_RSA)),
                _ => continue,
            };
            if key.replace(read?).is_some() {
                return Err(Fault::Malformed("holds more than one key"));
            }
        }
        let key = key.ok_or(Fault::Malformed(
            "holds no key: it must be PEM of a certificate and its key, without password",
        ))?;
        let mut certificates = certificates.into_iter();
        let leaf = certificates
            .next()
            .ok_or(Fault::Malformed("holds no certificate beside the key"))?;
        // The modulus stands in the certificate byte for byte (RFC 8017 §A.1.1).
        if !leaf
            .windows(key.modulus.len())
            .any(|window| window == key.modulus)
        {
            return Err(Fault::Malformed(
                "holds a key that is not of its first certificate",
            ));
        }
        Ok(Self {
            leaf,
            chain: certificates.collect(),
            key,
        })
    }

    fn sign(&self, claims: &str, with_chain: bool) -> Result<Secret, Error> {
        let mut header = json!({
            "alg": "PS256",
            "typ": "JWT",
            "x5t#S256": URL_SAFE_NO_PAD.encode(Sha256::digest(&self.leaf)),
        });
        if with_chain {
            let chain = [&self.leaf].into_iter().chain(&self.chain);
            let chain: Vec<String> = chain.map(|der| STANDARD.encode(der)).collect();
            if let Some(header) = header.as_object_mut() {
                header.insert("x5c".into(), chain.into());
            }
        }
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims, &mut token);
        let signature = self.key.sign(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token.into())
    }
}

fn claims(client: &ClientId, audience: &str, now: SystemTime) -> Result<String, Error> {
    let seconds = |moment: SystemTime| {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH).ok();
        since.map(|since| since.as_secs())
    };
    let times = seconds(now).zip(seconds(now + LIFETIME));
    let (issued_at, expires_at) =
        times.ok_or_else(|| Error::internal("the host's clock is before 1970"))?;
    Ok(json!({
        "aud": audience,
        "exp": expires_at,
        "iat": issued_at,
        "nbf": issued_at,
        "iss": client.as_str(),
        "sub": client.as_str(),
        "jti": uuid::Builder::from_random_bytes(random()?).into_uuid().to_string(),
    })
    .to_string())
}

fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Error> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).map_err(|_| Error::internal("there is no randomness"))?;
    Ok(bytes)
}

const NOT_RSA: &str = "holds a key that is not RSA, which is all that Entra accepts";
const BROKEN: &str = "holds a key that is cut off or broken";

/// A private key. Modulus and exponent have the same length.
struct RsaKey {
    modulus: Vec<u8>,
    exponent: Zeroizing<Vec<u8>>,
}

impl RsaKey {
    /// Reads `PrivateKeyInfo` (RFC 5958 §2).
    fn pkcs8(der: &[u8]) -> Result<Self, Fault> {
        let malformed = || Fault::Malformed(BROKEN);
        let mut info = Reader::new(der).sequence().ok_or_else(malformed)?;
        info.element(INTEGER).ok_or_else(malformed)?;
        let algorithm = info.element(SEQUENCE).ok_or_else(malformed)?;
        if !algorithm.starts_with(&RSA_ENCRYPTION) {
            return Err(Fault::Unsupported(NOT_RSA));
        }
        Self::pkcs1(info.element(OCTET_STRING).ok_or_else(malformed)?)
    }

    /// Reads `RSAPrivateKey` (RFC 8017 §A.1.2).
    fn pkcs1(der: &[u8]) -> Result<Self, Fault> {
        let malformed = || Fault::Malformed(BROKEN);
        let mut key = Reader::new(der).sequence().ok_or_else(malformed)?;
        key.element(INTEGER).ok_or_else(malformed)?;
        let modulus = key.positive().ok_or_else(malformed)?;
        let public = key.positive().ok_or_else(malformed)?;
        let private = key.positive().ok_or_else(malformed)?;
        if !MODULUS_BYTES.contains(&modulus.len()) || public != EXPONENT {
            return Err(Fault::Unsupported(
                "holds an RSA key that is not supported: it must have 2048, 3072 or 4096 bits and the public exponent 65537",
            ));
        }
        let padding = modulus.len().checked_sub(private.len());
        let mut exponent = Zeroizing::new(vec![0; padding.ok_or_else(malformed)?]);
        exponent.extend_from_slice(private);
        Ok(Self {
            modulus: modulus.to_vec(),
            exponent,
        })
    }

    /// Signs with RSASSA-PSS, SHA-256, and a salt as long as the hash.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let failed = |_| Error::invalid_configuration("the certificate's key does not sign");
        let key =
            VarLenPrivateKey::from_components(&self.modulus, &self.exponent).map_err(failed)?;
        let salt = random::<SALT_BYTES>()?;
        let mut signature = vec![0; self.modulus.len()];
        libcrux_rsa::sign(
            DigestAlgorithm::Sha2_256,
            &key,
            message,
            &salt,
            &mut signature,
        )
        .map_err(failed)?;
        Ok(signature)
    }
}

#[cfg(test)]
mod tests;
