//! What becomes the keys of a session: a ServiceAccount token, the environment, or other keys.

mod assume_role;
mod caller;
mod fields;
mod session;
mod web_identity;

pub(crate) use assume_role::{Extras, assume};
pub(crate) use fields::STS_VERSION;
pub(crate) use session::{ACCOUNT, moment, unexpired};
pub(crate) use web_identity::{Token, federate};

use crate::ambient;
use crate::arn::{PolicyArn, RoleArn};
use crate::parameter::{EXPECTED_ACCOUNT, Link};
use crate::session_name::SessionName;
use crate::sign::keys;
use crate::terms::Terms;
use gatepass_sdk::{Credential, Error, Exchange, Host, Source, Subject};

/// A session of a role, as STS is asked for it.
pub(crate) struct Assumption<'a> {
    pub(crate) role: &'a RoleArn,
    pub(crate) session_name: &'a SessionName,
    pub(crate) duration_seconds: Option<u32>,
    /// A JSON object that limits the session.
    pub(crate) policy: Option<&'a str>,
    /// Managed policies that limit the session.
    pub(crate) policy_arns: &'a [PolicyArn],
}

/// Gets the keys, and asks AWS whose they are where the request says whose they must be.
///
/// # Errors
///
/// `unsupported` for a signer; `invalid-configuration` if the request is wrong, or is a link where
/// none can be; `denied` if the keys are of another account; what [`fault`](crate::fault) makes of
/// AWS's refusals; `unavailable` if its answer is no session.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    let terms = Terms::parse(&exchange.request, &exchange.facts)?;
    let credential = match (&exchange.source, &terms.parameters.link) {
        (Source::SubjectToken, None) => of_account(exchange, &terms, host)?,
        (Source::Ambient, None) => ambient::credential(&terms, host)?,
        (Source::Credential(previous), Some(link)) => {
            let subject = &exchange.subject;
            of_link(subject, link, previous, &terms, host)?
        }
        (Source::Signer, _) => {
            return Err(Error::unsupported(
                "aws has no use for the host's signer: name a service account, or use the host's own keys",
            ));
        }
        (Source::SubjectToken | Source::Ambient, Some(_)) => {
            return Err(Error::invalid_configuration(
                "parameter role-arn makes a link of a chain, and a chain does not begin with it: move it into a link after the first",
            ));
        }
        (Source::Credential(_), None) => {
            return Err(Error::invalid_configuration(
                "a link of a chain needs the role to assume: set its parameter role-arn",
            ));
        }
    };
    match &terms.parameters.expected_account {
        None => Ok(credential),
        Some(account) => checked(credential, account, &terms, host),
    }
}

/// The session of the role that an account's annotation names.
fn of_account(exchange: &Exchange, terms: &Terms, host: &dyn Host) -> Result<Credential, Error> {
    let role = RoleArn::parse("identity", &exchange.identity)?;
    let account = exchange.subject.service_account()?;
    let session_name = SessionName::of(account, terms.region.name());
    let assumption = terms.assumption(&role, &session_name);
    federate(&assumption, &Token::Subject, terms, host)
}

/// The session of a link's role, for the keys of the link before.
fn of_link(
    subject: &Subject,
    link: &Link,
    previous: &Credential,
    terms: &Terms,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let usual = SessionName::of_subject(subject, terms.region.name());
    let session_name = link.session_name.as_ref().unwrap_or(&usual);
    let assumption = terms.assumption(&link.role, session_name);
    let extras = Extras {
        external_id: link.external_id.as_deref(),
        source_identity: link.source_identity.as_ref(),
        tags: &link.tags,
        transitive_tags: &link.transitive_tags,
    };
    assume(&assumption, &extras, keys(previous)?, terms, host)
}

/// The credential, if its keys are of the account.
fn checked(
    credential: Credential,
    expected: &str,
    terms: &Terms,
    host: &dyn Host,
) -> Result<Credential, Error> {
    let account = caller::account(keys(&credential)?, terms, host)?;
    if account != expected {
        return Err(Error::denied(format!(
            "AWS says that the keys are of account {account}, and parameter {EXPECTED_ACCOUNT} says {expected}: correct the role or the parameter"
        )));
    }
    let known = credential
        .attributes
        .iter()
        .any(|(name, _)| name == ACCOUNT);
    Ok(match known {
        true => credential,
        false => credential.attribute(ACCOUNT, account),
    })
}

#[cfg(test)]
mod tests;
