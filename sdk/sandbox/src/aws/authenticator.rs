//! The authenticator of an EKS cluster: reads `k8s-aws-v1.` tokens, which are presigned requests to
//! STS, by the rules of aws-iam-authenticator's verifier.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{HOST, HeaderName, HeaderValue};
use http::{HeaderMap, Method};
use url::Url;

use super::caller::{self, Scope};
use super::endpoint::{Endpoint, Service};
use super::identity::{Identities, Principal};
use super::signature::moment;
use crate::call::Call;
use crate::clock::SandboxClock;
use crate::guarded::Guarded;
use crate::kubernetes::{Authenticator, User};

const PREFIX: &str = "k8s-aws-v1.";
const MAXIMUM_TOKEN_BYTES: usize = 4_096;
const CLUSTER_HEADER: &str = "x-k8s-aws-id";
/// A token lives 15 minutes from its date, whatever its `X-Amz-Expires` says.
const LIFE_SECONDS: i64 = 15 * 60;
const LONGEST_EXPIRES: i64 = 900;
/// Compared in lower case; any other key is refused.
const QUERY_KEYS: [&str; 9] = [
    "action",
    "version",
    "x-amz-algorithm",
    "x-amz-credential",
    "x-amz-date",
    "x-amz-expires",
    "x-amz-security-token",
    "x-amz-signature",
    "x-amz-signedheaders",
];

/// A role and the Kubernetes user it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) role: String,
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Mappings(Guarded<Vec<Mapping>>);

impl Mappings {
    /// A later mapping of the same role replaces the earlier one.
    pub(crate) fn add(&self, mapping: Mapping) {
        self.0.with(|mappings| {
            mappings.retain(|other| other.role != mapping.role);
            mappings.push(mapping);
        });
    }

    fn user(&self, principal: &Principal) -> Option<User> {
        let arn = principal.arn.to_string();
        let mapping = self
            .0
            .with(|mappings| mappings.iter().find(|mapping| mapping.role == arn).cloned())?;
        let session = principal.session.as_deref().unwrap_or_default();
        let username = mapping.user.replace("{{SessionName}}", session);
        Some(User::authenticated(&username, &mapping.groups))
    }
}

/// Why a token is refused; the API server itself says only `Unauthorized`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("the token is longer than {MAXIMUM_TOKEN_BYTES} bytes")]
    TooLong,
    #[error("the token does not begin with {PREFIX}")]
    Prefix,
    #[error("the token is not base64url without padding of a URL")]
    Encoding,
    #[error("the URL's scheme is not https")]
    Scheme,
    #[error("{0:?} is no STS host of the cluster's partition")]
    Host(String),
    #[error("the URL's path is not /")]
    Path,
    #[error("the query has {0:?}, which is not allowed or there twice")]
    QueryKey(String),
    #[error("the action is not GetCallerIdentity")]
    Action,
    #[error("{CLUSTER_HEADER} is not among the signed headers")]
    SignedHeaders,
    #[error("X-Amz-Expires is not between 0 and {LONGEST_EXPIRES}")]
    Expires,
    #[error("X-Amz-Date is missing or malformed")]
    Date,
    #[error("the token is older than 15 minutes, or from the future")]
    Expired,
    #[error("STS refuses the presigned request")]
    Signature,
    #[error("no mapping for the caller")]
    Unmapped,
}

pub(crate) struct EksAuthenticator {
    pub(crate) cluster: String,
    pub(crate) partition: String,
    pub(crate) identities: Arc<Identities>,
    pub(crate) mappings: Arc<Mappings>,
    pub(crate) clock: Arc<SandboxClock>,
}

impl Authenticator for EksAuthenticator {
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>> {
        let user = self.user(token);
        let user = user
            .inspect_err(|error| tracing::debug!(%error, "token refused"))
            .ok();
        futures::future::ready(user).boxed()
    }
}

