//! What was asked of the sandbox, without anything that could be a secret.

use http::StatusCode;

use crate::call::Call;
use crate::guarded::Guarded;

/// One request that reached the sandbox. Queries, headers and bodies are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The host, with its port if the client sent one.
    pub host: String,
    /// The path as sent, without the query.
    pub path: String,
    /// The AWS operation that the request names, if any.
    pub action: Option<String>,
    /// The status of the answer; none while the answer is outstanding.
    pub status: Option<u16>,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    requests: Guarded<Vec<Request>>,
}

impl Journal {
    /// Notes a request as it arrives and answers its place.
    pub(crate) fn arrived(&self, call: &Call) -> usize {
        let request = Request {
            method: call.method.to_string(),
            host: call.authority.clone(),
            path: call.path.clone(),
            action: call.action(),
            status: None,
        };
        self.requests.with(|requests| {
            requests.push(request);
            requests.len() - 1
        })
    }

    pub(crate) fn answered(&self, place: usize, status: StatusCode) {
        self.requests.with(|requests| {
            if let Some(request) = requests.get_mut(place) {
                request.status = Some(status.as_u16());
            }
        });
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        self.requests.with(|requests| requests.clone())
    }
}
