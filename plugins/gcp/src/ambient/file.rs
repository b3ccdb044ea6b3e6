//! Credentials files: JSON whose `type` says what else is in it.

use super::authorized_user::AuthorizedUser;
use super::external_account::ExternalAccount;
use super::impersonated_account::ImpersonatedAccount;
use super::service_account::ServiceAccountKey;
use crate::identity::Plan;
use crate::parameter::UNIVERSE;
use crate::universe::Universe;
use gatepass_sdk::{Credential, Error, Host};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A credentials file, by its type.
#[derive(Debug)]
pub(crate) enum Configuration {
    ExternalAccount(Box<ExternalAccount>),
    AuthorizedUser(AuthorizedUser),
    ImpersonatedAccount(Box<ImpersonatedAccount>),
    ServiceAccount(Box<ServiceAccountKey>),
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl Configuration {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is no such JSON; `unsupported` if its type is not served.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, Error> {
        let kind = required(read::<Kind>(content)?.kind, "type")?;
        match kind.as_str() {
            "external_account" => read(content).map(Box::new).map(Self::ExternalAccount),
            "authorized_user" => read(content).map(Self::AuthorizedUser),
            "impersonated_service_account" => {
                read(content).map(Box::new).map(Self::ImpersonatedAccount)
            }
            "service_account" => read(content).map(Box::new).map(Self::ServiceAccount),
            other => Err(Error::unsupported(format!(
                "type '{}' is not served: external_account, service_account, authorized_user and impersonated_service_account are",
                other.escape_debug().take(100).collect::<String>()
            ))),
        }
    }

    /// What `type` says.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::ExternalAccount(_) => "external_account",
            Self::AuthorizedUser(_) => "authorized_user",
            Self::ImpersonatedAccount(_) => "impersonated_service_account",
            Self::ServiceAccount(_) => "service_account",
        }
    }

    /// Gets a token.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field that is wrong; what Google refuses.
    pub(crate) fn credential(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        match self {
            Self::ExternalAccount(account) => account.credential(plan, host),
            Self::AuthorizedUser(user) => user.credential(plan, host),
            Self::ImpersonatedAccount(account) => account.credential(plan, host),
            Self::ServiceAccount(key) => key.credential(plan, host),
        }
    }
}

/// Neither the text nor the parser's words are told, since both may hold a secret.
///
/// # Errors
///
/// `invalid-configuration` with the place of the error.
fn read<T: DeserializeOwned>(content: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(content).map_err(|error| {
        Error::invalid_configuration(format!(
            "the file of {} bytes is not the JSON of a credentials file (line {}, column {})",
            content.len(),
            error.line(),
            error.column()
        ))
    })
}

/// A field that must be there.
///
/// # Errors
///
/// `invalid-configuration` naming it.
pub(crate) fn required<T>(value: Option<T>, name: &str) -> Result<T, Error> {
    value.ok_or_else(|| Error::invalid_configuration(format!("the file lacks the field {name}")))
}

/// Refuses a file of another universe than the request's: a token is for one alone.
///
/// # Errors
///
/// `invalid-configuration` naming both.
pub(crate) fn check_universe(domain: Option<&str>, plan: &Plan) -> Result<(), Error> {
    let universe = match domain {
        None | Some("") => Universe::default(),
        Some(domain) => Universe::parse("universe_domain", domain)?,
    };
    if universe == plan.parameters.universe {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "universe_domain '{universe}' of the file is not that of the request, '{}': set parameter {UNIVERSE} to it",
        plan.parameters.universe
    )))
}
