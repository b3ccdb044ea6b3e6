//! Who signed a request: the signature recomputed, the session looked up, the clocks compared.

use super::endpoint::Service;
use super::failure::{Failure, Protocol};
use super::identity::{Identities, Session};
use super::signature::{Presented, Unreadable, timestamp};
use crate::call::Call;

/// AWS accepts clocks that differ by five minutes.
const SKEW_SECONDS: i64 = 5 * 60;
/// A presigned STS request lives 15 minutes whatever `X-Amz-Expires` says.
const PRESIGNED_SECONDS: i64 = 15 * 60;

const MISMATCH: &str = "The request signature we calculated does not match the signature you provided. \
                        Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallerError {
    Missing,
    Incomplete(&'static str),
    UnknownKey,
    ExpiredSession,
    /// The signature is wrong, or not for this service, region or time.
    Mismatch(String),
}

/// Where and when a signature must hold.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) service: Service,
    pub(crate) region: &'a str,
    pub(crate) now: i64,
}

/// The session whose key signed the call.
pub(crate) fn authenticate(
    call: &Call,
    scope: &Scope<'_>,
    identities: &Identities,
) -> Result<Session, CallerError> {
    let presented = Presented::read(call).map_err(|unreadable| match unreadable {
        Unreadable::Missing => CallerError::Missing,
        Unreadable::Incomplete(part) => CallerError::Incomplete(part),
    })?;
    let session = identities
        .session(&presented.access_key_id)
        .ok_or(CallerError::UnknownKey)?;
    if session.key.session_token != presented.session_token {
        return Err(CallerError::UnknownKey);
    }
    check_scope(&presented, scope)?;
    check_time(&presented, scope.now)?;
    if !presented.is_proven_by(call, &session.key.secret_access_key) {
        return Err(CallerError::Mismatch(MISMATCH.to_owned()));
    }
    if session
        .expires_at
        .is_some_and(|expires_at| expires_at <= scope.now)
    {
        return Err(CallerError::ExpiredSession);
    }
    Ok(session)
}

fn check_scope(presented: &Presented, scope: &Scope<'_>) -> Result<(), CallerError> {
    if presented.region != scope.region {
        let message = "Credential should be scoped to a valid region.".to_owned();
        return Err(CallerError::Mismatch(message));
    }
    let service = scope.service.signing_name();
    if presented.service != service {
        let message = format!("Credential should be scoped to correct service: '{service}'.");
        return Err(CallerError::Mismatch(message));
    }
    Ok(())
}

fn check_time(presented: &Presented, now: i64) -> Result<(), CallerError> {
    let life = if presented.is_presigned {
        PRESIGNED_SECONDS
    } else {
        SKEW_SECONDS
    };
    let signed = &presented.timestamp;
    if presented.signed_at + life < now {
        let (oldest, now) = (timestamp(now - life), timestamp(now));
        let message = format!(
            "Signature expired: {signed} is now earlier than {oldest} ({now} - {} min.)",
            life / 60
        );
        return Err(CallerError::Mismatch(message));
    }
    if presented.signed_at > now + SKEW_SECONDS {
        let (latest, now) = (timestamp(now + SKEW_SECONDS), timestamp(now));
        let message = format!(
            "Signature not yet current: {signed} is still later than {latest} ({now} + 5 min.)"
        );
        return Err(CallerError::Mismatch(message));
    }
    Ok(())
}

impl CallerError {
    /// The error in the words of a protocol: the query protocol has names of its own.
    pub(crate) fn failure(&self, protocol: Protocol) -> Failure {
        let query = protocol == Protocol::Query;
        let status = if protocol == Protocol::Json { 400 } else { 403 };
        let named = |in_query: &str, elsewhere: &str, message: &str| {
            Failure::new(status, if query { in_query } else { elsewhere }, message)
        };
        match self {
            Self::Missing => named(
                "MissingAuthenticationToken",
                "MissingAuthenticationTokenException",
                "Request is missing Authentication Token",
            ),
            Self::Incomplete(part) => named(
                "IncompleteSignature",
                "IncompleteSignatureException",
                &format!("The request signature is incomplete: '{part}' is missing or malformed."),
            ),
            Self::UnknownKey => named(
                "InvalidClientTokenId",
                "UnrecognizedClientException",
                "The security token included in the request is invalid.",
            ),
            Self::ExpiredSession => named(
                "ExpiredToken",
                "ExpiredTokenException",
                "The security token included in the request is expired",
            ),
            Self::Mismatch(message) => named(
                "SignatureDoesNotMatch",
                "InvalidSignatureException",
                message,
            ),
        }
    }
}
