//! The registry login: GetAuthorizationToken of ECR and of ECR Public.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Aws;
use super::endpoint::{Endpoint, Service};
use super::failure::{Failure, Protocol};
use super::identity::Session;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::guarded::Guarded;
use crate::json::at;
use crate::random;

/// Twelve hours, as the service documents it.
const LIFE_SECONDS: i64 = 12 * 60 * 60;
const MEDIA_TYPE: &str = "application/x-amz-json-1.1";

/// A registry password that this sandbox issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The ARN of the session or user that it was issued to.
    pub principal: String,
    /// The registry's host, `ACCOUNT.dkr.ecr.REGION.SUFFIX` or `public.ecr.aws`.
    pub registry: String,
    /// When it ends, by the sandbox's clock.
    pub expires_at: SystemTime,
}

/// The passwords that are known.
#[derive(Debug, Default)]
pub(crate) struct Logins(Guarded<HashMap<String, RegistryLogin>>);

impl Logins {
    pub(crate) fn find(
        &self,
        user: &str,
        password: &str,
        now: SystemTime,
    ) -> Option<RegistryLogin> {
        let login = self.0.with(|logins| logins.get(password).cloned())?;
        (user == "AWS" && now < login.expires_at).then_some(login)
    }
}

pub(crate) fn answer(aws: &Aws, call: &Call, endpoint: &Endpoint) -> Answer {
    match handle(aws, call, endpoint) {
        Ok(body) => answer::content(StatusCode::OK, MEDIA_TYPE, body.to_string()),
        Err(failure) => failure.answer(Protocol::Json, call),
    }
}

fn handle(aws: &Aws, call: &Call, endpoint: &Endpoint) -> Result<Value, Failure> {
    let is_public = endpoint.service == Service::EcrPublic;
    let target = if is_public {
        "SpencerFrontendService.GetAuthorizationToken"
    } else {
        "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
    };
    let known = call.method == Method::POST && call.path == "/" && call.media_type() == MEDIA_TYPE;
    if !known || call.header("x-amz-target") != Some(target) {
        return Err(Failure::new(
            400,
            "UnknownOperationException",
            "The requested operation is not recognized.",
        ));
    }
    let session = aws.caller(call, endpoint)?;
    let input: Value = serde_json::from_slice(&call.body).map_err(|_| {
        Failure::new(
            400,
            "SerializationException",
            "The request body is not valid JSON.",
        )
    })?;
    if is_public {
        aws.check_permission(&session, "ecr-public:GetAuthorizationToken", "*", 400)?;
        // The public registry hands out a bearer token of the account.
        aws.check_permission(&session, "sts:GetServiceBearerToken", "*", 400)?;
        let (token, expires_at) = issue(aws, &session, "public.ecr.aws".to_owned());
        return Ok(
            json!({"authorizationData": {"authorizationToken": token, "expiresAt": expires_at}}),
        );
    }
    aws.check_permission(&session, "ecr:GetAuthorizationToken", "*", 400)?;
    let accounts = accounts(&input, &session)?;
    let data: Vec<Value> = accounts
        .iter()
        .map(|account| private(aws, &session, endpoint, account))
        .collect();
    Ok(json!({"authorizationData": data}))
}

/// `registryIds`, deprecated but still read; without it the caller's own account.
fn accounts(input: &Value, session: &Session) -> Result<Vec<String>, Failure> {
    if at(input, &["registryIds"]).is_null() {
        return Ok(vec![session.principal.arn.account.clone()]);
    }
    let invalid = || {
        let message = "Invalid parameter at 'registryIds' failed to satisfy constraint: 'Member must satisfy regular expression pattern: [0-9]{12}'";
        Failure::new(400, "InvalidParameterException", message)
    };
    let ids: Vec<String> =
        serde_json::from_value(at(input, &["registryIds"]).clone()).map_err(|_| invalid())?;
    let is_account = |id: &String| id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit());
    if ids.is_empty() || ids.len() > 10 || !ids.iter().all(is_account) {
        return Err(invalid());
    }
    Ok(ids)
}

fn private(aws: &Aws, session: &Session, endpoint: &Endpoint, account: &str) -> Value {
    let host = format!(
        "{account}.dkr.ecr.{}.{}",
        endpoint.region, endpoint.partition.dns_suffix
    );
    let address = format!("https://{host}");
    let (token, expires_at) = issue(aws, session, host);
    json!({"authorizationToken": token, "expiresAt": expires_at, "proxyEndpoint": address})
}

/// A fresh password as the service encodes it, and its end in seconds of the epoch.
fn issue(aws: &Aws, session: &Session, registry: String) -> (String, f64) {
    // Real passwords are about this long.
    let password = random::base64(1_800);
    let expires_at = aws.now() + LIFE_SECONDS;
    let since_epoch = Duration::from_secs(u64::try_from(expires_at).unwrap_or_default());
    let login = RegistryLogin {
        principal: session.principal.session_arn(),
        registry,
        expires_at: SystemTime::UNIX_EPOCH + since_epoch,
    };
    let token = STANDARD.encode(format!("AWS:{password}"));
    aws.logins.0.with(|logins| logins.insert(password, login));
    (token, expires_at as f64)
}
