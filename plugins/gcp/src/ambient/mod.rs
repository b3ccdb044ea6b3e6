//! The credentials of the process itself: Google's Application Default Credentials
//! (<https://google.aip.dev/auth/4110>).
//!
//! The order is Google's: the file that a variable names, the file that `gcloud` writes, the
//! metadata server. The first that is there is used, and an error of it is the answer: to go on
//! would be to become somebody else.

mod authorized_user;
mod external_account;
mod file;
mod impersonated_account;
mod server;
mod service_account;
mod subject_token;

use crate::identity::Plan;
use file::Configuration;
use gatepass_sdk::{Credential, Error, Host, Level};
use std::io::ErrorKind;
use zeroize::Zeroizing;

pub(crate) use subject_token::WISHED_FILES as SUBJECT_TOKEN_FILES;
pub(crate) use subject_token::{FILE_VARIABLE as SUBJECT_TOKEN_VARIABLE, GITHUB};

/// Names a credentials file.
pub(crate) const FILE_VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Names the directory that `gcloud` writes under.
pub(crate) const HOME_VARIABLE: &str = "HOME";

/// The file that `gcloud auth application-default login` writes, under the home directory.
pub(crate) const GCLOUD_FILE: &str = ".config/gcloud/application_default_credentials.json";

/// The attribute that says where the credential comes from.
const SOURCE: &str = "source";

/// Where refresh tokens of users are exchanged, and what keys of service accounts sign.
pub(crate) const OAUTH_HOST: &str = "oauth2.googleapis.com";

/// Gets a token for the process.
///
/// # Errors
///
/// That of the first source that is there, with what those before it lack.
pub(crate) fn credential(plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
    let mut absent = Vec::new();
    let outcome = match find(host, &mut absent)? {
        Some(found) => from_file(&found, plan, host),
        None => server::token(plan, host)
            .map(|credential| credential.attribute(SOURCE, server::NAME))
            .map_err(|error| error.reworded(format!("{}: {error}", server::NAME))),
    };
    let credential = outcome.map_err(|error| explained(&error, &absent))?;
    host.log(Level::Info, &chosen(&credential, &absent));
    Ok(credential)
}

/// A credentials file.
struct Found {
    /// How people know it.
    name: String,
    content: Zeroizing<Vec<u8>>,
}

/// The first file that is there; `absent` gains the reasons why others are not.
///
/// # Errors
///
/// `invalid-configuration` if the variable names a file that cannot be read, or that of `gcloud` is
/// there and cannot be.
fn find(host: &dyn Host, absent: &mut Vec<String>) -> Result<Option<Found>, Error> {
    match variable(host, FILE_VARIABLE) {
        Some(path) => return named(&path, host).map(Some),
        None => absent.push(format!("{FILE_VARIABLE} is not set or not granted")),
    }
    let Some(home) = variable(host, HOME_VARIABLE) else {
        absent.push(format!(
            "gcloud's file is unknown, since {HOME_VARIABLE} is not set or not granted"
        ));
        return Ok(None);
    };
    let path = format!("{}/{GCLOUD_FILE}", home.trim_end_matches('/'));
    match host.file(&path) {
        Ok(content) => Ok(Some(Found {
            name: "gcloud's file".into(),
            content: Zeroizing::new(content),
        })),
        Err(error) if is_absent(error.kind()) => {
            let kind = error.kind();
            absent.push(format!("gcloud's file {path} cannot be read: {kind}"));
            Ok(None)
        }
        Err(error) => Err(Error::invalid_configuration(format!(
            "gcloud's file '{}' is there and cannot be read: {}: make it readable, remove it or grant it no more",
            path.escape_debug(),
            error.kind()
        ))),
    }
}

/// Whether a file is not there, or not granted.
fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::PermissionDenied)
}

fn variable(host: &dyn Host, name: &str) -> Option<String> {
    host.variable(name).filter(|value| !value.is_empty())
}

fn named(path: &str, host: &dyn Host) -> Result<Found, Error> {
    let content = host.file(path).map_err(|error| {
        Error::invalid_configuration(format!(
            "{FILE_VARIABLE} names '{}', which cannot be read: {}: grant the file to this plugin, correct the path or unset the variable",
            path.escape_debug(),
            error.kind()
        ))
    })?;
    Ok(Found {
        name: FILE_VARIABLE.into(),
        content: Zeroizing::new(content),
    })
}

fn from_file(found: &Found, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
    let name = &found.name;
    let located = |error: Error| error.reworded(format!("{name}: {error}"));
    let configuration = Configuration::parse(&found.content).map_err(located)?;
    let kind = configuration.kind();
    let credential = configuration.credential(plan, host).map_err(located)?;
    Ok(credential.attribute(SOURCE, format!("{name} ({kind})")))
}

fn explained(error: &Error, absent: &[String]) -> Error {
    let mut message = error.message().to_owned();
    if !absent.is_empty() {
        message.push_str(&format!("; before it: {}", absent.join("; ")));
    }
    error.reworded(message)
}

fn chosen(credential: &Credential, absent: &[String]) -> String {
    let source = credential
        .attributes
        .iter()
        .find(|(name, _)| name == SOURCE)
        .map_or("", |(_, value)| value.as_str());
    let mut line = format!("application default credentials come from {source}");
    if !absent.is_empty() {
        line.push_str(&format!("; not from others: {}", absent.join("; ")));
    }
    line
}

#[cfg(test)]
mod tests;
