//! The metadata services of the clouds: plain HTTP on one loopback listener, for all of them share
//! one link-local address in the wild. The path, and for some the host, says whose a request is.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::StatusCode;
use serde_json::json;

use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::listener::Site;

/// One cloud's metadata service.
pub(crate) trait MetadataService: Send + Sync {
    /// The true answer; none if the request is another cloud's.
    fn metadata(&self, call: &Call) -> Option<Answer>;

    /// An error in this service's own shape; none if the request is another cloud's, or if the
    /// plain `{"code", "message"}` is shape enough.
    fn metadata_error(&self, _call: &Call, _error: &ServiceError) -> Option<Answer> {
        None
    }
}

/// The listener's site: the first service that knows a request answers it.
pub(crate) struct Metadata {
    services: Vec<Arc<dyn MetadataService>>,
}

impl Metadata {
    pub(crate) fn new(services: Vec<Arc<dyn MetadataService>>) -> Self {
        Self { services }
    }

    fn route(&self, call: &Call) -> Answer {
        let mut services = self.services.iter();
        let answer = services.find_map(|service| service.metadata(call));
        answer.unwrap_or_else(|| answer::plain(StatusCode::NOT_FOUND, "404 - Not Found"))
    }
}

impl Site for Metadata {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Answer> {
        futures::future::ready(self.route(call)).boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Answer {
        let mut services = self.services.iter();
        let shaped = services.find_map(|service| service.metadata_error(call, error));
        shaped.unwrap_or_else(|| {
            let body = json!({"code": error.code, "message": error.message});
            answer::json(error.status, &body)
        })
    }
}
