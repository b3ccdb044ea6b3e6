//! The cloud listener: many hosts behind one address, told apart by the Host header.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, StatusCode};

use crate::answer::{self, Answer, ServiceError};
use crate::aws::Aws;
use crate::call::Call;
use crate::guarded::Guarded;
use crate::listener::Site;

#[derive(Debug)]
pub(crate) struct Cloud {
    aws: Arc<Aws>,
    pages: Guarded<HashMap<(String, String), Page>>,
}

#[derive(Debug, Clone)]
struct Page {
    media_type: String,
    body: Bytes,
}

impl Cloud {
    pub(crate) fn new(aws: Arc<Aws>) -> Self {
        Self {
            aws,
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
            match self.aws.answer(call).await {
                Some(answer) => answer,
                None => unknown(call),
            }
        }
        .boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Answer {
        let shaped = self.aws.error(call, error);
        shaped.unwrap_or_else(|| answer::plain(error.status, &error.message))
    }

    fn throttled(&self, call: &Call) -> Answer {
        let shaped = self.aws.throttled(call);
        shaped.unwrap_or_else(|| answer::plain(StatusCode::TOO_MANY_REQUESTS, "too many requests"))
    }
}

fn unknown(call: &Call) -> Answer {
    let message = format!("the sandbox serves no host {:?}", call.host());
    answer::plain(StatusCode::NOT_FOUND, &message)
}
