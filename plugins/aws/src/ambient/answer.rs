//! The keys in an answer of a metadata service.

use crate::arn::is_account;
use crate::exchange::{ACCOUNT, moment, unexpired};
use gatepass_sdk::egress::Response;
use gatepass_sdk::{AwsKeys, Credential, Error, Material, Secret};
use serde::Deserialize;
use std::time::SystemTime;

/// What containers and instances are answered; the instance's service adds a code.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    code: Option<String>,
    access_key_id: Option<String>,
    secret_access_key: Option<Secret>,
    token: Option<Secret>,
    expiration: Option<String>,
    account_id: Option<String>,
}

/// Reads keys. `doing` says what was being done.
///
/// # Errors
///
/// `denied` if the service says that the role cannot be had; `unavailable` if the answer is no
/// keys, or they have expired.
pub(super) fn read(doing: &str, response: &Response, now: SystemTime) -> Result<Credential, Error> {
    let answer: Answer = response
        .json()
        .map_err(|error| Error::unavailable(format!("{doing}: {error}")))?;
    if let Some(code) = answer.code.as_deref().filter(|code| *code != "Success") {
        let known = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let code = if known { code } else { "an unknown code" };
        return Err(Error::denied(format!(
            "{doing}: the service answered {code}: check the role of the instance and its trust policy"
        )));
    }
    let credential = answer.credential().ok_or_else(|| {
        Error::unavailable(format!("{doing}: the answer lacks keys or their expiry"))
    })?;
    unexpired(doing, credential, now)
}

impl Answer {
    fn credential(self) -> Option<Credential> {
        let filled = |secret: &Secret| !secret.expose().is_empty();
        let material = Material::Aws(AwsKeys {
            access_key_id: self.access_key_id.filter(|id| !id.is_empty())?,
            secret_access_key: self.secret_access_key.filter(filled)?,
            session_token: Some(self.token.filter(filled)?),
        });
        let credential = Credential::new(material, moment(&self.expiration?)?);
        Some(
            match self.account_id.filter(|account| is_account(account)) {
                None => credential,
                Some(account) => credential.attribute(ACCOUNT, account),
            },
        )
    }
}
