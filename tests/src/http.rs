//! A server on loopback that answers as a test says: for the little services that a test needs beside
//! the real ones. It speaks just enough HTTP/1.1 for that, one request per connection.

use crate::peer::certificate::Leaf;
use anyhow::{Result, bail};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The longest head; those of a test have a token in them and not much else.
const MAX_HEAD: usize = 64 * 1024;

/// A request, as far as tests look at one.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Headers besides the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// A status and a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The same with a header more.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts it on a free port; `answer` is called for each request.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start<A, F>(answer: A) -> Result<Self>
    where
        A: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::listen(None, answer).await
    }

    /// The same over TLS, with this certificate.
    ///
    /// # Errors
    /// There is no free port, or the certificate and its key do not fit.
    pub async fn start_tls<A, F>(leaf: &Leaf, answer: A) -> Result<Self>
    where
        A: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        Self::listen(Some(acceptor(leaf)?), answer).await
    }

    async fn listen<A, F>(tls: Option<TlsAcceptor>, answer: A) -> Result<Self>
    where
        A: Fn(Request) -> F + Send + Sync + 'static,
        F: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, answer) = (tls.clone(), Arc::clone(&answer));
                // A client that goes away is no concern of the next one.
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => serve(tls.accept(stream).await?, answer.as_ref()).await,
                        None => serve(stream, answer.as_ref()).await,
                    }
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor(leaf: &Leaf) -> Result<TlsAcceptor> {
    let certificate = CertificateDer::from_pem_slice(leaf.certificate_pem.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(leaf.key_pem.as_bytes())?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve<F: Future<Output = Answer>>(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &impl Fn(Request) -> F,
) -> Result<()> {
    let request = read(&mut stream).await?;
    let is_head = request.method == "HEAD";
    let answer = answer(request).await;
    let mut head = format!("HTTP/1.1 {} Answer\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", answer.body.len()));
    stream.write_all(head.as_bytes()).await?;
    if !is_head {
        stream.write_all(&answer.body).await?;
    }
    stream.shutdown().await?;
    Ok(())
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > MAX_HEAD {
            bail!("the head of a request has no end");
        }
    };
    let body = bytes.split_off(end + 4);
    let mut request = parse(&String::from_utf8(bytes)?)?;
    request.body = body;
    let length = request.header("content-length").unwrap_or("0").parse()?;
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await? == 0 {
            bail!("the body of a request is cut off");
        }
    }
    Ok(request)
}

fn parse(head: &str) -> Result<Request> {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        bail!("no request line");
    };
    let headers = lines.filter_map(|line| line.split_once(':'));
    Ok(Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        body: Vec::new(),
    })
}
