//! Keys from the agent of a container: that of ECS, that of EKS Pod Identity, and whatever else
//! speaks their protocol (AWS SDKs and Tools Reference Guide, "Container credential provider").

use super::address::{Address, is_path};
use super::{Ambient, Lookup, answer};
use crate::fault;
use gatepass_sdk::{Credential, Error, Secret, egress};
use std::time::Duration;

const RELATIVE_URI: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL_URI: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

pub(super) const VARIABLES: [&str; 4] = [RELATIVE_URI, FULL_URI, TOKEN, TOKEN_FILE];

pub(super) const FILES: [&str; 1] = ["$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];

/// The agent of ECS, and that of EKS Pod Identity under its two addresses.
pub(super) const HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// The agent is on the same machine (botocore, `ContainerMetadataFetcher`).
const TIMEOUT: Duration = Duration::from_secs(2);

/// Whether this source is configured.
pub(super) fn is_configured(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable(RELATIVE_URI).is_some() || variable(FULL_URI).is_some()
}

pub(super) fn load(ambient: &Ambient<'_>) -> Result<Lookup<Credential>, Error> {
    let (origin, path) = match (ambient.variable(RELATIVE_URI), ambient.variable(FULL_URI)) {
        (Some(path), _) => relative(&path)?,
        (None, Some(uri)) => full(&uri)?,
        (None, None) => {
            return Ok(Lookup::Absent(format!(
                "neither {RELATIVE_URI} nor {FULL_URI} is set"
            )));
        }
    };
    let builder = egress::Request::get(format!("{origin}{path}"))
        .header("accept", "application/json")
        .timeout(TIMEOUT);
    let request = match authorization(ambient)? {
        None => builder.build(),
        Some(token) => builder.header("authorization", token.expose()).build(),
    };
    let doing = format!("taking keys from the container's agent at {origin}");
    let response = ambient.host.send(request)?;
    if response.status() != 200 {
        return Err(fault::classify(&doing, &response));
    }
    answer::read(&doing, &response, ambient.now()).map(Lookup::Found)
}

/// A path on the agent of ECS: origin and path.
fn relative(path: &str) -> Result<(String, String), Error> {
    let fits = path.starts_with('/') && is_path(path);
    let [agent, ..] = HOSTS;
    fits.then(|| (format!("http://{agent}"), path.to_owned()))
        .ok_or_else(|| wrong(RELATIVE_URI, path, "must be a path, with a slash first"))
}

/// An agent elsewhere. Without TLS it must be on this machine or one of the two that AWS documents.
/// What the operator does not grant is refused by the host all the same.
fn full(uri: &str) -> Result<(String, String), Error> {
    let address = Address::read(uri)
        .filter(|address| {
            address.is_https() || address.is_loopback() || address.is_one_of(&HOSTS)
        })
        .ok_or_else(|| {
            wrong(
                FULL_URI,
                uri,
                "must be https, or http to this machine, 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]",
            )
        })?;
    Ok((address.origin(), address.rest().to_owned()))
}

/// The value may hold a password in front of the host, and is not shown then.
fn wrong(variable: &str, value: &str, rule: &str) -> Error {
    let shown = match value.contains('@') {
        true => String::new(),
        false => format!(" '{}'", value.escape_debug()),
    };
    Error::invalid_configuration(format!(
        "{variable}{shown} in the host's environment {rule}"
    ))
}

/// The header that proves who asks, as it stands: the file goes before the variable.
fn authorization(ambient: &Ambient<'_>) -> Result<Option<Secret>, Error> {
    let (name, token) = match (ambient.variable(TOKEN_FILE), ambient.variable(TOKEN)) {
        (Some(path), _) => (TOKEN_FILE, read(ambient, &path)?),
        (None, Some(token)) => (TOKEN, Secret::from(token)),
        (None, None) => return Ok(None),
    };
    let legal = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let fits = !token.expose().is_empty() && token.expose().bytes().all(legal);
    fits.then_some(Some(token)).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "the token of {name} in the host's environment is empty, or holds a line break or another character that no header can: correct it"
        ))
    })
}

fn read(ambient: &Ambient<'_>, path: &str) -> Result<Secret, Error> {
    let unreadable = |why: String| {
        Error::invalid_configuration(format!(
            "cannot read file '{}' of {TOKEN_FILE}: {why}; check the file, and that it is granted",
            path.escape_debug()
        ))
    };
    let bytes = ambient.host.file(path);
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    let mut token = String::from_utf8(bytes).map_err(|_| unreadable("it is not text".into()))?;
    // A file ends in a line break more often than not, and no token does.
    token.truncate(token.trim_end_matches(['\r', '\n']).len());
    Ok(Secret::from(token))
}
