//! Where AWS hands a process its own credentials: the instance metadata service, version 2, and the
//! container credentials endpoint.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::identity::{Assumption, Identities, Session};
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::{SandboxClock, rfc3339};
use crate::guarded::Guarded;
use crate::json::put;
use crate::metadata::MetadataService;
use crate::random;

/// The container endpoint's path, as EKS Pod Identity has it.
pub(crate) const CONTAINER_PATH: &str = "/v1/credentials";
const TTL_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const TOKEN_HEADER: &str = "x-aws-ec2-metadata-token";
/// Metadata tokens live one second to six hours.
const LONGEST_TTL: i64 = 21_600;
/// Instance and container credentials are good for six hours.
const LIFE_SECONDS: i64 = 6 * 60 * 60;
const CREDENTIALS: &str = "/latest/meta-data/iam/security-credentials";

pub(crate) struct Metadata {
    identities: Arc<Identities>,
    clock: Arc<SandboxClock>,
    settings: Guarded<Settings>,
    tokens: Guarded<HashMap<String, i64>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) region: String,
    pub(crate) instance_role: Option<String>,
    pub(crate) container_role: Option<String>,
    pub(crate) container_authorization: Option<String>,
    pub(crate) is_token_required: bool,
}

impl Metadata {
    pub(crate) fn new(identities: Arc<Identities>, clock: Arc<SandboxClock>) -> Self {
        let settings = Settings {
            region: "us-east-1".to_owned(),
            instance_role: None,
            container_role: None,
            container_authorization: None,
            is_token_required: true,
        };
        Self {
            identities,
            clock,
            settings: Guarded::new(settings),
            tokens: Guarded::default(),
        }
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Settings)) {
        self.settings.with(change);
    }

    fn issue_token(&self, call: &Call) -> Answer {
        if call.method != Method::PUT {
            return answer::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        // The real service refuses a request that came through a proxy.
        if call.headers.contains_key("x-forwarded-for") {
            return answer::empty(StatusCode::FORBIDDEN);
        }
        let ttl = call
            .header(TTL_HEADER)
            .and_then(|ttl| ttl.parse::<i64>().ok());
        let Some(ttl) = ttl.filter(|ttl| (1..=LONGEST_TTL).contains(ttl)) else {
            return answer::empty(StatusCode::BAD_REQUEST);
        };
        let token = random::base64url(56);
        let expires_at = self.clock.seconds() + ttl;
        self.tokens
            .with(|tokens| tokens.insert(token.clone(), expires_at));
        answer::plain(StatusCode::OK, &token)
    }

    fn instance(&self, call: &Call, path: &str, settings: &Settings) -> Answer {
        if call.method != Method::GET {
            return answer::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        if !self.is_admitted(call, settings) {
            return answer::empty(StatusCode::UNAUTHORIZED);
        }
        let region = &settings.region;
        match path {
            "/latest/meta-data/placement/region" => answer::plain(StatusCode::OK, region),
            "/latest/meta-data/placement/availability-zone" => {
                answer::plain(StatusCode::OK, &format!("{region}a"))
            }
            "/latest/dynamic/instance-identity/document" => {
                answer::json(StatusCode::OK, &json!({"region": region}))
            }
            _ => self.instance_role(path, settings),
        }
    }

    fn is_admitted(&self, call: &Call, settings: &Settings) -> bool {
        let Some(token) = call.header(TOKEN_HEADER) else {
            return !settings.is_token_required;
        };
        let now = self.clock.seconds();
        self.tokens.with(|tokens| {
            tokens
                .get(token)
                .is_some_and(|expires_at| now < *expires_at)
        })
    }

    fn instance_role(&self, path: &str, settings: &Settings) -> Answer {
        let wanted = path
            .strip_prefix(CREDENTIALS)
            .map(|rest| rest.trim_matches('/'));
        let (Some(wanted), Some(arn)) = (wanted, &settings.instance_role) else {
            return not_found();
        };
        let name = arn.rsplit('/').next().unwrap_or_default();
        match wanted {
            "" => answer::plain(StatusCode::OK, name),
            wanted if wanted == name => {
                self.credentials(arn, "i-0123456789abcdef0", |document, now| {
                    put(document, &["Code"], "Success".into());
                    put(document, &["Type"], "AWS-HMAC".into());
                    put(document, &["LastUpdated"], rfc3339(now).into());
                })
            }
            _ => not_found(),
        }
    }

    fn container(&self, call: &Call, settings: &Settings) -> Answer {
        if call.method != Method::GET {
            return answer::empty(StatusCode::METHOD_NOT_ALLOWED);
        }
        let expected = settings.container_authorization.as_deref();
        if expected.is_some() && call.header("authorization") != expected {
            let body = json!({"code": "AccessDeniedException", "message": "The authorization token is missing or wrong"});
            return answer::json(StatusCode::UNAUTHORIZED, &body);
        }
        match &settings.container_role {
            Some(arn) => self.credentials(arn, "container", |document, _| {
                let account = arn.split(':').nth(4).unwrap_or_default();
                put(document, &["AccountId"], account.into());
            }),
            None => not_found(),
        }
    }

    fn credentials(
        &self,
        arn: &str,
        session_name: &str,
        complete: impl FnOnce(&mut Value, i64),
    ) -> Answer {
        let Some(role) = self.identities.role(arn) else {
            return not_found();
        };
        let now = self.clock.seconds();
        let session = self.identities.assume(Assumption {
            role,
            session_name: session_name.to_owned(),
            expires_at: now + LIFE_SECONDS,
            source_identity: None,
            transitive_tags: BTreeMap::new(),
        });
        let mut document = document(&session);
        complete(&mut document, now);
        answer::json(StatusCode::OK, &document)
    }
}

impl MetadataService for Metadata {
    fn metadata(&self, call: &Call) -> Option<Answer> {
        let settings = self.settings.with(|settings| settings.clone());
        match call.path.as_str() {
            "/latest/api/token" => Some(self.issue_token(call)),
            CONTAINER_PATH => Some(self.container(call, &settings)),
            path if path.starts_with("/latest/") => Some(self.instance(call, path, &settings)),
            _ => None,
        }
    }
}

fn document(session: &Session) -> Value {
    json!({
        "AccessKeyId": session.key.access_key_id,
        "SecretAccessKey": session.key.secret_access_key,
        "Token": session.key.session_token,
        "Expiration": rfc3339(session.expires_at.unwrap_or_default()),
    })
}

fn not_found() -> Answer {
    answer::plain(StatusCode::NOT_FOUND, "404 - Not Found")
}
