//! Certificates that applications prove themselves with.

use std::fmt;

use aws_lc_rs::digest::{Algorithm as Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_RSA_SHA256, RsaKeySize, date_time_ymd};

use crate::builder::StartError;

/// A certificate and its private key, which is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, as PEM.
    pub certificate: String,
    /// Its RSA key, as PEM of PKCS #8.
    pub private_key: String,
}

/// What the directory keeps of it.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    /// SHA-1 and SHA-256 of the DER form, in base64url.
    x5t: String,
    x5t_s256: String,
    pub(crate) key: Jwk,
}

impl ClientCertificate {
    pub(crate) fn generate(name: &str) -> Result<(Self, Certificate), StartError> {
        let pair = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2100, 1, 1);
        let certificate = params.self_signed(&pair)?;
        let private_key = pair.serialize_pem();
        let signer = EncodingKey::from_rsa_pem(private_key.as_bytes())?;
        let kept = Certificate {
            x5t: thumbprint(&SHA1_FOR_LEGACY_USE_ONLY, certificate.der()),
            x5t_s256: thumbprint(&SHA256, certificate.der()),
            key: Jwk::from_encoding_key(&signer, Algorithm::RS256)?,
        };
        let handed_out = Self {
            certificate: certificate.pem(),
            private_key,
        };
        Ok((handed_out, kept))
    }
}

impl Certificate {
    /// Whether a token's header names this certificate.
    pub(crate) fn is_named_by(&self, header: &Header) -> bool {
        // RFC 7515 wants no padding; the vendor's Python library pads, and Entra takes it.
        let names = |named: &Option<String>, own: &str| {
            let named = named.as_deref().map(|text| text.trim_end_matches('='));
            named == Some(own)
        };
        names(&header.x5t, &self.x5t) || names(&header.x5t_s256, &self.x5t_s256)
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ClientCertificate");
        debug
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

fn thumbprint(algorithm: &'static Digest, der: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(algorithm, der))
}
