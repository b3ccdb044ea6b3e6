//! A certificate authority for one test, the leaves it signs, and clients that trust it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Signs the certificates of every peer of a test, so that one PEM is all a client has to trust.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Creates an authority with a fresh P-256 key and `name` as its common name.
    ///
    /// # Errors
    /// The key cannot be generated or the certificate cannot be signed.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            issuer: Issuer::new(params, key),
            pem,
        })
    }

    /// The authority's own certificate, PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate for `names`, which are DNS names or IP addresses: for a server, or for a client.
    ///
    /// # Errors
    /// A name is neither, or the certificate cannot be signed.
    pub fn issue(&self, names: &[&str]) -> Result<Leaf> {
        let names: Vec<String> = names.iter().copied().map(String::from).collect();
        let mut params = CertificateParams::new(names)?;
        // The default subject is rcgen's own; a log that shows ours tells which program answered.
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "peer");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate_pem = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Leaf {
            certificate_pem,
            key_pem: key.serialize_pem(),
        })
    }

    /// An HTTP client that trusts this authority and nothing else, and uses no proxy.
    ///
    /// # Errors
    /// The client cannot be built.
    pub fn client(&self) -> Result<reqwest::Client> {
        let builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(Duration::from_secs(30))
            .tls_certs_only([reqwest::Certificate::from_pem(self.pem.as_bytes())?]);
        Ok(builder.build()?)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// A server certificate and its private key.
pub struct Leaf {
    /// The certificate, PEM; its issuer is not appended.
    pub certificate_pem: String,
    /// The private key, PKCS#8 PEM.
    pub key_pem: String,
}

impl Leaf {
    /// Writes both to `folder` as `tls.crt` and `tls.key`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<LeafFiles> {
        let files = LeafFiles {
            certificate: folder.join("tls.crt"),
            key: folder.join("tls.key"),
        };
        write(&files.certificate, &self.certificate_pem)?;
        write(&files.key, &self.key_pem)?;
        Ok(files)
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

/// Where a [`Leaf`] lies on disk.
#[derive(Debug)]
pub struct LeafFiles {
    /// The certificate's file.
    pub certificate: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
