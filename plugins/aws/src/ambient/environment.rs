//! Keys in environment variables.

use super::{Ambient, Lookup, endless};
use crate::exchange::{moment, unexpired};
use gatepass_sdk::{AwsKeys, Credential, Error, Material, Secret};

const ACCESS_KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET_ACCESS_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// Written by `aws configure export-credentials --format env`.
const EXPIRATION: &str = "AWS_CREDENTIAL_EXPIRATION";

pub(super) const VARIABLES: [&str; 4] =
    [ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN, EXPIRATION];

/// Whether this source is configured.
pub(super) fn is_configured(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable(ACCESS_KEY_ID).is_some() || variable(SECRET_ACCESS_KEY).is_some()
}

pub(super) fn load(ambient: &Ambient<'_>) -> Result<Lookup<Credential>, Error> {
    let id = ambient.variable(ACCESS_KEY_ID);
    let secret = ambient.variable(SECRET_ACCESS_KEY);
    let keys = match (id, secret) {
        (Some(access_key_id), Some(secret_access_key)) => AwsKeys {
            access_key_id,
            secret_access_key: secret_access_key.into(),
            session_token: ambient.variable(SESSION_TOKEN).map(Secret::from),
        },
        (None, None) => return Ok(Lookup::Absent(format!("{ACCESS_KEY_ID} is not set"))),
        (Some(_), None) => return Err(half(ACCESS_KEY_ID, SECRET_ACCESS_KEY)),
        (None, Some(_)) => return Err(half(SECRET_ACCESS_KEY, ACCESS_KEY_ID)),
    };
    let credential = match ambient.variable(EXPIRATION) {
        None => endless(keys, ambient.now()),
        Some(text) => expiring(keys, &text, ambient)?,
    };
    Ok(Lookup::Found(credential))
}

fn half(set: &str, unset: &str) -> Error {
    Error::invalid_configuration(format!(
        "{set} is set in the host's environment and {unset} is not: set both or neither"
    ))
}

fn expiring(keys: AwsKeys, text: &str, ambient: &Ambient<'_>) -> Result<Credential, Error> {
    let expiry = moment(text).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "{EXPIRATION} '{}' in the host's environment must be a time, 2026-01-01T00:00:00Z say",
            text.escape_debug()
        ))
    })?;
    let credential = Credential::new(Material::Aws(keys), expiry);
    unexpired(
        "taking the keys of the environment",
        credential,
        ambient.now(),
    )
}
