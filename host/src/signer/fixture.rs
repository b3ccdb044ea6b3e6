//! Keys and certificates for tests.

use super::{FixedKey, Signer, SigningKey};
use crate::subject::ObjectReference;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256,
    SignatureAlgorithm,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The three kinds of keys, and the algorithm of their tokens.
pub(crate) const KINDS: [(&SignatureAlgorithm, &str); 3] = [
    (&PKCS_RSA_SHA256, "RS256"),
    (&PKCS_ECDSA_P256_SHA256, "ES256"),
    (&PKCS_ECDSA_P384_SHA384, "ES384"),
];

/// A certificate, its key, and what it was made of.
pub(crate) struct Certified {
    pub(crate) key: KeyPair,
    pub(crate) params: CertificateParams,
    pub(crate) certificate: Certificate,
}

impl Certified {
    /// What may sign others, for a key of its own.
    pub(crate) fn root(kind: &'static SignatureAlgorithm) -> Self {
        Self::with(authority("root"), kind, None)
    }

    /// A certificate that is signed by another, or by itself.
    pub(crate) fn with(
        params: CertificateParams,
        kind: &'static SignatureAlgorithm,
        by: Option<&Self>,
    ) -> Self {
        let key = KeyPair::generate_for(kind).unwrap();
        let certificate = match by {
            None => params.self_signed(&key),
            Some(by) => params.signed_by(&key, &Issuer::from_params(&by.params, &by.key)),
        };
        Self {
            certificate: certificate.unwrap(),
            key,
            params,
        }
    }

    pub(crate) fn key_pem(&self) -> String {
        super::pem::encode("PRIVATE KEY", self.key.serialized_der()).to_string()
    }

    pub(crate) fn pem(&self) -> String {
        super::pem::encode("CERTIFICATE", self.certificate.der()).to_string()
    }

    pub(crate) fn signing_key(&self) -> SigningKey {
        SigningKey::parse(self.key_pem().as_bytes(), self.pem().as_bytes()).unwrap()
    }
}

/// What an authority's certificate holds.
pub(crate) fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Example");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.use_authority_key_identifier_extension = true;
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2090, 1, 1);
    params
}

pub(crate) fn signer(key: SigningKey) -> Signer {
    Signer::new(
        "example.org".parse().unwrap(),
        Some("https://issuer.example".parse().unwrap()),
        Arc::new(FixedKey::new(key)),
    )
}

pub(crate) fn object(namespace: &str) -> ObjectReference {
    ObjectReference {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: "OCIRepository".into(),
        resource: "ocirepositories".into(),
        namespace: namespace.into(),
        name: "app".into(),
        uid: "u".into(),
    }
}

/// The ID of the object in `team-a`.
pub(crate) const ID: &str = "spiffe://example.org/ocirepositories/team-a/app";

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

/// The wall clock in whole seconds, since others check by it.
pub(crate) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(super::claims::seconds(SystemTime::now()))
}

/// Claims that are right for the object in `team-a`.
pub(crate) fn claims(now: SystemTime) -> String {
    let now = super::claims::seconds(now);
    serde_json::json!({
        "iss": "https://issuer.example",
        "sub": ID,
        "aud": ["https://registry.example"],
        "exp": now + 3_600,
        "nbf": now,
        "iat": now,
        "jti": "one",
    })
    .to_string()
}
