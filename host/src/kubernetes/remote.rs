//! Clients for remote clusters whose login renews itself.

use crate::credential::{ClusterAccess, Material};
use crate::error::Error;
use crate::secret::Secret;
use async_trait::async_trait;
use http::header::{AUTHORIZATION, HeaderValue};
use kube::client::ClientBuilder;
use kube::config::AuthInfo;
use kube::{Client, Config};
use std::sync::Arc;
use tower::buffer::BufferLayer;
use tower::filter::AsyncFilterLayer;

/// Where the access to a cluster comes from, again and again.
#[async_trait]
pub trait AccessSource: Send + Sync {
    /// The access that is good now. Called for every request to the cluster, so that it is answered
    /// from a cache.
    ///
    /// # Errors
    ///
    /// Sorted by who must act.
    async fn access(&self) -> Result<Arc<ClusterAccess>, Error>;
}

/// Requests that wait for a connection at once; more wait for their turn.
const MAX_QUEUED: usize = 64;

/// The configuration of a client with the login as it is now. It does not renew itself; see
/// [`client`] for one that does.
///
/// # Errors
///
/// `Configuration`: the login is none that Kubernetes clients know.
pub fn config(access: &ClusterAccess) -> Result<Config, Error> {
    let mut config = without_login(access)?;
    match access.login().material() {
        Material::Bearer(token) => config.auth_info.token = Some(token.expose().to_owned().into()),
        Material::X509(x509) => {
            config.auth_info.client_certificate_data = Some(base64(&x509.certificate_chain));
            config.auth_info.client_key_data = Some(base64(x509.private_key.expose()).into());
        }
        other => return Err(unfit(other)),
    }
    Ok(config)
}

/// A client that asks `source` for its bearer token before every request, so that the login never
/// expires under it. Server and authorities are those of the first access.
///
/// # Errors
///
/// What `source` answers; `Configuration` if the login is no bearer token.
pub async fn client(source: Arc<dyn AccessSource>) -> Result<Client, Error> {
    let first = source.access().await?;
    bearer(&first)?;
    let config = without_login(&first)?;
    let builder = ClientBuilder::try_from(config).map_err(|error| {
        Error::configuration(format!("cannot set up a client for {}", first.server()))
            .because(error)
    })?;
    let server = first.server().clone();
    let login = move |mut request: http::Request<kube::client::Body>| {
        let (source, server) = (Arc::clone(&source), server.clone());
        async move {
            let access = source.access().await?;
            if *access.server() != server {
                return Err(moved(&server).into());
            }
            request
                .headers_mut()
                .insert(AUTHORIZATION, bearer(&access)?);
            Ok::<_, tower::BoxError>(request)
        }
    };
    // The filter needs a service that it can clone into its future; the buffer makes one.
    let shared = builder.with_layer(&BufferLayer::new(MAX_QUEUED));
    Ok(shared.with_layer(&AsyncFilterLayer::new(login)).build())
}

/// A cluster of the same name that was made anew is somewhere else, and its token is not for the old
/// address, which may be anybody's by now.
fn moved(server: &url::Url) -> Error {
    Error::unavailable(format!(
        "the cluster is no longer at {server}: its client must be made anew"
    ))
}

fn without_login(access: &ClusterAccess) -> Result<Config, Error> {
    let server = access.server().as_str();
    let url: http::Uri = server.parse().map_err(|error: http::uri::InvalidUri| {
        Error::configuration(format!("the API server's address {server} is no URI")).because(error)
    })?;
    let mut config = Config::new(url);
    config.root_cert = access.ca().map(|ca| ca.certificates().to_vec());
    config.auth_info = AuthInfo::default();
    Ok(config)
}

fn bearer(access: &ClusterAccess) -> Result<HeaderValue, Error> {
    let Material::Bearer(token) = access.login().material() else {
        return Err(unfit(access.login().material()));
    };
    sensitive(token)
        .map_err(|error| Error::plugin("the bearer token is not valid in a header").because(error))
}

fn sensitive(token: &Secret) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let text = zeroize::Zeroizing::new(format!("Bearer {}", token.expose()));
    let mut value = HeaderValue::from_str(&text)?;
    value.set_sensitive(true);
    Ok(value)
}

fn unfit(material: &Material) -> Error {
    Error::configuration(format!(
        "a login of kind {} is none that Kubernetes clients know",
        material.kind()
    ))
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
