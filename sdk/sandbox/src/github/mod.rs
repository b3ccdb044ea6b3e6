//! GitHub Actions: the endpoint where a job asks for its identity token, and the documents of the
//! issuer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::answer::{self, Answer, ServiceError};
use crate::builder::StartError;
use crate::call::Call;
use crate::cloud::CloudService;
use crate::foundation::Foundation;
use crate::guarded::Guarded;
use crate::random;
use crate::signing_key::LazyKey;

const ISSUER: &str = "https://token.actions.githubusercontent.com";
const ISSUER_HOST: &str = "token.actions.githubusercontent.com";
const KEYS_PATH: &str = "/.well-known/jwks";
const REQUEST_HOST: &str = "pipelines.actions.githubusercontent.com";
/// An identity token lives five minutes, and is valid from ten minutes before (the vendor's example).
const LIFE_SECONDS: i64 = 300;
const EARLY_SECONDS: i64 = 600;
/// A job on GitHub's runners ends after six hours, and what it may ask with ends too.
const JOB_SECONDS: i64 = 6 * 60 * 60;

/// GitHub Actions, as far as a test has furnished it.
pub struct GitHub {
    foundation: Arc<Foundation>,
    jobs: Guarded<BTreeMap<String, Running>>,
    key: LazyKey,
}

/// A job that may ask for identity tokens: it has `permissions: id-token: write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// `OWNER/NAME`.
    pub repository: String,
    /// The Git reference, such as `refs/heads/main`.
    pub reference: String,
    /// The deployment environment, which then takes the reference's place in the subject.
    pub environment: Option<String>,
}

/// What a runner gives to the job.
#[derive(Clone, PartialEq, Eq)]
pub struct JobAccess {
    /// `ACTIONS_ID_TOKEN_REQUEST_URL`; it has a query already.
    pub request_url: String,
    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    pub request_token: String,
}

#[derive(Clone)]
struct Running {
    job: Job,
    token: String,
    expires_at: i64,
}

impl fmt::Debug for JobAccess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("JobAccess")
            .field("request_url", &self.request_url)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// A job on the main branch.
    #[must_use]
    pub fn of(repository: &str) -> Self {
        Self {
            repository: repository.to_owned(),
            reference: "refs/heads/main".to_owned(),
            environment: None,
        }
    }

    fn owner(&self) -> &str {
        self.repository.split('/').next().unwrap_or_default()
    }

    fn subject(&self) -> String {
        let Self {
            repository,
            reference,
            environment,
        } = self;
        match environment {
            Some(environment) => format!("repo:{repository}:environment:{environment}"),
            None => format!("repo:{repository}:ref:{reference}"),
        }
    }
}

impl GitHub {
    pub(crate) fn new(foundation: &Arc<Foundation>) -> Self {
        Self {
            foundation: Arc::clone(foundation),
            jobs: Guarded::default(),
            key: LazyKey::default(),
        }
    }

