//! A relying party of SPIFFE made of other people's code, which knows us by our bundle alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass::X509;
use serde_json::Value;
use spiffe::bundle::BundleSource;
use spiffe::{JwtBundle, JwtSvid, SpiffeId, TrustDomain, X509Bundle, X509Svid};
use std::convert::Infallible;
use std::io::ErrorKind;
use std::process::Command;
use std::sync::Arc;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use webpki::{EndEntityCert, KeyUsage};

/// Who has read the bundle of one trust domain.
#[derive(Debug)]
pub(super) struct RelyingParty {
    tokens: Arc<JwtBundle>,
    certificates: X509Bundle,
}

impl RelyingParty {
    /// Reads a bundle (SPIFFE Trust Domain and Bundle §4): each key for what it says it is for.
    pub(super) fn of(domain: &str, bundle: &Value) -> Self {
        let domain = TrustDomain::new(domain).unwrap();
        let mut tokens = JwtBundle::new(domain.clone());
        let mut certificates = X509Bundle::new(domain);
        for key in bundle["keys"].as_array().unwrap() {
            match key["use"].as_str().unwrap() {
                "jwt-svid" => tokens
                    .add_jwk_authority_json(key.to_string().as_bytes())
                    .unwrap(),
                "x509-svid" => {
                    let anchor = STANDARD.decode(key["x5c"][0].as_str().unwrap()).unwrap();
                    certificates.add_authority(&anchor).unwrap();
                }
                other => panic!("a key is for {other}"),
            }
        }
        Self {
            tokens: Arc::new(tokens),
            certificates,
        }
    }

    /// The SPIFFE ID of a token for this audience.
    pub(super) fn check_token(&self, token: &str, audience: &str) -> Result<String, String> {
        JwtSvid::parse_and_validate(token, self, &[audience])
            .map(|svid| svid.spiffe_id().to_string())
            .map_err(|error| error.to_string())
    }

    /// The SPIFFE ID of a client with this certificate: the leaf's rules by `spiffe`, the path to an anchor
    /// of its trust domain by rustls' verifier, and by OpenSSL where that is installed.
    pub(super) fn check_certificate(&self, x509: &X509) -> Result<String, String> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(x509.certificate_chain.as_bytes())
                .collect::<Result<_, _>>()
                .unwrap();
        let key = PrivateKeyDer::from_pem_slice(x509.private_key.expose().as_bytes()).unwrap();
        let der: Vec<u8> = chain.iter().flat_map(|der| der.to_vec()).collect();
        let svid =
            X509Svid::parse_from_der(&der, key.secret_der()).map_err(|error| error.to_string())?;
        self.check_domain(svid.spiffe_id())?;
        let rustls = self.check_path(&chain);
        if let Some(openssl) = self.check_path_strictly(&x509.certificate_chain) {
            assert_eq!(openssl, rustls.is_ok(), "OpenSSL against {rustls:?}");
        }
        rustls.map(|()| svid.spiffe_id().to_string())
    }

    fn check_domain(&self, id: &SpiffeId) -> Result<(), String> {
        let own = id.trust_domain() == self.certificates.trust_domain();
        own.then_some(())
            .ok_or_else(|| format!("{id} is of another trust domain"))
    }

    fn anchors(&self) -> impl Iterator<Item = CertificateDer<'_>> {
        let authorities = self.certificates.authorities().iter();
        authorities.map(|authority| CertificateDer::from(authority.as_bytes()))
    }

    fn check_path(&self, chain: &[CertificateDer<'_>]) -> Result<(), String> {
        let ders: Vec<_> = self.anchors().collect();
        let anchors: Vec<_> = ders
            .iter()
            .map(|der| webpki::anchor_from_trusted_cert(der).unwrap())
            .collect();
        let leaf = EndEntityCert::try_from(&chain[0]).map_err(|error| error.to_string())?;
        let path = leaf.verify_for_usage(
            webpki::ALL_VERIFICATION_ALGS,
            &anchors,
            &chain[1..],
            UnixTime::now(),
            KeyUsage::client_auth(),
            None,
            None,
        );
        path.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Whether OpenSSL takes the chain by every rule of RFC 5280; `None`: it is not installed.
    fn check_path_strictly(&self, chain: &str) -> Option<bool> {
        let folder = tempfile::tempdir().unwrap();
        let (anchors, leaf) = (folder.path().join("anchors"), folder.path().join("leaf"));
        let pems: String = self.anchors().map(|der| pem(&der)).collect();
        std::fs::write(&anchors, pems).unwrap();
        std::fs::write(&leaf, chain).unwrap();
        let verified = Command::new("openssl")
            .args([
                "verify",
                "-x509_strict",
                "-purpose",
                "sslclient",
                "-no-CApath",
            ])
            .arg("-CAfile")
            .arg(&anchors)
            .arg("-untrusted")
            .arg(&leaf)
            .arg(&leaf)
            .output();
        match verified {
            Ok(output) => Some(output.status.success()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => panic!("{error}"),
        }
    }
}

impl BundleSource for RelyingParty {
    type Item = JwtBundle;
    type Error = Infallible;

    fn bundle_for_trust_domain(
        &self,
        domain: &TrustDomain,
    ) -> Result<Option<Arc<JwtBundle>>, Infallible> {
        let own = self.tokens.trust_domain() == domain;
        Ok(own.then(|| Arc::clone(&self.tokens)))
    }
}

/// Lines of 64 letters (RFC 7468 §2).
fn pem(der: &[u8]) -> String {
    let body = STANDARD.encode(der).into_bytes();
    let lines: Vec<_> = body.chunks(64).map(String::from_utf8_lossy).collect();
    let body = lines.join("\n");
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
}
