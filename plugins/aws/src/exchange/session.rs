//! The session in an answer of STS.

use super::Assumption;
use crate::arn::RoleArn;
use crate::fault;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use gatepass_sdk::egress::Response;
use gatepass_sdk::{AwsKeys, Credential, Error, Material, Secret};
use serde::Deserialize;
use std::time::SystemTime;

/// The attribute that holds the account of the session.
pub(crate) const ACCOUNT: &str = "account";

/// The attribute that holds the ARN of the session.
const ASSUMED_ROLE: &str = "assumed-role-arn";

/// Reads the answer to either way of assuming a role. `doing` says what was being done.
///
/// # Errors
///
/// What [`fault`] makes of a refusal; `unavailable` if the answer is no session of the role, or
/// one that has expired.
pub(super) fn read(
    doing: &str,
    assumption: &Assumption<'_>,
    response: &Response,
    now: SystemTime,
) -> Result<Credential, Error> {
    if response.status() != 200 {
        return Err(fault::classify(doing, response));
    }
    let answer = response.xml::<Answer>().ok();
    answer
        .and_then(|answer| answer.outcome.credential(assumption.role))
        .ok_or_else(|| unreadable(doing, response))
        .and_then(|credential| unexpired(doing, credential, now))
}

fn unreadable(doing: &str, response: &Response) -> Error {
    Error::unavailable(format!(
        "{doing}: the answer of {} bytes is cut off, or is not a session of the role",
        response.body().len()
    ))
}

/// Refuses a credential that is of no use any more.
///
/// # Errors
///
/// `unavailable` if it has expired.
pub(crate) fn unexpired(
    doing: &str,
    credential: Credential,
    now: SystemTime,
) -> Result<Credential, Error> {
    if credential.expires_at.is_some_and(|expiry| expiry > now) {
        return Ok(credential);
    }
    Err(Error::unavailable(format!(
        "{doing}: what AWS answered has already expired: check the host's clock"
    )))
}

/// A moment as AWS writes it, `2026-01-01T00:00:00Z`; `None` if it is none.
pub(crate) fn moment(text: &str) -> Option<SystemTime> {
    let moment = DateTime::from_str(text, Format::DateTimeWithOffset).ok()?;
    SystemTime::try_from(moment).ok()
}

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "AssumeRoleWithWebIdentityResult", alias = "AssumeRoleResult")]
    outcome: Outcome,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outcome {
    credentials: SessionKeys,
    assumed_role_user: AssumedRoleUser,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SessionKeys {
    access_key_id: String,
    secret_access_key: Secret,
    session_token: Secret,
    expiration: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AssumedRoleUser {
    arn: String,
}

impl Outcome {
    /// `None` if a field is empty, the expiry is no time, or the session is of another account.
    fn credential(self, role: &RoleArn) -> Option<Credential> {
        let keys = self.credentials;
        let arn = self.assumed_role_user.arn;
        let secrets = [&keys.secret_access_key, &keys.session_token];
        let complete = !keys.access_key_id.is_empty()
            && secrets.iter().all(|secret| !secret.expose().is_empty());
        if !complete || !role.has_session(&arn) {
            return None;
        }
        let material = Material::Aws(AwsKeys {
            access_key_id: keys.access_key_id,
            secret_access_key: keys.secret_access_key,
            session_token: Some(keys.session_token),
        });
        let credential = Credential::new(material, moment(&keys.expiration)?)
            .attribute(ASSUMED_ROLE, arn)
            .attribute(ACCOUNT, role.account());
        Some(credential)
    }
}