    /// The issuer in identity tokens.
    #[must_use]
    pub fn issuer(&self) -> &'static str {
        ISSUER
    }

    /// Starts a job, which lasts six hours.
    #[must_use]
    pub fn start(&self, job: &Job) -> JobAccess {
        let nobody = Uuid::nil();
        let (scope, plan, id) = (random::base64url(50), Uuid::new_v4(), Uuid::new_v4());
        let path = format!(
            "/{scope}/{nobody}/_apis/distributedtask/hubs/Actions/plans/{plan}/jobs/{id}/idtoken"
        );
        let token = random::base64url(300);
        let running = Running {
            job: job.clone(),
            token: token.clone(),
            expires_at: self.now() + JOB_SECONDS,
        };
        let request_url = format!("https://{REQUEST_HOST}{path}?api-version=2.0");
        self.jobs.with(|jobs| jobs.insert(path, running));
        JobAccess {
            request_url,
            request_token: token,
        }
    }

    fn route(&self, call: &Call) -> Option<Answer> {
        match call.host() {
            REQUEST_HOST => Some(self.identity(call)),
            ISSUER_HOST if call.method != Method::GET => {
                Some(answer::empty(StatusCode::METHOD_NOT_ALLOWED))
            }
            ISSUER_HOST => Some(match call.path.as_str() {
                "/.well-known/openid-configuration" => discovery(),
                KEYS_PATH => self.keys(),
                _ => answer::empty(StatusCode::NOT_FOUND),
            }),
            _ => None,
        }
    }

    fn keys(&self) -> Answer {
        match self.key.key() {
            Ok(key) => answer::json(StatusCode::OK, &json!({"keys": [key.public()]})),
            Err(_) => answer::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn identity(&self, call: &Call) -> Answer {
        let running = self.jobs.with(|jobs| jobs.get(&call.path).cloned());
        let Some(running) = running.filter(|_| call.method == Method::GET) else {
            let message =
                "The controller for path was not found or does not implement IController.";
            return failure(
                StatusCode::NOT_FOUND,
                "VssResourceNotFoundException",
                message,
            );
        };
        let bearer = call.header("authorization");
        let bearer = bearer.and_then(|header| header.strip_prefix("Bearer "));
        if bearer != Some(running.token.as_str()) || running.expires_at <= self.now() {
            let message = "The user is not authorized to access this resource.";
            return failure(
                StatusCode::UNAUTHORIZED,
                "UnauthorizedRequestException",
                message,
            );
        }
        if call.parameter("api-version").as_deref() != Some("2.0") {
            let message = "No api-version was supplied for the request, or one that is not 2.0.";
            return failure(
                StatusCode::BAD_REQUEST,
                "VssVersionNotSpecifiedException",
                message,
            );
        }
        let audience = call
            .parameter("audience")
            .filter(|audience| !audience.is_empty());
        let owner = running.job.owner();
        let audience = audience.unwrap_or_else(|| format!("https://github.com/{owner}"));
        match self.sign(&running.job, &audience) {
            Ok(token) => {
                let body = json!({"count": token.len(), "value": token});
                answer::json(StatusCode::OK, &body)
            }
            Err(_) => answer::empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    fn sign(&self, job: &Job, audience: &str) -> Result<String, StartError> {
        let claims = claims(job, audience, self.now());
        Ok(self.key.key()?.sign(&claims)?)
    }

    fn now(&self) -> i64 {
        self.foundation.clock.seconds()
    }
}

impl CloudService for GitHub {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Option<Answer>> {
        futures::future::ready(self.route(call)).boxed()
    }

    fn error(&self, call: &Call, error: &ServiceError) -> Option<Answer> {
        let own = [REQUEST_HOST, ISSUER_HOST].contains(&call.host());
        own.then(|| failure(error.status, &error.code, &error.message))
    }

    fn throttled(&self, call: &Call) -> Option<Answer> {
        let error = ServiceError {
            status: StatusCode::TOO_MANY_REQUESTS,
            code: "RequestBlockedException".to_owned(),
            message: "Request was blocked due to exceeding usage of resource.".to_owned(),
        };
        self.error(call, &error)
    }
}

impl fmt::Debug for GitHub {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("GitHub").finish_non_exhaustive()
    }
}

fn discovery() -> Answer {
    let document = json!({
        "issuer": ISSUER,
        "jwks_uri": format!("{ISSUER}{KEYS_PATH}"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public", "pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid"],
    });
    answer::json(StatusCode::OK, &document)
}

/// The claims that policies of the clouds look at, of those that GitHub documents.
fn claims(job: &Job, audience: &str, now: i64) -> Value {
    let Job {
        repository,
        reference,
        environment,
    } = job;
    let workflow = format!("{repository}/.github/workflows/ci.yaml@{reference}");
    let mut claims = json!({
        "jti": Uuid::new_v4().to_string(),
        "iss": ISSUER,
        "sub": job.subject(),
        "aud": audience,
        "iat": now,
        "nbf": now - EARLY_SECONDS,
        "exp": now + LIFE_SECONDS,
        "repository": repository,
        "repository_owner": job.owner(),
        "repository_visibility": "private",
        "ref": reference,
        "ref_type": "branch",
        "event_name": "push",
        "workflow": "ci",
        "workflow_ref": workflow,
        "job_workflow_ref": workflow,
        "runner_environment": "github-hosted",
    });
    if let (Some(environment), Some(fields)) = (environment, claims.as_object_mut()) {
        fields.insert("environment".to_owned(), environment.as_str().into());
    }
    claims
}

/// An error of the service behind the endpoint, which is that of Azure DevOps.
fn failure(status: StatusCode, kind: &str, message: &str) -> Answer {
    let body = json!({
        "$id": "1",
        "innerException": null,
        "message": message,
        "typeKey": kind,
        "errorCode": 0,
        "eventId": 3000,
    });
    answer::json(status, &body)
}
