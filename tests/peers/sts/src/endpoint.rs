//! From an HTTP request to the crate's router and back.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use multistore::route_handler::{HandlerAction, ProxyResponseBody, ProxyResult, RequestInfo};
use multistore::router::Router;
use multistore_sts::route_handler::StsRouterExt;
use multistore_sts::{JwksCache, TokenKey};

use crate::roles::Roles;

/// A token of 20,000 characters, the most that AWS takes, fits many times over.
const MAX_BODY: usize = 1 << 20;

/// The service at path `/`.
pub struct Endpoint(Router);

impl Endpoint {
    /// Serves `roles`, verifying tokens with keys from `key_sets`.
    pub fn new(roles: Roles, key_sets: JwksCache, sealing_key: TokenKey) -> Self {
        Self(Router::new().with_sts("/", roles, key_sets, Some(sealing_key)))
    }

    /// The service as axum serves it.
    pub fn into_router(self) -> axum::Router {
        axum::Router::new()
            .fallback(answer)
            .with_state(Arc::new(self))
    }

    async fn dispatch(&self, parts: &Parts, form: Option<&str>) -> Option<ProxyResult> {
        let path = parts.uri.path();
        let mut request =
            RequestInfo::new(&parts.method, path, parts.uri.query(), &parts.headers, None);
        request.form_body = form;
        match self.0.dispatch(&request).await? {
            HandlerAction::Response(result) => Some(result),
            HandlerAction::Forward(_) | HandlerAction::NeedsBody(_) => None,
        }
    }
}

async fn answer(State(endpoint): State<Arc<Endpoint>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    match endpoint.dispatch(&parts, form(&parts.headers, &body)).await {
        Some(result) => respond(result),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The body, if it says that it is a form and is text.
fn form<'a>(headers: &HeaderMap, body: &'a Bytes) -> Option<&'a str> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    kind.starts_with("application/x-www-form-urlencoded")
        .then(|| std::str::from_utf8(body).ok())?
}

fn respond(result: ProxyResult) -> Response<Body> {
    let body = match result.body {
        ProxyResponseBody::Bytes(bytes) => Body::from(bytes),
        ProxyResponseBody::Empty => Body::empty(),
    };
    let status = StatusCode::from_u16(result.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, result.headers, body).into_response()
}
