//! Where Azure hands a machine the tokens of its managed identities.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::json;

use super::access_token::{Grant, Keys, Proof};
use super::entra::unknown_resource;
use super::form::Form;
use super::identity::{Directory, Principal};
use super::resources::Resources;
use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::clock::SandboxClock;
use crate::guarded::Guarded;
use crate::metadata::MetadataService;

/// The tree of this cloud on the shared address.
const ROOT: &str = "/metadata/";
const TOKEN: &str = "/metadata/identity/oauth2/token";
/// Tokens of managed identities live a day.
const LIFE_SECONDS: i64 = 24 * 3_600;
/// The version that every client sends.
const OLDEST_VERSION: &str = "2018-02-01";

/// How the metadata service is, other than well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataPhase {
    /// 404: the endpoint is not up yet.
    Starting,
    /// 410: it is being updated, for up to 70 seconds.
    Updating,
    /// 429: too many requests.
    Throttled,
}

impl MetadataPhase {
    fn failure(self) -> Failure {
        match self {
            Self::Starting => Failure(404, "not_found", "The requested endpoint does not exist"),
            Self::Updating => Failure(410, "gone", "The endpoint is being updated"),
            Self::Throttled => Failure(429, "too_many_requests", "Too many requests"),
        }
    }
}

#[derive(Debug, Clone)]
struct Assigned {
    principal: Principal,
    /// A user-assigned identity is a resource; the system-assigned one is not.
    resource_id: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    assigned: Vec<Assigned>,
    phase: Option<(MetadataPhase, u32)>,
}

pub(crate) struct Metadata {
    directory: Arc<Directory>,
    keys: Arc<Keys>,
    resources: Arc<Resources>,
    clock: Arc<SandboxClock>,
    state: Guarded<State>,
}

/// Status, error and description; texts from the vendor's documentation where it has them.
#[derive(Debug, Clone, Copy)]
struct Failure(u16, &'static str, &'static str);

const INVALID: &str = "invalid_request";
const UNKNOWN_IDENTITY: Failure = Failure(400, INVALID, "Identity not found");

impl Metadata {
    pub(crate) fn new(
        directory: Arc<Directory>,
        keys: Arc<Keys>,
        resources: Arc<Resources>,
        clock: Arc<SandboxClock>,
    ) -> Self {
        Self {
            directory,
            keys,
            resources,
            clock,
            state: Guarded::default(),
        }
    }

    pub(crate) fn assign(&self, principal: Principal, resource_id: Option<&str>) {
        let assigned = Assigned {
            principal,
            resource_id: resource_id.map(str::to_owned),
        };
        self.state.with(|state| {
            state
                .assigned
                .retain(|other| other.principal.client_id != principal.client_id);
            state.assigned.push(assigned);
        });
    }

    pub(crate) fn set_phase(&self, phase: MetadataPhase, calls: u32) {
        self.state.with(|state| state.phase = Some((phase, calls)));
    }

    fn route(&self, call: &Call) -> Answer {
        let answered = self.check(call).and_then(|()| match call.path.as_str() {
            TOKEN => self.token(call),
            _ => Err(Failure(
                404,
                "not_found",
                "The requested endpoint does not exist",
            )),
        });
        answered.unwrap_or_else(Failure::answer)
    }

    fn check(&self, call: &Call) -> Result<(), Failure> {
        if call.header("metadata") != Some("true") {
            let message = "Required metadata header not specified";
            return Err(Failure(400, "bad_request_102", message));
        }
        // The real service refuses a request that came through a proxy.
        if call.headers.contains_key("x-forwarded-for") {
            return Err(Failure(400, INVALID, "X-Forwarded-For is not allowed"));
        }
        if call.method != Method::GET {
            return Err(Failure(405, "method_not_allowed", "Only GET is served"));
        }
        match self.take_phase() {
            Some(phase) => Err(phase.failure()),
            None => Ok(()),
        }
    }

    /// The phase of this call; counts it.
    fn take_phase(&self) -> Option<MetadataPhase> {
        self.state.with(|state| {
            let (phase, left) = state.phase?;
            state.phase = left.checked_sub(1).map(|left| (phase, left));
            (left > 0).then_some(phase)
        })
    }

