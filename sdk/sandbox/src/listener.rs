//! The way in: accept, TLS, HTTP/1.1, then journal, fault, answer.

use std::convert::Infallible;
use std::sync::Arc;

use futures::future::BoxFuture;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::answer::{Answer, ServiceError};
use crate::call::Call;
use crate::fault::{self, Faults};
use crate::journal::Journal;

/// A service behind a listener.
pub(crate) trait Site: Send + Sync + 'static {
    /// The true answer.
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Answer>;

    /// An error in this service's own shape.
    fn error(&self, call: &Call, error: &ServiceError) -> Answer;

    /// This service's throttling answer.
    fn throttled(&self, call: &Call) -> Answer {
        let error = ServiceError {
            status: StatusCode::TOO_MANY_REQUESTS,
            code: "TooManyRequests".to_owned(),
            message: "too many requests, please try again later".to_owned(),
        };
        self.error(call, &error)
    }
}

/// What a listener needs per request.
pub(crate) struct Front {
    pub(crate) site: Arc<dyn Site>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) journal: Arc<Journal>,
}

pub(crate) enum Encryption {
    None,
    Tls(TlsAcceptor),
}

/// Accepts until the task is aborted; its connections end with it.
pub(crate) async fn accept(socket: TcpListener, encryption: Encryption, front: Arc<Front>) {
    let mut connections = JoinSet::new();
    loop {
        // A failed accept concerns one connection; the next may succeed.
        let Ok((stream, _)) = socket.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        let front = Arc::clone(&front);
        match &encryption {
            Encryption::None => connections.spawn(converse(stream, front)),
            Encryption::Tls(tls) => connections.spawn(shake_hands(tls.clone(), stream, front)),
        };
    }
}

async fn shake_hands(tls: TlsAcceptor, stream: TcpStream, front: Arc<Front>) {
    match tls.accept(stream).await {
        Ok(stream) => converse(stream, front).await,
        Err(error) => tracing::debug!(%error, "TLS handshake failed"),
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, front: Arc<Front>) {
    let service = service_fn(move |request| {
        let front = Arc::clone(&front);
        async move { Ok::<_, Infallible>(front.answer(request).await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "connection ended");
    }
}

impl Front {
    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let call = match Call::read(request).await {
            Ok(call) => call,
            Err(answer) => return answer,
        };
        let place = self.journal.arrived(&call);
        let answer = match self.faults.take(&call) {
            Some(fault) => fault::answer(fault, self.site.as_ref(), &call).await,
            None => self.site.answer(&call).await,
        };
        self.journal.answered(place, answer.status());
        answer
    }
}
