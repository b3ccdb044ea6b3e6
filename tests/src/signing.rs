//! The key of a host that signs for objects: a Secret in the sandbox, and what relying parties read.

use crate::house::client;
use anyhow::Result;
use gatepass::Namespace;
use gatepass::kubernetes::SecretSigningKeys;
use gatepass::signer::{DISCOVERY_PATH, JWKS_PATH, Signer};
use gatepass_sandbox::{Clock, Sandbox};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PKCS_RSA_SHA256,
};
use serde_json::Value;

/// Who signs: a host name of the sandbox's.
pub const ISSUER: &str = "https://spiffe.gatepass.example";

/// The Secret with the key.
pub const SIGNING_SECRET: &str = "spiffe-signing";

/// Where the Secret is.
const NAMESPACE: &str = "gatepass";

/// A fresh key and the certificate of its authority.
#[derive(Debug)]
pub struct SigningSecret {
    key: String,
    certificate: String,
}

impl SigningSecret {
    /// Makes one.
    ///
    /// # Errors
    ///
    /// The machine has no randomness.
    pub fn new() -> Result<Self> {
        let key = KeyPair::generate_for(&PKCS_RSA_SHA256)?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority
            .distinguished_name
            .push(DnType::CommonName, "gatepass");
        let certificate = authority.self_signed(&key)?;
        Ok(Self {
            key: key.serialize_pem(),
            certificate: certificate.pem(),
        })
    }

    /// Writes it into the management cluster.
    ///
    /// # Errors
    ///
    /// Never: the names are legal.
    pub fn apply(&self, sandbox: &Sandbox) -> Result<()> {
        let kubernetes = sandbox.kubernetes();
        kubernetes.apply_tls_secret(NAMESPACE, SIGNING_SECRET, &self.certificate, &self.key)?;
        Ok(())
    }

    /// Writes it there, and begins to watch it.
    ///
    /// # Errors
    ///
    /// The API server does not answer.
    pub async fn watched(&self, sandbox: &Sandbox) -> Result<SecretSigningKeys> {
        self.apply(sandbox)?;
        let client = client(sandbox, "admin").await?;
        let keys = SecretSigningKeys::watch(client, &Namespace::new(NAMESPACE)?, SIGNING_SECRET);
        keys.ready().await?;
        Ok(keys)
    }
}

/// Serves the issuer's documents under its name.
///
/// # Errors
///
/// The signer has no issuer.
pub fn publish(sandbox: &Sandbox, signer: &Signer) -> Result<()> {
    let host = ISSUER.trim_start_matches("https://");
    let serve = |path: &str, document: &Value| {
        sandbox.publish(
            host,
            path,
            "application/json",
            document.to_string().as_bytes(),
        );
    };
    serve(DISCOVERY_PATH, &signer.discovery_document()?);
    serve(JWKS_PATH, &signer.jwks(sandbox.clock().now()));
    Ok(())
}
