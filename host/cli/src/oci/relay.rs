//! The way to a registry that asks for a client certificate.
//!
//! oci-client (0.18) knows no client certificates. It is given a proxy on loopback instead, in this
//! process, which says everything again over TLS with the certificate. The proxy wants a password of
//! its own, so that no other process of this machine borrows the identity, and it goes to the one
//! registry alone.

use crate::failure::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass::{Secret, X509};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use oci_client::client::Certificate;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The user name of the proxy; the password is what counts.
const USER: &str = "gatepass";

/// Headers that are for one connection alone (RFC 9110, 7.6.1), and those that are written anew.
const OF_CONNECTION: &[HeaderName] = &[
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// How the registry is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) read: Duration,
}

/// A running proxy. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    /// `HOST[:PORT]`.
    registry: String,
    authorities: Vec<Certificate>,
    timeouts: Timeouts,
    password: Secret,
    client: Mutex<reqwest::Client>,
}

impl Relay {
    /// Starts it for this registry.
    pub(crate) async fn start(
        registry: &str,
        authorities: &[Certificate],
        timeouts: Timeouts,
        certificate: &X509,
    ) -> Result<Self, Failure> {
        let machine = |error| Failure::machine("cannot listen on the loopback address", error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .map_err(machine)?;
        let address = listener.local_addr().map_err(machine)?;
        let state = Arc::new(State {
            registry: registry.to_owned(),
            authorities: authorities.to_vec(),
            timeouts,
            password: Secret::from(uuid::Uuid::new_v4().simple().to_string()),
            client: Mutex::new(client(authorities, timeouts, certificate)?),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&state)));
        Ok(Self {
            address,
            state,
            task,
        })
    }

    /// What the client of the registry is told to use as its proxy.
    pub(crate) fn url(&self) -> Secret {
        let password = self.state.password.expose();
        Secret::from(format!("http://{USER}:{password}@{}", self.address))
    }

    /// Shows another certificate from the next connection on.
    pub(crate) fn renew(&self, certificate: &X509) -> Result<(), Failure> {
        let state = &self.state;
        *state.lock() = client(&state.authorities, state.timeouts, certificate)?;
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A client that shows the certificate, and follows no redirect: that is for the one who asks.
fn client(
    authorities: &[Certificate],
    timeouts: Timeouts,
    certificate: &X509,
) -> Result<reqwest::Client, Failure> {
    let pem = Secret::from(format!(
        "{}\n{}",
        certificate.certificate_chain,
        certificate.private_key.expose()
    ));
    let make = || {
        let identity = reqwest::Identity::from_pem(pem.expose().as_bytes())?;
        let authorities: Vec<_> = authorities
            .iter()
            .map(|authority| reqwest::Certificate::from_der(&authority.data))
            .collect::<Result<_, _>>()?;
        reqwest::Client::builder()
            .identity(identity)
            .tls_certs_merge(authorities)
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(timeouts.connect)
            .read_timeout(timeouts.read)
            .build()
    };
    // The cause may quote the key.
    make().map_err(|_| {
        Failure::configuration("the client certificate and its key are not what TLS takes")
            .fix("both must be PEM, the certificate first of its chain, and belong together")
    })
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connection(stream, Arc::clone(&state)));
    }
}

async fn connection(stream: TcpStream, state: Arc<State>) {
    let answer = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.answer(request).await) }
    });
    // Who goes away in the middle is told of it by the one who waits for the answer.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

impl State {
    fn lock(&self) -> std::sync::MutexGuard<'_, reqwest::Client> {
        // A client is never half-written, so a poisoned lock is still good.
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<reqwest::Body> {
        if !self.knows(request.headers()) {
            return said(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "no password");
        }
        let authority = request
            .uri()
            .authority()
            .map(|authority| authority.as_str());
        if authority != Some(self.registry.as_str()) {
            return said(StatusCode::FORBIDDEN, "not the registry");
        }
        match self.forward(request).await {
            Ok(answer) => self.returned(answer),
            Err(words) => said(StatusCode::BAD_GATEWAY, &words),
        }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let pair = Secret::from(format!("{USER}:{}", self.password.expose()));
        let expected = Secret::from(format!("Basic {}", STANDARD.encode(pair.expose())));
        let given = headers.get(header::PROXY_AUTHORIZATION);
        given.is_some_and(|given| given.as_bytes() == expected.expose().as_bytes())
    }

