//! A security token service to test against: the `multistore-sts` crate behind HTTPS.
//!
//! The decisions (signature, issuer, audience, subject, expiry, what a refusal says) are the crate's;
//! this program gives it a socket, its roles and the certificate authority of the issuer it must trust.

mod endpoint;
mod roles;
mod tls;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Parser;
use multistore_sts::{JwksCache, TokenKey};
use rustls::crypto::aws_lc_rs;
use tokio::net::TcpListener;

use crate::endpoint::Endpoint;
use crate::roles::Roles;
use crate::tls::TlsListener;

/// Serves `AssumeRoleWithWebIdentity` and `GetCallerIdentity`.
#[derive(Debug, Parser)]
struct Options {
    /// Address to listen on; port 0 takes any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: std::net::SocketAddr,
    /// JSON file: a list of roles, each with `role_id`, `name`, `trusted_oidc_issuers`,
    /// `required_audiences`, `subject_conditions` and `max_session_duration_secs`.
    #[arg(long)]
    roles: PathBuf,
    /// PEM file with the authorities trusted for issuers; without it, the system's.
    #[arg(long)]
    issuer_ca: Option<PathBuf>,
    /// PEM file with the certificate chain to serve, leaf first.
    #[arg(long, requires = "key", required_unless_present = "plain")]
    certificate: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    #[arg(long, requires = "certificate")]
    key: Option<PathBuf>,
    /// Serves HTTP without TLS.
    #[arg(long, conflicts_with = "certificate")]
    plain: bool,
    /// Seconds a fetched key set is used before it is fetched again.
    #[arg(long, default_value_t = 60)]
    key_set_seconds: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let endpoint = Endpoint::new(
        Roles::read(&options.roles)?,
        JwksCache::new(
            issuer_client(&options)?,
            Duration::from_secs(options.key_set_seconds),
        ),
        sealing_key()?,
    );
    let listener = TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("cannot listen on {}", options.listen))?;
    println!("listening on {}", listener.local_addr()?);
    serve(listener, endpoint.into_router(), &options).await
}

async fn serve(listener: TcpListener, router: Router, options: &Options) -> Result<()> {
    let (Some(certificate), Some(key)) = (&options.certificate, &options.key) else {
        return Ok(axum::serve(listener, router).await?);
    };
    let listener = TlsListener::new(listener, certificate, key)?;
    Ok(axum::serve(listener, router).await?)
}

/// The client that fetches discovery documents and key sets: no proxy, no redirects.
fn issuer_client(options: &Options) -> Result<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(10));
    if let Some(path) = &options.issuer_ca {
        let pem = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(&pem)?);
    }
    Ok(builder.build()?)
}

/// A fresh key per run seals the session tokens: none outlives the process that issued it.
fn sealing_key() -> Result<TokenKey> {
    let mut bytes = [0; 32];
    aws_lc_rs::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| anyhow::anyhow!("cannot draw a session key"))?;
    TokenKey::from_base64(&STANDARD.encode(bytes)).map_err(|error| anyhow::anyhow!("{error}"))
}