    fn token(&self, call: &Call) -> Result<Answer, Failure> {
        let query = Form::query(call);
        let version = query.value("api-version").unwrap_or_default();
        let is_date = version.len() == 10 && version.parse::<jiff::civil::Date>().is_ok();
        // Dates of this form sort as text.
        if !is_date || version < OLDEST_VERSION {
            let message = "Required query variable 'api-version' is missing or not supported";
            return Err(Failure(400, INVALID, message));
        }
        let missing = Failure(
            400,
            INVALID,
            "Required query variable 'resource' is missing",
        );
        let resource = query.value("resource").ok_or(missing)?;
        let principal = self.identity(&query)?;
        if !self.resources.knows(principal.cloud, resource) {
            let failure = unknown_resource(resource, principal.tenant);
            let body = json!({"error": failure.code, "error_description": failure.message});
            return Ok(answer::json(failure.status, &body));
        }
        self.issue(principal, resource)
    }

    fn identity(&self, query: &Form) -> Result<Principal, Failure> {
        let selectors: Vec<(&str, &str)> = ["client_id", "object_id", "msi_res_id", "mi_res_id"]
            .into_iter()
            .filter_map(|name| Some((name, query.value(name)?)))
            .collect();
        let assigned = self.state.with(|state| state.assigned.clone());
        match selectors.as_slice() {
            [] => default_identity(&assigned),
            [(name, value)] => {
                let chosen = assigned.iter().find(|one| one.is(name, value));
                chosen.map(|one| one.principal).ok_or(UNKNOWN_IDENTITY)
            }
            _ => Err(Failure(400, INVALID, "Only one identity may be named")),
        }
    }

    fn issue(&self, principal: Principal, resource: &str) -> Result<Answer, Failure> {
        let failed = Failure(
            500,
            "unknown",
            "Failed to retrieve token from the Active directory",
        );
        // An identity is one of its directory's applications.
        let known = self.directory.application(principal.client_id);
        let principal = known.ok_or(failed)?.principal;
        let now = self.clock.seconds();
        let token = self.keys.issue(&Grant {
            principal,
            audience: resource,
            proof: Proof::Assertion,
            now,
            seconds: LIFE_SECONDS,
        });
        // Every value is a string, the numbers too.
        let body = json!({
            "access_token": token.ok_or(failed)?,
            "client_id": principal.client_id,
            "expires_in": LIFE_SECONDS.to_string(),
            "expires_on": (now + LIFE_SECONDS).to_string(),
            "ext_expires_in": LIFE_SECONDS.to_string(),
            "not_before": now.to_string(),
            "resource": resource,
            "token_type": "Bearer",
        });
        Ok(answer::json(StatusCode::OK, &body))
    }
}

/// Who a request without a choice gets: the system's identity, else the only one.
fn default_identity(assigned: &[Assigned]) -> Result<Principal, Failure> {
    let system = assigned.iter().find(|one| one.resource_id.is_none());
    match (system, assigned) {
        (Some(one), _) | (None, [one]) => Ok(one.principal),
        (None, []) => Err(UNKNOWN_IDENTITY),
        (None, _) => Err(Failure(
            400,
            INVALID,
            "Multiple user assigned identities exist, please specify the clientId / resourceId of \
             the identity in the token request",
        )),
    }
}

impl Assigned {
    fn is(&self, selector: &str, value: &str) -> bool {
        let own = match selector {
            "client_id" => Some(self.principal.client_id.to_string()),
            "object_id" => Some(self.principal.object_id.to_string()),
            _ => self.resource_id.clone(),
        };
        own.is_some_and(|own| own.eq_ignore_ascii_case(value))
    }
}

impl MetadataService for Metadata {
    fn metadata(&self, call: &Call) -> Option<Answer> {
        call.path.starts_with(ROOT).then(|| self.route(call))
    }

    fn metadata_error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        if !call.path.starts_with(ROOT) {
            return None;
        }
        let body = json!({"error": error.code, "error_description": error.message});
        Some(answer::json(error.status, &body))
    }
}

impl Failure {
    fn answer(self) -> Answer {
        let Self(status, error, description) = self;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({"error": error, "error_description": description});
        answer::json(status, &body)
    }
}