    async fn forward(&self, request: Request<Incoming>) -> Result<reqwest::Response, String> {
        let (head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("https://{}{path}", self.registry);
        let body = body.collect().await.map_err(|error| error.to_string())?;
        let client = self.lock().clone();
        let sent = client
            .request(head.method, url)
            .headers(end_to_end(head.headers))
            .body(body.to_bytes())
            .send();
        sent.await.map_err(|error| causes(&error.without_url()))
    }

    /// The answer, with links to the registry that lead through here again.
    fn returned(&self, answer: reqwest::Response) -> Response<reqwest::Body> {
        let mut answer: Response<reqwest::Body> = answer.into();
        let headers = end_to_end(std::mem::take(answer.headers_mut()));
        *answer.headers_mut() = headers;
        let own = format!("https://{}/", self.registry);
        let location = answer.headers().get(header::LOCATION);
        let path = location
            .and_then(|location| location.to_str().ok()?.strip_prefix(&own))
            .map(|path| format!("http://{}/{path}", self.registry));
        if let Some(Ok(location)) = path.map(|path| HeaderValue::from_str(&path)) {
            answer.headers_mut().insert(header::LOCATION, location);
        }
        answer
    }
}

fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
    headers
}

fn said(status: StatusCode, words: &str) -> Response<reqwest::Body> {
    let body = Full::new(Bytes::from(words.to_owned()));
    let mut response = Response::new(reqwest::Body::wrap(body));
    *response.status_mut() = status;
    response
}

/// An error with all of its causes, in a line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_tests::peer::certificate::Authority;

    const TIMEOUTS: Timeouts = Timeouts {
        connect: Duration::from_secs(10),
        read: Duration::from_secs(10),
    };

    fn certificate() -> X509 {
        let authority = Authority::new("gatepass tests").unwrap();
        let leaf = authority.issue(&["client.example"]).unwrap();
        X509 {
            certificate_chain: leaf.certificate_pem,
            private_key: leaf.key_pem.into(),
        }
    }

    async fn relay() -> Relay {
        Relay::start("r.example", &[], TIMEOUTS, &certificate())
            .await
            .unwrap()
    }

    async fn asked(proxy: &str, url: &str) -> u16 {
        let proxy = reqwest::Proxy::http(proxy).unwrap();
        let client = reqwest::Client::builder().proxy(proxy).build().unwrap();
        client.get(url).send().await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn nobody_else_borrows_the_identity_and_it_goes_nowhere_else() {
        let relay = relay().await;
        let (own, address) = (relay.url(), relay.address);
        let wrong = format!("http://{USER}:wrong@{address}");
        for (proxy, url, expected) in [
            (format!("http://{address}"), "http://r.example/v2/", 407),
            (wrong, "http://r.example/v2/", 407),
            (own.expose().to_owned(), "http://other.example/v2/", 403),
        ] {
            assert_eq!(asked(&proxy, url).await, expected, "{url}");
        }
    }

    #[tokio::test]
    async fn what_is_no_certificate_is_refused_and_not_shown() {
        let relay = relay().await;
        let good = certificate();
        let key = |key: &str| X509 {
            private_key: key.into(),
            ..good.clone()
        };
        let chain = |chain: &str| X509 {
            certificate_chain: chain.into(),
            ..good.clone()
        };
        relay.renew(&good).unwrap();
        for bad in [key("canary"), key(""), chain("canary"), chain("")] {
            let report = relay.renew(&bad).unwrap_err().report();
            assert!(
                report.contains("PEM") && !report.contains("canary"),
                "{report}"
            );
        }
        assert!(!format!("{relay:?}").contains("PRIVATE"));
    }

    #[test]
    fn what_is_of_one_connection_stays_there() {
        let mut headers = HeaderMap::new();
        for name in OF_CONNECTION {
            headers.insert(name, HeaderValue::from_static("x"));
        }
        headers.insert(header::CONTENT_RANGE, HeaderValue::from_static("0-1"));
        assert_eq!(end_to_end(headers).len(), 1);
    }
}
