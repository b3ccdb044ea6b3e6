//! The sandbox's certificate authority: one root, and a server certificate per name as it is asked for.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::builder::StartError;
use crate::guarded::Guarded;

/// Names for which certificates are kept; beyond them one is minted per handshake.
const MAXIMUM_KEPT: usize = 4_096;

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    pem: String,
    /// One key for all server certificates: the names differ, the process is one.
    server_key: KeyPair,
    provider: Arc<CryptoProvider>,
    minted: Guarded<HashMap<String, Arc<CertifiedKey>>>,
}

impl Authority {
    pub(crate) fn create() -> Result<Self, StartError> {
        let key = KeyPair::generate()?;
        let params = root_params();
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            root: certificate.der().clone(),
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
            server_key: KeyPair::generate()?,
            provider: Arc::new(rustls::crypto::aws_lc_rs::default_provider()),
            minted: Guarded::default(),
        })
    }

    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// The TLS side of a listener: a certificate for whatever name the client asks for.
    pub(crate) fn server(self: &Arc<Self>) -> Result<Arc<ServerConfig>, StartError> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// A TLS client that trusts this authority alone.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, StartError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone())?;
        let config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::new(config))
    }

    fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        if let Some(kept) = self.minted.with(|minted| minted.get(name).cloned()) {
            return Some(kept);
        }
        let certificate = Arc::new(self.mint(name).ok()?);
        self.minted.with(|minted| {
            if minted.len() < MAXIMUM_KEPT {
                minted.insert(name.to_owned(), Arc::clone(&certificate));
            }
        });
        Some(certificate)
    }

    fn mint(&self, name: &str) -> Result<CertifiedKey, StartError> {
        let certificate = server_params(name)?.signed_by(&self.server_key, &self.issuer)?;
        let key = PrivatePkcs8KeyDer::from(self.server_key.serialize_der());
        let chain = vec![certificate.der().clone()];
        Ok(CertifiedKey::from_der(
            chain,
            PrivateKeyDer::Pkcs8(key),
            &self.provider,
        )?)
    }
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // A client that dials an IP address sends no name.
        self.certificate(hello.server_name().unwrap_or("localhost"))
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

fn root_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "gatepass sandbox root");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    params
}

fn server_params(name: &str) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    if name == "localhost" {
        let loopback = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        params
            .subject_alt_names
            .extend(loopback.map(SanType::IpAddress));
    }
    params
        .distinguished_name
        .push(DnType::CommonName, "gatepass sandbox");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    Ok(params)
}
