//! A user who logged in with `gcloud auth application-default login`: a refresh token.

use super::OAUTH_HOST;
use super::file::{check_universe, required};
use crate::fault::{self, Step};
use crate::identity::Plan;
use crate::token;
use gatepass_sdk::{Credential, Error, Host, Secret, egress};
use serde::Deserialize;

/// The file's fields.
#[derive(Debug, Deserialize)]
pub(crate) struct AuthorizedUser {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    refresh_token: Option<Secret>,
    universe_domain: Option<String>,
}

impl AuthorizedUser {
    /// Exchanges the refresh token (RFC 6749 §6), for the scopes that the caller chose. Without
    /// any, Google gives those that the user consented to, which the usual ones may exceed.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if a field is missing; `unsupported` in a universe without refresh
    /// tokens; what Google refuses.
    pub(crate) fn credential(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        check_universe(self.universe_domain.as_deref(), plan)?;
        if !plan.parameters.universe.is_public() {
            return Err(Error::unsupported(format!(
                "users of universe {} have no refresh tokens: use type external_account",
                plan.parameters.universe
            )));
        }
        let doing = format!("refreshing a user's token at {OAUTH_HOST}");
        let response = host
            .send(self.request(plan.scopes.chosen())?)
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() != 200 {
            return Err(fault::classify(Step::Refresh, &doing, &response));
        }
        token::of_oauth(&doing, &response, host.now())
    }

    fn request(&self, scopes: Option<&[String]>) -> Result<egress::Request, Error> {
        let client_secret = required(self.client_secret.as_ref(), "client_secret")?;
        let refresh_token = required(self.refresh_token.as_ref(), "refresh_token")?;
        let mut builder = egress::Request::post(format!("https://{OAUTH_HOST}/token"))
            .form("grant_type", "refresh_token")
            .form(
                "client_id",
                required(self.client_id.as_deref(), "client_id")?,
            )
            .form("client_secret", client_secret.expose())
            .form("refresh_token", refresh_token.expose());
        if let Some(scopes) = scopes {
            builder = builder.form("scope", &scopes.join(" "));
        }
        Ok(builder.build())
    }
}
