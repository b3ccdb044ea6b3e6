//! The cloud listener: many hosts behind one address, told apart by the Host header.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, StatusCode};

use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::guarded::Guarded;
use crate::listener::Site;

/// One cloud behind the listener. Every method answers none for a host that is not the cloud's.
pub(crate) trait CloudService: Send + Sync {
    /// The true answer.
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>>;

    /// An error in the shape of the service that the host stands for.
    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer>;

    /// That service's throttling answer.
    fn throttled(&self, call: &Call) -> Option<Answer>;
}

pub(crate) struct Cloud {
    services: Vec<Arc<dyn CloudService>>,
    pages: Guarded<HashMap<(String, String), Page>>,
}

#[derive(Debug, Clone)]
struct Page {
    media_type: String,
    body: Bytes,
}

impl Cloud {
    pub(crate) fn new(services: Vec<Arc<dyn CloudService>>) -> Self {
        Self {
            services,
            pages: Guarded::default(),
        }
    }

    /// Serves a fixed document, such as the discovery document of a further issuer.
    pub(crate) fn publish(&self, host: &str, path: &str, media_type: &str, body: &[u8]) {
        let page = Page {
            media_type: media_type.to_owned(),
            body: Bytes::copy_from_slice(body),
        };
        let place = (host.to_ascii_lowercase(), path.to_owned());
        self.pages.with(|pages| pages.insert(place, page));
    }

    fn page(&self, call: &Call) -> Option<Answer> {
        let place = (call.host().to_owned(), call.path.clone());
        let page = self.pages.with(|pages| pages.get(&place).cloned())?;
        Some(match call.method {
            Method::GET => answer::content(StatusCode::OK, &page.media_type, page.body),
            _ => answer::plain(StatusCode::METHOD_NOT_ALLOWED, "this document is only read"),
        })
    }
}

impl Site for Cloud {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Answer> {
        async {
            if let Some(page) = self.page(call) {
                return page;
            }
            for service in &self.services {
                if let Some(answer) = service.answer(call).await {
                    return answer;
                }
            }
            unknown(call)
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Answer {
        let mut services = self.services.iter();
        let shaped = services.find_map(|service| service.error(call, error));
        shaped.unwrap_or_else(|| answer::plain(error.status, &error.message))
    }

    fn throttled(&self, call: &Call) -> Answer {
        let mut services = self.services.iter();
        let shaped = services.find_map(|service| service.throttled(call));
        shaped.unwrap_or_else(|| answer::plain(StatusCode::TOO_MANY_REQUESTS, "too many requests"))
    }
}

impl fmt::Debug for Cloud {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Cloud").finish_non_exhaustive()
    }
}

fn unknown(call: &Call) -> Answer {
    let message = format!("the sandbox serves no host {:?}", call.host());
    answer::plain(StatusCode::NOT_FOUND, &message)
}
