//! IAM Service Account Credentials: an access token of a service account for whoever may act as it.

use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Google;
use super::access::{Access, CLOUD_PLATFORM, IAM, is_scope};
use super::account::ServiceAccount;
use super::failure::{Failure, Protocol};
use super::policy::{GET_ACCESS_TOKEN, IMPLICIT_DELEGATION, Resource};
use super::principal::Principal;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;

/// Without a lifetime, and at most without the organisation's leave.
const LIFE_SECONDS: i64 = 3_600;
/// With `constraints/iam.allowServiceAccountCredentialLifetimeExtension` for the account.
const LONGEST_SECONDS: i64 = 43_200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Clients send null for none, as protobuf's JSON allows.
    delegates: Option<Vec<String>>,
    scope: Option<Vec<String>>,
    lifetime: Option<String>,
}

pub(crate) fn answer(google: &Google, call: &Call) -> Answer {
    match generate(google, call) {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => failure.answer(Protocol::Api),
    }
}

fn generate(google: &Google, call: &Call) -> Result<Value, Failure> {
    let segments = call.segments();
    let name = match segments.as_slice() {
        [version, projects, project, accounts, name]
            if version == "v1"
                && projects == "projects"
                && accounts == "serviceAccounts"
                && call.method == Method::POST =>
        {
            name.strip_suffix(":generateAccessToken")
                .map(|name| (project, name))
        }
        _ => None,
    };
    let (project, name) = name.ok_or_else(Failure::no_method)?;
    let access = google.tokens.caller(call, google.now())?;
    if !access.has_scope(&[CLOUD_PLATFORM, IAM]) {
        return Err(Failure::scope_insufficient());
    }
    if project != "-" {
        let message = "The `-` wildcard character is required as the project; replacing it with a project ID is invalid.";
        return Err(Failure::invalid_argument(message));
    }
    let request = read(call)?;
    let account = find(google, name)?;
    let scopes = scopes(&request)?;
    let seconds = google.lifetime(&account, request.lifetime.as_deref())?;
    let delegates = request.delegates.unwrap_or_default();
    check(google, access.principal, &delegates, &account)?;
    let expires_at = google.now() + seconds;
    let token = google.tokens.issue(Access {
        principal: account.principal(),
        scopes,
        expires_at,
    });
    Ok(json!({"accessToken": token, "expireTime": rfc3339(expires_at)}))
}

fn read(call: &Call) -> Result<Request, Failure> {
    serde_json::from_slice(&call.body).map_err(|error| {
        Failure::invalid_argument(format!("Invalid JSON payload received. {error}"))
    })
}

fn find(google: &Google, name: &str) -> Result<ServiceAccount, Failure> {
    google.accounts.find(name).ok_or_else(|| {
        let message = format!("Not found; Gaia id not found for email {name}");
        Failure::new(404, "NOT_FOUND", message)
    })
}

fn scopes(request: &Request) -> Result<Vec<String>, Failure> {
    let scopes = request.scope.clone().unwrap_or_default();
    if scopes.is_empty() {
        let message = "Request must contain a scope: at least one value is required.";
        return Err(Failure::invalid_argument(message));
    }
    match scopes.iter().find(|scope| !is_scope(scope)) {
        None => Ok(scopes),
        Some(scope) => Err(Failure::invalid_argument(format!(
            "Invalid OAuth scope: {scope:?}"
        ))),
    }
}

/// Along the chain each may delegate by the next, and the last may act as the account.
fn check(
    google: &Google,
    caller: Principal,
    delegates: &[String],
    account: &ServiceAccount,
) -> Result<(), Failure> {
    let mut acting = caller;
    for delegate in delegates {
        let name = delegate
            .strip_prefix("projects/-/serviceAccounts/")
            .ok_or_else(|| {
                let message = format!(
                    "Invalid delegate {delegate:?}: it must have the form projects/-/serviceAccounts/{{ACCOUNT_EMAIL_OR_UNIQUEID}}"
                );
                Failure::invalid_argument(message)
            })?;
        let delegate = find(google, name)?;
        permit(google, &acting, IMPLICIT_DELEGATION, &delegate)?;
        acting = delegate.principal();
    }
    permit(google, &acting, GET_ACCESS_TOKEN, account)
}

fn permit(
    google: &Google,
    principal: &Principal,
    permission: &str,
    account: &ServiceAccount,
) -> Result<(), Failure> {
    let resource = Resource::ServiceAccount(account.email.clone());
    if google.policies.permits(principal, permission, &resource) {
        return Ok(());
    }
    let message = format!("Permission '{permission}' denied on resource (or it may not exist).");
    Err(Failure::permission_denied(permission, message))
}

impl Google {
    /// The seconds of a lifetime: a protobuf duration, such as `3600s`.
    fn lifetime(&self, account: &ServiceAccount, asked: Option<&str>) -> Result<i64, Failure> {
        let Some(asked) = asked else {
            return Ok(LIFE_SECONDS);
        };
        let seconds = asked.strip_suffix('s').and_then(whole_seconds);
        let seconds = seconds.ok_or_else(|| {
            Failure::invalid_argument(format!(
                "Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), {asked:?}"
            ))
        })?;
        let email = account.email.to_string();
        let may_extend = self.extended.with(|extended| extended.contains(&email));
        let longest = if may_extend {
            LONGEST_SECONDS
        } else {
            LIFE_SECONDS
        };
        if (1..=longest).contains(&seconds) {
            return Ok(seconds);
        }
        let message = format!(
            "The access token lifetime must be between 1 and {longest} seconds; the organization policy constraints/iam.allowServiceAccountCredentialLifetimeExtension allows up to {LONGEST_SECONDS} seconds"
        );
        Err(Failure::invalid_argument(message))
    }
}

/// Digits, and as many as nine behind a point, which are dropped.
fn whole_seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let sound =
        digits(whole.strip_prefix('-').unwrap_or(whole)) && digits(fraction) && fraction.len() <= 9;
    sound.then(|| whole.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::whole_seconds;

    #[test]
    fn a_duration_is_decimal_seconds() {
        for (text, seconds) in [
            ("3600", Some(3_600)),
            ("0.5", Some(0)),
            ("-1", Some(-1)),
            ("", None),
            ("1.", None),
            ("1.0000000000", None),
            ("+1", None),
            ("1e3", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(whole_seconds(text), seconds, "{text}");
        }
    }
}
