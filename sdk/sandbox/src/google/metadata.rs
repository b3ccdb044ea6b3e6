//! The metadata server of Compute Engine and GKE: what a process learns of its project and cluster,
//! and the tokens of the default service account.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue, SERVER};
use http::{Method, StatusCode};
use serde_json::json;

use super::Google;
use super::access::{Access, CLOUD_PLATFORM, USERINFO_EMAIL, is_scope};
use super::account::ServiceAccount;
use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::metadata::MetadataService;

const FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
const ROOT: &str = "/computeMetadata/v1/";
const DEFAULT_ACCOUNT: &str = "instance/service-accounts/default/";
const LIFE_SECONDS: i64 = 3_600;

/// What the metadata server says. By default it knows no project, cluster or account, and the
/// universe is `googleapis.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    values: BTreeMap<&'static str, String>,
    account: Option<String>,
    scopes: Vec<String>,
}

impl Default for Metadata {
    fn default() -> Self {
        let universe = ("universe/universe-domain", "googleapis.com".to_owned());
        Self {
            values: BTreeMap::from([universe]),
            account: None,
            scopes: vec![CLOUD_PLATFORM.to_owned(), USERINFO_EMAIL.to_owned()],
        }
    }
}

impl Metadata {
    /// The project's ID.
    #[must_use]
    pub fn project(mut self, id: &str) -> Self {
        self.values.insert("project/project-id", id.to_owned());
        self
    }

    /// The cluster that the process runs in.
    #[must_use]
    pub fn cluster(mut self, location: &str, name: &str) -> Self {
        let attributes = [
            ("instance/attributes/cluster-location", location),
            ("instance/attributes/cluster-name", name),
        ];
        for (path, value) in attributes {
            self.values.insert(path, value.to_owned());
        }
        self
    }

    /// The default service account, which must have been created.
    #[must_use]
    pub fn account(mut self, email: &str) -> Self {
        self.account = Some(email.to_owned());
        self
    }

    /// The scopes that its tokens may have; cloud-platform and userinfo.email by default.
    #[must_use]
    pub fn scopes(mut self, scopes: &[&str]) -> Self {
        self.scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        self
    }

    /// The universe; with none, the path is answered 404, as older metadata servers do.
    #[must_use]
    pub fn universe(mut self, domain: Option<&str>) -> Self {
        const PATH: &str = "universe/universe-domain";
        match domain {
            Some(domain) => self.values.insert(PATH, domain.to_owned()),
            None => self.values.remove(PATH),
        };
        self
    }
}

/// Google as the metadata listener knows it.
pub(crate) struct Server(pub(crate) Arc<Google>);

impl MetadataService for Server {
    fn metadata(&self, call: &Call) -> Option<Answer> {
        is_own(call).then(|| flavored(self.route(call)))
    }

    fn metadata_error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        let answer = || flavored(answer::plain(error.status, &error.message));
        is_own(call).then(answer)
    }
}

impl Server {
    fn route(&self, call: &Call) -> Answer {
        if call.path == "/" {
            return answer::plain(StatusCode::OK, "computeMetadata/\n");
        }
        if call.header(FLAVOR.as_str()) != Some("Google") {
            let message = "Missing Metadata-Flavor:Google header.";
            return answer::plain(StatusCode::FORBIDDEN, message);
        }
        // The real server refuses a request that came through a proxy.
        if call.headers.contains_key("x-forwarded-for") {
            return answer::empty(StatusCode::FORBIDDEN);
        }
        if call.method != Method::GET {
            return answer::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        let path = call.path.strip_prefix(ROOT).unwrap_or_default();
        let settings = self.0.metadata.with(|settings| settings.clone());
        match (
            settings.values.get(path),
            path.strip_prefix(DEFAULT_ACCOUNT),
        ) {
            (Some(value), _) => content("application/text", value),
            (None, Some(rest)) => self.account(call, &settings, rest),
            (None, None) => not_found(),
        }
    }

    fn account(&self, call: &Call, settings: &Metadata, rest: &str) -> Answer {
        let account = settings.account.as_ref();
        let Some(account) = account.and_then(|email| self.0.accounts.find(email)) else {
            return not_found();
        };
        match rest {
            "" if call.parameter("recursive").as_deref() == Some("true") => {
                let body = json!({
                    "aliases": ["default"],
                    "email": account.email.to_string(),
                    "scopes": settings.scopes,
                });
                answer::json(StatusCode::OK, &body)
            }
            "" => content(
                "application/text",
                "aliases\nemail\nidentity\nscopes\ntoken\n",
            ),
            "email" => content("application/text", &account.email.to_string()),
            "scopes" => content("application/text", &settings.scopes.join("\n")),
            "token" => self.token(call, settings, &account),
            "identity" => self.identity(call, &account),
            _ => not_found(),
        }
    }

    fn token(&self, call: &Call, settings: &Metadata, account: &ServiceAccount) -> Answer {
        let scopes = match call.parameter("scopes") {
            None => settings.scopes.clone(),
            Some(asked) => asked.split(',').map(str::to_owned).collect(),
        };
        // cloud-platform covers every API; otherwise nothing can be had beyond what was granted.
        let covers = |scope: &String| {
            let granted = |name: &str| settings.scopes.iter().any(|granted| granted == name);
            is_scope(scope) && (granted(CLOUD_PLATFORM) || granted(scope))
        };
        if !scopes.iter().all(covers) {
            let message = "The scopes are not among those of the instance.";
            return answer::plain(StatusCode::BAD_REQUEST, message);
        }
        let access = Access {
            principal: account.principal(),
            scopes,
            expires_at: self.0.now() + LIFE_SECONDS,
        };
        let body = json!({
            "access_token": self.0.tokens.issue(access),
            "expires_in": LIFE_SECONDS,
            "token_type": "Bearer",
        });
        answer::json(StatusCode::OK, &body)
    }

    fn identity(&self, call: &Call, account: &ServiceAccount) -> Answer {
        let audience = call.parameter("audience").unwrap_or_default();
        if audience.is_empty() {
            let message = "non-empty audience parameter required";
            return answer::plain(StatusCode::BAD_REQUEST, message);
        }
        match self.0.identity_token(account, &audience) {
            Ok(token) => content("text/html", &token),
            Err(_) => answer::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

/// SDKs look for the server at the root of its own host name.
fn is_own(call: &Call) -> bool {
    let is_named = call.host() == "metadata.google.internal";
    call.path.starts_with("/computeMetadata/") || (is_named && call.path == "/")
}

/// The server's mark, on every answer.
fn flavored(answer: Answer) -> Answer {
    let mut answer = answer::with_header(answer, FLAVOR, "Google");
    let server = HeaderValue::from_static("Metadata Server for VM");
    answer.headers_mut().insert(SERVER, server);
    answer
}

fn content(media_type: &str, text: &str) -> Answer {
    answer::content(StatusCode::OK, media_type, text.to_owned())
}

fn not_found() -> Answer {
    answer::plain(
        StatusCode::NOT_FOUND,
        "The requested URL was not found on this server.",
    )
}
