//! Who signs for objects in a sandbox: a key in a Secret, and the documents by which others check.

use crate::failure::Failure;
use gatepass::config::SpiffeConfig;
use gatepass::signer::{DISCOVERY_PATH, FixedKey, JWKS_PATH, Signer, SigningKey};
use gatepass_sandbox::{Clock, Sandbox, TrustedIssuer};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256,
};
use serde_json::Value;
use std::sync::Arc;

/// Where the Secret is.
const NAMESPACE: &str = "gatepass";
const SECRET: &str = "spiffe-signing";

/// Who signs: a host name of the sandbox's.
const ISSUER: &str = "https://spiffe.gatepass.example";
const TRUST_DOMAIN: &str = "gatepass.example";

/// What a host is configured with, so that it signs in a sandbox.
pub(crate) fn configuration() -> SpiffeConfig {
    SpiffeConfig {
        trust_domain: TRUST_DOMAIN.to_owned(),
        issuer: Some(ISSUER.to_owned()),
        secret_name: SECRET.to_owned(),
        secret_namespace: Some(NAMESPACE.to_owned()),
    }
}

/// Writes the Secret, serves the issuer's documents, and has the workload cluster trust them.
pub(crate) fn furnish(sandbox: &Sandbox) -> Result<(), Failure> {
    let authority = Authority::new()
        .map_err(|error| Failure::machine("cannot make the key that signs for objects", error))?;
    let kubernetes = sandbox.kubernetes();
    let applied =
        kubernetes.apply_tls_secret(NAMESPACE, SECRET, &authority.certificate, &authority.key);
    applied.map_err(|error| Failure::machine("cannot furnish the sandbox", error))?;
    publish(sandbox, &authority.signer()?)?;
    if let Some(workload) = sandbox.workload() {
        workload.trust(TrustedIssuer {
            url: ISSUER.to_owned(),
            audiences: vec![workload.url()],
            username_prefix: String::new(),
        });
    }
    Ok(())
}

fn publish(sandbox: &Sandbox, signer: &Signer) -> Result<(), Failure> {
    let host = ISSUER.trim_start_matches("https://");
    let serve = |path: &str, document: &Value| {
        let body = document.to_string();
        sandbox.publish(host, path, "application/json", body.as_bytes());
    };
    let discovery = signer.discovery_document();
    let discovery =
        discovery.map_err(|error| Failure::machine("cannot describe the issuer", error))?;
    serve(DISCOVERY_PATH, &discovery);
    serve(JWKS_PATH, &signer.jwks(sandbox.clock().now()));
    Ok(())
}

/// A fresh key, and the certificate by which it signs others.
struct Authority {
    key: String,
    certificate: String,
}

impl Authority {
    fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let name = "gatepass sandbox, objects";
        authority.distinguished_name.push(DnType::CommonName, name);
        let certificate = authority.self_signed(&key)?;
        Ok(Self {
            key: key.serialize_pem(),
            certificate: certificate.pem(),
        })
    }

    fn signer(&self) -> Result<Signer, Failure> {
        let key = SigningKey::parse(self.key.as_bytes(), self.certificate.as_bytes());
        let key = key.map_err(gatepass::Error::from)?;
        Ok(configuration().signer(Arc::new(FixedKey::new(key)))?)
    }
}
