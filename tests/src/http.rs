//! A server on loopback that answers as a test says: for the little services that a test needs beside
//! the real ones. It speaks just enough HTTP/1.1 for that, one request per connection.

use anyhow::{Result, bail};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

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
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = Arc::clone(&answer);
                // A client that goes away is no concern of the next one.
                tokio::spawn(async move { serve(stream, answer.as_ref()).await.ok() });
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

async fn serve<F: Future<Output = Answer>>(
    mut stream: TcpStream,
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

async fn read(stream: &mut TcpStream) -> Result<Request> {
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
