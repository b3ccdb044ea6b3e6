//! A token for the keys of a role session: `AssumeRoleWithWebIdentity`.

use super::Assumption;
use super::fields::Fields;
use super::session;
use crate::terms::Terms;
use gatepass_sdk::{Credential, Error, Host, Secret, egress};

/// The field that holds the token.
const TOKEN: &str = "WebIdentityToken";

/// The token that proves who asks.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    /// That of the request's subject, which the host holds.
    Subject,
    /// One that this process was given.
    Own(Secret),
}

/// Exchanges a token. Unsigned, since the token is the proof; in a body, since tokens do not fit
/// URLs.
///
/// # Errors
///
/// What [`fault`](crate::fault) makes of AWS's refusals; `unavailable` if its answer is no
/// session.
pub(crate) fn federate(
    assumption: &Assumption<'_>,
    token: &Token,
    terms: &Terms,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let builder = Fields::of("AssumeRoleWithWebIdentity")
        .session(assumption)
        .form(egress::Request::post(format!(
            "https://{}/",
            terms.sts_host
        )));
    let request = match token {
        Token::Subject => builder.form_token(TOKEN),
        Token::Own(token) => builder.form(TOKEN, token.expose()),
    };
    let doing = format!("assuming role {} at {}", assumption.role, terms.sts_host);
    let response = host.send(request.build())?;
    session::read(&doing, assumption, &response, host.now())
}
