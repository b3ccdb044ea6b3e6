//! The job's request for its token.

use crate::identity;
use crate::token::Token;
use gatepass_sdk::{Authority, Credential, Error, Exchange, Host, Source, Subject, egress};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The variable that holds where the token is asked for. It is there if the workflow has
/// `permissions: id-token: write`.
pub(crate) const URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";

/// The variable that holds the token with which it is asked for.
pub(crate) const TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

/// Where the token is asked for; the first label names a region of GitHub's.
pub(crate) const HOSTS: &str = "https://*.actions.githubusercontent.com";

/// The host but for its first label.
const DOMAIN: &str = "actions.githubusercontent.com";

/// What stands for itself in a query (RFC 3986 §2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// What a job lacks without the permission.
const REMEDY: &str = "run in a GitHub Actions job with `permissions: id-token: write`, and let the operator grant both variables";

/// Asks for the job's token.
///
/// # Errors
///
/// `unsupported` for every other source or subject; `invalid-configuration` if the request or the
/// environment is wrong; what GitHub's refusals mean; `unavailable` if its answer is no token.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    if exchange.source != Source::Ambient || exchange.subject != Subject::Ambient {
        return Err(Error::unsupported(
            "github gives out the token of the job in which it runs, and nothing else",
        ));
    }
    let audience = identity::audience(&exchange.request)?;
    let url = url(&variable(host, URL)?, audience)?;
    let request = egress::Request::get(url)
        .header("accept", "application/json")
        .bearer(&variable(host, TOKEN)?)
        .build();
    let response = host.send(request)?;
    if response.status() != 200 {
        return Err(fault(&response));
    }
    let token = Token::read(response.json()?).ok_or_else(|| {
        Error::unavailable(format!(
            "asking GitHub for the job's token: the answer of {} bytes holds none",
            response.body().len()
        ))
    })?;
    check(&token, audience, host)?;
    Ok(Credential::bearer(token.text, token.expires_at)
        .attribute("issuer", token.issuer)
        .attribute("subject", token.subject)
        .attribute("audience", token.audience))
}

fn variable(host: &dyn Host, name: &str) -> Result<String, Error> {
    let value = host.variable(name).map(|value| value.trim().to_owned());
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        Error::invalid_configuration(format!("environment variable {name} is not set: {REMEDY}"))
    })
}

/// The URL has a query already, to which the audience is added. It is not shown in errors, since it
/// names the job.
fn url(base: &str, audience: Option<&str>) -> Result<String, Error> {
    let rest = base
        .strip_prefix("https://")
        .filter(|_| base.bytes().all(|byte| byte.is_ascii_graphic()) && !base.contains('#'));
    let host = rest.and_then(|rest| rest.split(['/', '?']).next());
    if !host.is_some_and(is_github) {
        return Err(Error::invalid_configuration(format!(
            "environment variable {URL} must be a URL at {HOSTS}: {REMEDY}"
        )));
    }
    let Some(audience) = audience else {
        return Ok(base.into());
    };
    let separator = if base.contains('?') { '&' } else { '?' };
    let audience = utf8_percent_encode(audience, UNRESERVED);
    Ok(format!("{base}{separator}audience={audience}"))
}

/// One label before the domain, and no port.
fn is_github(host: &str) -> bool {
    let labels = host.split_once('.');
    Authority::parse(host).is_some_and(|authority| authority.port().is_none())
        && labels.is_some_and(|(_, domain)| domain.eq_ignore_ascii_case(DOMAIN))
}

fn check(token: &Token, audience: Option<&str>, host: &dyn Host) -> Result<(), Error> {
    if audience.is_some_and(|audience| audience != token.audience) {
        return Err(Error::unavailable(
            "asking GitHub for the job's token: the answer is for another audience",
        ));
    }
    if token.expires_at <= host.now() {
        return Err(Error::unavailable(
            "asking GitHub for the job's token: it has already expired: check the runner's clock",
        ));
    }
    Ok(())
}

/// What a refusal means. GitHub's own client tries again what passes by itself, and so does the host.
fn fault(response: &egress::Response) -> Error {
    let status = response.status();
    let told = |why: &str| format!("asking GitHub for the job's token: status {status}: {why}");
    match status {
        429 => Error::throttled(told("too many requests")).retry_after(response.retry_after()),
        408 | 500.. => {
            Error::unavailable(told("a passing fault")).retry_after(response.retry_after())
        }
        401 => Error::denied(told(
            "the request token is not accepted: it is good only while the job runs",
        )),
        403 | 404 => Error::denied(told(REMEDY)),
        400 | 422 => Error::invalid_configuration(told("check the audience")),
        400..500 => Error::denied(told("GitHub refused")),
        _ => Error::unavailable(told(
            "that is not how GitHub answers: check the proxy on the way to it",
        )),
    }
}

#[cfg(test)]
mod tests;
