//! A token for the keys of a role session: `AssumeRoleWithWebIdentity`.

use super::Assumption;
use super::fields::Fields;
use super::session;
use crate::terms::Terms;
use gatepass_sdk::{Credential, Error, Host, egress};

/// The field that holds the token.
const TOKEN: &str = "WebIdentityToken";

/// Exchanges a token. Unsigned, since the token is the proof; in a body, since tokens do not fit
/// URLs.
///
/// # Errors
///
/// What [`fault`](crate::fault) makes of AWS's refusals; `unavailable` if its answer is no
/// session.
pub(crate) fn federate(
    assumption: &Assumption<'_>,
    terms: &Terms,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let builder = egress::Request::post(format!("https://{}/", terms.sts_host));
    let request = Fields::of("AssumeRoleWithWebIdentity")
        .session(assumption)
        .form(builder)
        .form_token(TOKEN);
    let doing = format!("assuming role {} at {}", assumption.role, terms.sts_host);
    let response = host.send(request.build())?;
    session::read(&doing, assumption, &response, host.now())
}
