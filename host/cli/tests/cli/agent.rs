//! A SPIFFE agent, as far as a workload sees one: the Workload API on a Unix socket.
//!
//! gRPC is HTTP/2 with a length before each message and the status in the trailers
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>); the messages are written by hand.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// gRPC's numbers (<https://github.com/grpc/grpc/blob/master/doc/statuscodes.md>).
pub(crate) const INVALID_ARGUMENT: u8 = 3;
pub(crate) const PERMISSION_DENIED: u8 = 7;
pub(crate) const UNIMPLEMENTED: u8 = 12;
pub(crate) const UNAVAILABLE: u8 = 14;

/// What is answered to one call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// A message.
    Message(Vec<u8>),
    /// An error, and its words.
    Status(u8, &'static str),
    /// Nothing, for ever.
    Silence,
}

/// A call that came.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) message: Vec<u8>,
}

impl Call {
    /// All text fields of this number in the request.
    pub(crate) fn texts(&self, number: u64) -> Vec<String> {
        let mut texts = Vec::new();
        let mut rest = self.message.as_slice();
        while let [tag, length, more @ ..] = rest {
            // The requests of tests have short fields, all of them text.
            let (text, after) = more.split_at(usize::from(*length));
            if u64::from(*tag) == number << 3 | 2 {
                texts.push(String::from_utf8(text.to_vec()).unwrap());
            }
            rest = after;
        }
        texts
    }
}

type Calls = Arc<Mutex<Vec<Call>>>;
type Rule = Arc<dyn Fn(&Call, usize) -> Answer + Send + Sync>;

/// The agent; it ends with this value.
pub(crate) struct Agent {
    folder: tempfile::TempDir,
    calls: Calls,
    server: JoinHandle<()>,
}

impl Agent {
    /// Answers calls by this rule, which is told how many came before.
    pub(crate) fn start(rule: impl Fn(&Call, usize) -> Answer + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("agent.sock")).unwrap();
        let calls = Calls::default();
        let (rule, seen): (Rule, Calls) = (Arc::new(rule), calls.clone());
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (rule, seen) = (rule.clone(), seen.clone());
                let service = service_fn(move |request| serve(request, rule.clone(), seen.clone()));
                let serving = http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service);
                // A client that goes away is none of the agent's errors.
                tokio::spawn(async move { drop(serving.await) });
            }
        });
        Self {
            folder,
            calls,
            server,
        }
    }

    /// What the variable says.
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.path().display())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(
    request: Request<Incoming>,
    rule: Rule,
    calls: Calls,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let (parts, body) = request.into_parts();
    let message = body.collect().await.unwrap().to_bytes();
    let call = Call {
        method: parts.uri.path().rsplit('/').next().unwrap().to_owned(),
        // One byte says that it is not compressed, four how long it is.
        message: message[5..].to_vec(),
    };
    let is_for_workloads = parts
        .headers
        .get("workload.spiffe.io")
        .is_some_and(|value| value == "true");
    let before = {
        let mut calls = calls.lock().unwrap();
        calls.push(call.clone());
        calls.len() - 1
    };
    let answer = match is_for_workloads && parts.uri.path().starts_with("/SpiffeWorkloadAPI/") {
        true => rule(&call, before),
        false => Answer::Status(INVALID_ARGUMENT, "security header missing from request"),
    };
    let (message, status, words) = match answer {
        Answer::Message(message) => (Some(message), 0, ""),
        Answer::Status(status, words) => (None, status, words),
        Answer::Silence => std::future::pending().await,
    };
    let mut response = Response::new(body_of(message, status, words));
    let kind = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert("content-type", kind);
    Ok(response)
}

/// At most one message, and the status behind it.
fn body_of(message: Option<Vec<u8>>, status: u8, words: &str) -> UnsyncBoxBody<Bytes, Infallible> {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(u16::from(status)));
    trailers.insert("grpc-message", HeaderValue::from_str(words).unwrap());
    let framed = message.map(|message| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        Frame::data(Bytes::from([&[0], &length[..], &message].concat()))
    });
    let frames = framed.into_iter().chain([Frame::trailers(trailers)]);
    let stream = futures::stream::iter(frames.map(Ok));
    UnsyncBoxBody::new(StreamBody::new(stream))
}

/// A field of a message: bytes, text, or a message in it.
pub(crate) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(content);
    bytes
}

/// Speaks to an agent as no workload should: without the metadata. The status of the answer.
pub(crate) async fn status_without_metadata(agent: &Agent) -> String {
    let stream = tokio::net::UnixStream::connect(agent.path()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(async move { drop(connection.await) });
    let request = Request::post("http://localhost/SpiffeWorkloadAPI/FetchX509SVID")
        .header("content-type", "application/grpc")
        .body(Full::new(Bytes::from_static(&[0; 5])))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let collected = answer.into_body().collect().await.unwrap();
    let status = collected.trailers().unwrap().get("grpc-status").unwrap();
    status.to_str().unwrap().to_owned()
}
