//! Outgoing HTTPS: how clouds and clusters fetch an issuer's documents.
//!
//! The sandbox is its own internet: loopback addresses are dialled as they are, every other name
//! leads to the cloud listener, and nothing leaves the machine.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::{Host, Url};

/// Real identity services give an issuer a few seconds; the machine's clock counts.
const PATIENCE: Duration = Duration::from_secs(5);
/// Discovery documents and key sets are a few KiB.
const MAXIMUM_DOCUMENT_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Dialer {
    tls: Arc<ClientConfig>,
    cloud: SocketAddr,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("{0:?} is not an https URL of a name or a loopback address")]
    Address(String),
    #[error("the host did not answer in time")]
    Timeout,
    #[error("the connection failed")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the host answered {0}")]
    Status(StatusCode),
}

impl Dialer {
    pub(crate) fn new(tls: Arc<ClientConfig>, cloud: SocketAddr) -> Self {
        Self { tls, cloud }
    }

    /// GETs a document; only 200 counts, redirects are not followed.
    pub(crate) async fn fetch(&self, address: &str) -> Result<Bytes, FetchError> {
        let fetched = tokio::time::timeout(PATIENCE, self.try_fetch(address)).await;
        fetched.map_err(|_| FetchError::Timeout)?
    }

    async fn try_fetch(&self, address: &str) -> Result<Bytes, FetchError> {
        let refused = || FetchError::Address(address.to_owned());
        let url = Url::parse(address).map_err(|_| refused())?;
        if url.scheme() != "https" {
            return Err(refused());
        }
        let peer = self.peer(&url).ok_or_else(refused)?;
        let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(name.to_owned()).map_err(|_| refused())?;
        self.get(&url, peer, name).await
    }

    fn peer(&self, url: &Url) -> Option<SocketAddr> {
        let port = url.port_or_known_default()?;
        match url.host()? {
            Host::Ipv4(address) => loopback(IpAddr::V4(address), port),
            Host::Ipv6(address) => loopback(IpAddr::V6(address), port),
            Host::Domain("localhost") => Some(SocketAddr::from(([127, 0, 0, 1], port))),
            Host::Domain(_) => Some(self.cloud),
        }
    }

    async fn get(
        &self,
        url: &Url,
        peer: SocketAddr,
        name: ServerName<'static>,
    ) -> Result<Bytes, FetchError> {
        let stream = TcpStream::connect(peer).await.map_err(connection)?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector.connect(name, stream).await.map_err(connection)?;
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(connection)?;
        let exchange = async {
            let request = request(url).map_err(connection)?;
            let answer = sender.send_request(request).await.map_err(connection)?;
            if answer.status() != StatusCode::OK {
                return Err(FetchError::Status(answer.status()));
            }
            let body = Limited::new(answer.into_body(), MAXIMUM_DOCUMENT_BYTES);
            Ok(body
                .collect()
                .await
                .map_err(FetchError::Connection)?
                .to_bytes())
        };
        // The driver moves the bytes while the exchange waits for them.
        let driven = async {
            let ended = driver.await;
            std::future::pending::<()>().await;
            ended
        };
        tokio::select! {
            fetched = exchange => fetched,
            Err(error) = driven => Err(connection(error)),
        }
    }
}

fn request(url: &Url) -> http::Result<Request<Empty<Bytes>>> {
    let path = url.path();
    let target = url
        .query()
        .map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let host = url.host_str().unwrap_or_default();
    let host = url
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Request::get(target).header(HOST, host).body(Empty::new())
}

fn loopback(address: IpAddr, port: u16) -> Option<SocketAddr> {
    address
        .is_loopback()
        .then_some(SocketAddr::new(address, port))
}

fn connection(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> FetchError {
    FetchError::Connection(error.into())
}
