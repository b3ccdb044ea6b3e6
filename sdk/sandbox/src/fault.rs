//! Faults: what the sandbox does to a request instead of, or on top of, its true answer.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, LOCATION};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::guarded::Guarded;
use crate::listener::Site;
use crate::pattern;

/// How many bytes a cut-off answer promises beyond those it sends.
const MISSING_BYTES: usize = 100;

/// One kind of misbehaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The true answer, after this time of the machine's clock.
    Latency(Duration),
    /// This answer, byte for byte.
    Status {
        /// The HTTP status; one that HTTP does not know becomes 500.
        code: u16,
        /// The body.
        body: Vec<u8>,
        /// Headers as name and value; one that HTTP does not allow is left out.
        headers: Vec<(String, String)>,
    },
    /// An error in the shape of the service that is asked: XML, JSON or a Kubernetes Status.
    Error {
        /// The HTTP status.
        status: u16,
        /// The service's error code, or the Kubernetes reason.
        code: String,
        /// The sentence beside it.
        message: String,
    },
    /// The service's real throttling answer, with this time as Retry-After.
    Throttle(Duration),
    /// The true answer, of which half is sent; then the connection closes.
    CutOff,
    /// No answer until the sandbox stops or the client gives up.
    Hang,
    /// 307 to this address.
    Redirect(String),
    /// The true answer under another content type.
    ContentType(String),
    /// The true status and headers with this body.
    Body(Vec<u8>),
    /// 200 with the body of the request, as a debugging gateway answers.
    Echo,
    /// The inner fault for this many requests, then none.
    Times(u32, Box<Fault>),
}

#[derive(Debug)]
struct Rule {
    host: String,
    target: String,
    fault: Fault,
    left: Option<u32>,
}

/// The fault rules of a sandbox. A later rule goes before an earlier one.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Guarded<Vec<Rule>>,
}

impl Faults {
    /// Adds a rule, in place of one with the same host and target.
    ///
    /// `host` is a host name, with port for a loopback listener, and may contain `*`.
    /// `target` is a path prefix when it starts with `/`, else an AWS action such as
    /// `AssumeRoleWithWebIdentity`; empty or `*` means every request.
    pub fn set(&self, host: &str, target: &str, fault: Fault) {
        let (left, fault) = flatten(None, fault);
        let rule = Rule {
            host: host.to_ascii_lowercase(),
            target: target.to_owned(),
            fault,
            left,
        };
        self.rules.with(|rules| {
            rules.retain(|other| other.host != rule.host || other.target != rule.target);
            rules.push(rule);
        });
    }

    /// Removes every rule; connections that hang stay so.
    pub fn clear(&self) {
        self.rules.with(Vec::clear);
    }

    /// The fault for this request; counts it against the rule's number of times.
    pub(crate) fn take(&self, call: &Call) -> Option<Fault> {
        self.rules.with(|rules| {
            let mut newest_first = rules.iter_mut().rev();
            let rule = newest_first.find(|rule| rule.left != Some(0) && rule.meets(call))?;
            rule.left = rule.left.map(|left| left.saturating_sub(1));
            Some(rule.fault.clone())
        })
    }
}

impl Rule {
    fn meets(&self, call: &Call) -> bool {
        let host =
            pattern::fits(&self.host, &call.authority) || pattern::fits(&self.host, call.host());
        host && self.meets_target(call)
    }

    fn meets_target(&self, call: &Call) -> bool {
        match self.target.as_str() {
            "" | "*" => true,
            path if path.starts_with('/') => call.path.starts_with(path),
            action => call.action().as_deref() == Some(action),
        }
    }
}

/// Nested counts hold together: the smallest decides.
fn flatten(left: Option<u32>, fault: Fault) -> (Option<u32>, Fault) {
    match fault {
        Fault::Times(times, inner) => {
            flatten(Some(left.map_or(times, |left| left.min(times))), *inner)
        }
        fault => (left, fault),
    }
}

/// Answers a call under a fault.
pub(crate) async fn answer(fault: Fault, site: &dyn Site, call: &Call) -> Answer {
    match fault {
        Fault::Latency(time) => {
            tokio::time::sleep(time).await;
            site.answer(call).await
        }
        Fault::Hang => std::future::pending().await,
        Fault::Status {
            code,
            body,
            headers,
        } => verbatim(code, body, &headers),
        Fault::Error {
            status,
            code,
            message,
        } => {
            let status = status_of(status);
            site.error(
                call,
                &ServiceError {
                    status,
                    code,
                    message,
                },
            )
        }
        Fault::Throttle(after) => throttled(site.throttled(call), after),
        Fault::Redirect(address) => answer::with_header(
            answer::empty(StatusCode::TEMPORARY_REDIRECT),
            LOCATION,
            &address,
        ),
        Fault::ContentType(media_type) => {
            answer::with_header(site.answer(call).await, CONTENT_TYPE, &media_type)
        }
        Fault::Body(body) => replaced(site.answer(call).await, body),
        Fault::Echo => answer::content(StatusCode::OK, call.media_type(), call.body.clone()),
        Fault::CutOff => cut_off(site.answer(call).await).await,
        // `Faults::set` has taken the counts off already.
        Fault::Times(_, inner) => Box::pin(answer(*inner, site, call)).await,
    }
}

fn status_of(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn verbatim(code: u16, body: Vec<u8>, headers: &[(String, String)]) -> Answer {
    let mut answer = Response::new(answer::whole(Bytes::from(body)));
    *answer.status_mut() = status_of(code);
    headers.iter().fold(
        answer,
        |answer, (name, value)| match HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => answer::with_header(answer, name, value),
            Err(_) => answer,
        },
    )
}

fn throttled(answer: Answer, after: Duration) -> Answer {
    // Retry-After counts whole seconds; a part of one is rounded up (RFC 9110 §10.2.3).
    let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    answer::with_header(answer, http::header::RETRY_AFTER, &seconds.to_string())
}

fn replaced(answer: Answer, body: Vec<u8>) -> Answer {
    answer.map(|_| answer::whole(Bytes::from(body)))
}

async fn cut_off(answer: Answer) -> Answer {
    let (head, body) = answer.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let promised = body.len() + MISSING_BYTES;
    let half = body.slice(..body.len() / 2);
    let answer = Response::from_parts(head, halting(half));
    answer::with_header(answer, CONTENT_LENGTH, &promised.to_string())
}

/// Sends `half`, lets the connection flush it, then fails.
fn halting(half: Bytes) -> answer::AnswerBody {
    let steps = stream::unfold(Some(half), |half| async move {
        match half {
            Some(half) if !half.is_empty() => Some((Ok(Frame::data(half)), Some(Bytes::new()))),
            Some(_) => {
                tokio::task::yield_now().await;
                Some((Err(io::Error::from(io::ErrorKind::ConnectionAborted)), None))
            }
            None => None,
        }
    });
    StreamBody::new(steps).boxed_unsync()
}
