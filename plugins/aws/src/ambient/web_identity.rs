//! A token in a file, as the IRSA webhook of EKS mounts it, for the keys of a role.

use super::{Ambient, Lookup};
use crate::arn::RoleArn;
use crate::exchange::{Token, federate};
use crate::session_name::SessionName;
use crate::terms::require_partition;
use gatepass_sdk::{Credential, Error, Secret};

const TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
pub(super) const ROLE_ARN: &str = "AWS_ROLE_ARN";
const ROLE_SESSION_NAME: &str = "AWS_ROLE_SESSION_NAME";

pub(super) const VARIABLES: [&str; 3] = [TOKEN_FILE, ROLE_ARN, ROLE_SESSION_NAME];

/// Where the variable says, and where the webhook of EKS puts the token, for profiles that name
/// that file.
pub(super) const FILES: [&str; 2] = [
    "$AWS_WEB_IDENTITY_TOKEN_FILE",
    "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
];

/// Longest token that STS reads (`WebIdentityToken`).
const MAX_TOKEN: usize = 20_000;

/// A role that is assumed with the token of a file.
#[derive(Clone, Debug)]
pub(super) struct WebIdentity {
    pub(super) token_file: String,
    pub(super) role: RoleArn,
    pub(super) session_name: Option<SessionName>,
    pub(super) duration_seconds: Option<u32>,
}

/// Whether this source is configured.
pub(super) fn is_configured(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable(TOKEN_FILE).is_some()
}

pub(super) fn load(ambient: &Ambient<'_>) -> Result<Lookup<Credential>, Error> {
    let Some(token_file) = ambient.variable(TOKEN_FILE) else {
        return Ok(Lookup::Absent(format!("{TOKEN_FILE} is not set")));
    };
    let role = ambient.variable(ROLE_ARN).ok_or_else(|| {
        Error::invalid_configuration(format!(
            "{TOKEN_FILE} is set in the host's environment and {ROLE_ARN} is not: set both or neither"
        ))
    })?;
    let name = ambient.variable(ROLE_SESSION_NAME);
    let identity = WebIdentity {
        token_file,
        role: RoleArn::parse(ROLE_ARN, &role)?,
        session_name: name
            .map(|name| SessionName::parse(ROLE_SESSION_NAME, &name))
            .transpose()?,
        duration_seconds: None,
    };
    identity.assume(ambient).map(Lookup::Found)
}

impl WebIdentity {
    /// Reads the file afresh, since the token in it is replaced before it expires, and assumes the
    /// role.
    pub(super) fn assume(&self, ambient: &Ambient<'_>) -> Result<Credential, Error> {
        let terms = ambient.terms;
        let role = &self.role;
        require_partition("role", role.as_str(), role.partition(), &terms.region)?;
        let usual = SessionName::of_process(terms.region.name());
        let session_name = self.session_name.as_ref().unwrap_or(&usual);
        let mut assumption = terms.assumption(role, session_name);
        assumption.duration_seconds = self.duration_seconds;
        let token = Token::Own(self.token(ambient)?);
        federate(&assumption, &token, terms, ambient.host)
    }

    /// The token, without the line break that editors and shells leave at its end, which STS would
    /// take for a part of it.
    fn token(&self, ambient: &Ambient<'_>) -> Result<Secret, Error> {
        let bytes = ambient.host.file(&self.token_file);
        let bytes = bytes.map_err(|error| unreadable(&self.token_file, &error.to_string()))?;
        let text = String::from_utf8(bytes);
        let text = text.map(Secret::from);
        let text = text.map_err(|_| unreadable(&self.token_file, "it is not text"))?;
        let token = text.expose().trim();
        let fits = (1..=MAX_TOKEN).contains(&token.len());
        let plain = token.bytes().all(|byte| byte.is_ascii_graphic());
        (fits && plain).then(|| token.into()).ok_or_else(|| {
            let rule = format!("it must hold one token of at most {MAX_TOKEN} characters");
            unreadable(&self.token_file, &rule)
        })
    }
}

fn unreadable(path: &str, why: &str) -> Error {
    Error::invalid_configuration(format!(
        "cannot take the host's web identity token from file '{}': {why}; check the file, and that it is granted",
        path.escape_debug()
    ))
}
