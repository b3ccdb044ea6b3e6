//! What an issuer of tokens publishes, over HTTPS, for relying parties that fetch it themselves.

use crate::http::{Answer, Request, Server};
use crate::peer::certificate::Authority;
use anyhow::Result;
use gatepass::signer::{DISCOVERY_PATH, JWKS_PATH, Signer};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// A server on loopback, which is there before the signer so that the signer can be told its address.
#[derive(Debug)]
pub struct Issuer {
    server: Server,
    signer: Arc<OnceLock<Signer>>,
}

impl Issuer {
    /// Starts the server with a certificate of `authority`.
    ///
    /// # Errors
    ///
    /// There is no free port, or the certificate cannot be issued.
    pub async fn start(authority: &Authority) -> Result<Self> {
        let signer = Arc::new(OnceLock::new());
        let published = Arc::clone(&signer);
        let leaf = authority.issue(&["127.0.0.1"])?;
        let server = Server::start_tls(&leaf, move |request| {
            std::future::ready(answer(&request, published.get()))
        });
        Ok(Self {
            server: server.await?,
            signer,
        })
    }

    /// The issuer: the base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// Publishes from now on what this signer says at the time of each request. The first one stays.
    pub fn publish(&self, signer: Signer) {
        self.signer.get_or_init(|| signer);
    }
}

fn answer(request: &Request, signer: Option<&Signer>) -> Answer {
    let document = signer.and_then(|signer| document(&request.target, signer));
    document.map_or_else(
        || Answer::new(404, ""),
        |document| Answer::new(200, document.to_string()).with("content-type", "application/json"),
    )
}

fn document(path: &str, signer: &Signer) -> Option<Value> {
    match path {
        DISCOVERY_PATH => signer.discovery_document().ok(),
        JWKS_PATH => Some(signer.jwks(SystemTime::now())),
        _ => None,
    }
}