impl EksAuthenticator {
    pub(crate) fn user(&self, token: &str) -> Result<User, Refused> {
        let url = decode(token)?;
        let endpoint = self.endpoint(&url)?;
        self.check_query(&url)?;
        let call = self.call(&url);
        let scope = Scope {
            service: Service::Sts,
            region: &endpoint.region,
            now: self.clock.seconds(),
        };
        let session = caller::authenticate(&call, &scope, &self.identities)
            .map_err(|_| Refused::Signature)?;
        self.mappings
            .user(&session.principal)
            .ok_or(Refused::Unmapped)
    }

    /// Interface endpoints of a VPC are not in the verifier's list.
    fn endpoint(&self, url: &Url) -> Result<Endpoint, Refused> {
        let host = url.host_str().unwrap_or_default();
        let refused = || Refused::Host(host.to_owned());
        if url.port().is_some() || !url.username().is_empty() {
            return Err(refused());
        }
        let endpoint = Endpoint::of_host(host).ok_or_else(refused)?;
        let fits = endpoint.service == Service::Sts
            && !endpoint.is_private_link
            && endpoint.partition.name == self.partition;
        fits.then_some(endpoint).ok_or_else(refused)
    }

    fn check_query(&self, url: &Url) -> Result<(), Refused> {
        let mut seen = BTreeSet::new();
        for (key, _) in url.query_pairs() {
            let lower = key.to_ascii_lowercase();
            if !QUERY_KEYS.contains(&lower.as_str()) || !seen.insert(lower) {
                return Err(Refused::QueryKey(key.into_owned()));
            }
        }
        let value = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs
                .find(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.into_owned())
        };
        if value("action").as_deref() != Some("GetCallerIdentity") {
            return Err(Refused::Action);
        }
        let signed = value("x-amz-signedheaders").unwrap_or_default();
        if !signed.split(';').any(|name| name == CLUSTER_HEADER) {
            return Err(Refused::SignedHeaders);
        }
        let expires = value("x-amz-expires").and_then(|expires| expires.parse::<i64>().ok());
        if !expires.is_some_and(|expires| (0..=LONGEST_EXPIRES).contains(&expires)) {
            return Err(Refused::Expires);
        }
        let signed_at = value("x-amz-date")
            .and_then(|date| moment(&date))
            .ok_or(Refused::Date)?;
        let age = self.clock.seconds() - signed_at;
        (-LIFE_SECONDS..LIFE_SECONDS)
            .contains(&age)
            .then_some(())
            .ok_or(Refused::Expired)
    }

    /// The request as the verifier sends it on: with the cluster's own name in the signed header.
    fn call(&self, url: &Url) -> Call {
        let host = url.host_str().unwrap_or_default();
        let mut headers = HeaderMap::new();
        for (name, value) in [
            (HOST, host),
            (
                HeaderName::from_static(CLUSTER_HEADER),
                self.cluster.as_str(),
            ),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
        Call {
            method: Method::GET,
            authority: host.to_owned(),
            path: url.path().to_owned(),
            query: url.query().unwrap_or_default().to_owned(),
            headers,
            body: Bytes::new(),
        }
    }
}

impl fmt::Debug for EksAuthenticator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EksAuthenticator")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

fn decode(token: &str) -> Result<Url, Refused> {
    if token.len() > MAXIMUM_TOKEN_BYTES {
        return Err(Refused::TooLong);
    }
    let encoded = token.strip_prefix(PREFIX).ok_or(Refused::Prefix)?;
    let decoded = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| Refused::Encoding)?;
    let text = String::from_utf8(decoded).map_err(|_| Refused::Encoding)?;
    let url = Url::parse(&text).map_err(|_| Refused::Encoding)?;
    if url.scheme() != "https" {
        return Err(Refused::Scheme);
    }
    if url.path() != "/" {
        return Err(Refused::Path);
    }
    Ok(url)
}
