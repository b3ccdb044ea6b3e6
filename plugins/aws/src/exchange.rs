//! A ServiceAccount token for the keys of a role session: `AssumeRoleWithWebIdentity`.

use crate::arn::RoleArn;
use crate::fault;
use crate::identity::Terms;
use crate::session_name::SessionName;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use gatepass_sdk::{AwsKeys, Credential, Error, Exchange, Host, Material, Secret, Source, egress};
use serde::Deserialize;
use std::time::SystemTime;

/// The attribute that holds the account of the session.
pub(crate) const ACCOUNT: &str = "account";

/// The attribute that holds the ARN of the session.
const ASSUMED_ROLE: &str = "assumed-role-arn";

/// The version of the query protocol of STS.
pub(crate) const STS_VERSION: &str = "2011-06-15";

/// Exchanges the subject's token.
///
/// # Errors
///
/// `unsupported` for every other source; `invalid-configuration` if the request is wrong; what
/// [`fault`] makes of AWS's refusals; `unavailable` if its answer is no session.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    if exchange.source != Source::SubjectToken {
        return Err(Error::unsupported(
            "aws exchanges ServiceAccount tokens alone: the keys of the environment, of another role and of a signer are no source for it",
        ));
    }
    let role = RoleArn::parse("identity", &exchange.identity)?;
    let terms = Terms::parse(&exchange.request)?;
    let account = exchange.subject.service_account()?;
    let session = SessionName::of(account, terms.region.name());
    let doing = format!("assuming role {role} at {}", terms.sts_host);
    let response = host.send(request(&role, &terms, &session))?;
    if response.status() != 200 {
        return Err(fault::classify(&doing, &response));
    }
    let answer = response.xml::<Answer>().ok();
    answer
        .and_then(|answer| answer.outcome.credential(&role))
        .ok_or_else(|| unreadable(&doing, &response))
        .and_then(|credential| unexpired(&doing, credential, host.now()))
}

/// Unsigned, since the token is the proof; in a body, since tokens do not fit URLs.
fn request(role: &RoleArn, terms: &Terms, session: &SessionName) -> egress::Request {
    let mut builder = egress::Request::post(format!("https://{}/", terms.sts_host))
        .form("Action", "AssumeRoleWithWebIdentity")
        .form("Version", STS_VERSION)
        .form("RoleArn", role.as_str())
        .form("RoleSessionName", session.as_str());
    for (index, policy) in terms.parameters.policy_arns.iter().enumerate() {
        let name = format!("PolicyArns.member.{}.arn", index + 1);
        builder = builder.form(&name, policy.as_str());
    }
    if let Some(policy) = &terms.parameters.policy {
        builder = builder.form("Policy", policy);
    }
    if let Some(seconds) = terms.parameters.duration_seconds {
        builder = builder.form("DurationSeconds", &seconds.to_string());
    }
    builder.form_token("WebIdentityToken").build()
}

fn unreadable(doing: &str, response: &egress::Response) -> Error {
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

#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "AssumeRoleWithWebIdentityResult")]
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
        let expires_at = DateTime::from_str(&keys.expiration, Format::DateTimeWithOffset).ok()?;
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
        let credential = Credential::new(material, SystemTime::try_from(expires_at).ok()?)
            .attribute(ASSUMED_ROLE, arn)
            .attribute(ACCOUNT, role.account());
        Some(credential)
    }
}

#[cfg(test)]
mod tests;
