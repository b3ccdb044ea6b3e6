//! The keys of one role, or of a user, for those of another role: `AssumeRole`.

use super::Assumption;
use super::fields::Fields;
use super::session;
use crate::parameter::Tag;
use crate::session_name::SessionName;
use crate::terms::Terms;
use gatepass_sdk::{AwsKeys, Credential, Error, Host};

/// Longest session, in seconds, that a role session gets of another role, whatever that role
/// allows (IAM User Guide, "role chaining").
const LONGEST_CHAINED: u32 = 3_600;

/// What `AssumeRole` takes beside what every session takes.
#[derive(Default)]
pub(crate) struct Extras<'a> {
    pub(crate) external_id: Option<&'a str>,
    pub(crate) source_identity: Option<&'a SessionName>,
    pub(crate) tags: &'a [Tag],
    pub(crate) transitive_tags: &'a [String],
}

/// Assumes a role with `keys`.
///
/// # Errors
///
/// `invalid-configuration` if keys of a session ask for more than an hour; what
/// [`fault`](crate::fault) makes of AWS's refusals; `unavailable` if its answer is no session.
pub(crate) fn assume(
    assumption: &Assumption<'_>,
    extras: &Extras<'_>,
    keys: &AwsKeys,
    terms: &Terms,
    host: &dyn Host,
) -> Result<Credential, Error> {
    require_short(assumption, keys)?;
    let tags = extras.tags;
    let source_identity = extras.source_identity.map(SessionName::as_str);
    let fields = Fields::of("AssumeRole")
        .session(assumption)
        .optional("ExternalId", extras.external_id)
        .optional("SourceIdentity", source_identity)
        .list("Tags", ".Key", tags.iter().map(|tag| tag.key.as_str()))
        .list("Tags", ".Value", tags.iter().map(|tag| tag.value.as_str()))
        .list(
            "TransitiveTagKeys",
            "",
            extras.transitive_tags.iter().map(String::as_str),
        );
    let request = terms.sign(keys, &fields.encode(), host.now())?;
    let doing = format!(
        "assuming role {} at {} with keys {}",
        assumption.role, terms.sts_host, keys.access_key_id
    );
    let response = host.send(request)?;
    session::read(&doing, assumption, &response, host.now())
}

/// Says before the call what STS would refuse. Keys with a session token are taken for a role's:
/// those of `GetSessionToken`, which are a user's, are held to the hour too.
fn require_short(assumption: &Assumption<'_>, keys: &AwsKeys) -> Result<(), Error> {
    match assumption.duration_seconds {
        Some(seconds) if keys.session_token.is_some() && seconds > LONGEST_CHAINED => {
            Err(Error::invalid_configuration(format!(
                "a session of {seconds} seconds was asked of role {}, and keys that are a session themselves get at most {LONGEST_CHAINED}: lower or remove duration-seconds",
                assumption.role
            )))
        }
        _ => Ok(()),
    }
}
