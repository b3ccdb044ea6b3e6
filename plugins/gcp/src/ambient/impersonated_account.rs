//! A service account that another credential impersonates: `impersonated_service_account`.

use super::external_account::impersonated;
use super::file::{Configuration, check_universe, required};
use crate::email::Email;
use crate::exchange::Impersonation;
use crate::identity::Plan;
use crate::scope::{CLOUD_PLATFORM, Scopes};
use crate::token;
use gatepass_sdk::{Credential, Error, Host};
use serde::Deserialize;
use serde_json::Value;

/// The file's fields.
#[derive(Deserialize)]
pub(crate) struct ImpersonatedAccount {
    service_account_impersonation_url: Option<String>,
    source_credentials: Option<Value>,
    delegates: Option<Vec<String>>,
    universe_domain: Option<String>,
}

impl std::fmt::Debug for ImpersonatedAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ImpersonatedAccount")
            .finish_non_exhaustive()
    }
}

impl ImpersonatedAccount {
    /// Gets a token by the credentials in the file, and impersonates with it.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field that is wrong; `unsupported` if the credentials in
    /// the file are impersonated themselves; what Google refuses.
    pub(crate) fn credential(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        check_universe(self.universe_domain.as_deref(), plan)?;
        let universe = &plan.parameters.universe;
        let url = required(
            self.service_account_impersonation_url.as_deref(),
            "service_account_impersonation_url",
        )?;
        let impersonation = Impersonation {
            universe,
            account: &impersonated(url, universe)?,
            scopes: plan.scopes.list(),
            lifetime_seconds: None,
            delegates: &self.delegates()?,
        };
        let caller = self.caller(plan, host)?;
        impersonation.with(token::bearer(&caller)?, host)
    }

    fn delegates(&self) -> Result<Vec<Email>, Error> {
        self.delegates
            .iter()
            .flatten()
            .map(|delegate| {
                let bare = delegate.strip_prefix("projects/-/serviceAccounts/");
                Email::parse("delegates:", bare.unwrap_or(delegate))
            })
            .collect()
    }

    fn caller(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        let source = required(self.source_credentials.as_ref(), "source_credentials")?;
        let source = Configuration::parse(source.to_string().as_bytes())?;
        if let Configuration::ImpersonatedAccount(_) = source {
            return Err(Error::unsupported(
                "source_credentials of type impersonated_service_account are not served: write the accounts in between as delegates",
            ));
        }
        let scopes = Scopes::parse(&[CLOUD_PLATFORM.to_owned()])?;
        let plan = Plan {
            scopes,
            ..plan.clone()
        };
        source.credential(&plan, host)
    }
}
