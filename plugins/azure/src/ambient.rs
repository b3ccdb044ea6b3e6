//! What the environment of the process holds: the first source that works.

use crate::certificate;
use crate::discover::{TENANT_VARIABLE, variable};
use crate::exchange::{Grant, Proof, SOURCE, endpoint};
use crate::identity::Terms;
use crate::identity_binding;
use crate::managed_identity::{self, CLIENT_VARIABLE, Trouble};
use crate::principal::{ClientId, Principal, Tenant};
use gatepass_sdk::{Credential, Error, ErrorCode, Host, Level, Secret};

/// A password of the application.
pub(crate) const SECRET_VARIABLE: &str = "AZURE_CLIENT_SECRET";

/// The file with the application's certificate and its key.
pub(crate) const CERTIFICATE_VARIABLE: &str = "AZURE_CLIENT_CERTIFICATE_PATH";

/// The file with the cluster's token for the pod.
pub(crate) const TOKEN_VARIABLE: &str = "AZURE_FEDERATED_TOKEN_FILE";

/// A source of the environment, in the order in which they are tried: what an operator sets by
/// hand goes before what a cluster sets, and that before what the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    ClientSecret,
    ClientCertificate,
    IdentityBinding,
    WorkloadIdentity,
    ManagedIdentity,
}

/// Why a source gave no token.
#[derive(Debug)]
enum Reason {
    /// It is not there: nothing was tried.
    Absent(String),
    Failed(Error),
}

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent(reason) => formatter.write_str(reason),
            Self::Failed(error) => error.fmt(formatter),
        }
    }
}

impl Source {
    const ALL: [Self; 5] = [
        Self::ClientSecret,
        Self::ClientCertificate,
        Self::IdentityBinding,
        Self::WorkloadIdentity,
        Self::ManagedIdentity,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ClientSecret => "client-secret",
            Self::ClientCertificate => "client-certificate",
            Self::IdentityBinding => "identity-binding",
            Self::WorkloadIdentity => "workload-identity",
            Self::ManagedIdentity => "managed-identity",
        }
    }

    fn attempt(self, terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
        match self {
            Self::ClientSecret => client_secret(terms, host),
            Self::ClientCertificate => client_certificate(terms, host),
            Self::IdentityBinding => identity_binding(terms, host),
            Self::WorkloadIdentity => workload_identity(terms, host),
            Self::ManagedIdentity => managed_identity(terms, host),
        }
    }
}

/// Tries every source and takes the first that works. The log says which it was, and why not
/// those before it.
///
/// # Errors
///
/// That of the source which comes nearest to a token, with the reason of each; a passing one is
/// nearer than a refusal, and a refusal nearer than a source that is not there.
pub(crate) fn credential(terms: &Terms, host: &dyn Host) -> Result<Credential, Error> {
    let mut passed = Vec::new();
    for source in Source::ALL {
        match source.attempt(terms, host) {
            Ok(credential) => {
                let chosen = format!("the token is of source {}{}", source.name(), told(&passed));
                host.log(Level::Info, &chosen);
                return Ok(credential.attribute(SOURCE, source.name()));
            }
            Err(reason) => passed.push((source, reason)),
        }
    }
    Err(exhausted(&passed))
}

/// `; SOURCE: REASON` for each.
fn told(passed: &[(Source, Reason)]) -> String {
    passed
        .iter()
        .map(|(source, reason)| format!("; {}: {reason}", source.name()))
        .collect()
}

fn exhausted(passed: &[(Source, Reason)]) -> Error {
    let message = format!(
        "no source of the environment gave a token of Azure{}",
        told(passed)
    );
    let failures = || {
        passed.iter().filter_map(|(_, reason)| match reason {
            Reason::Failed(error) => Some(error),
            Reason::Absent(_) => None,
        })
    };
    let passing = failures().find(|error| {
        matches!(
            error.code(),
            ErrorCode::NotYet | ErrorCode::Throttled | ErrorCode::Unavailable
        )
    });
    match passing.or_else(|| failures().next()) {
        Some(error) => like(error, message),
        // The metadata service may answer the next time: nothing else can.
        None => Error::unavailable(message),
    }
}

/// An error of the same kind, with another message.
fn like(error: &Error, message: String) -> Error {
    match error.code() {
        ErrorCode::InvalidConfiguration => Error::invalid_configuration(message),
        ErrorCode::Denied => Error::denied(message),
        ErrorCode::NotYet => Error::not_yet(message),
        ErrorCode::Throttled => Error::throttled(message),
        ErrorCode::Unavailable => Error::unavailable(message),
        ErrorCode::Unsupported => Error::unsupported(message),
        ErrorCode::NeedsFacts | ErrorCode::Internal => Error::internal(message),
    }
    .retry_after(error.wait())
}

/// The value of the variable without which a source is not there.
fn configured(name: &str, host: &dyn Host) -> Result<String, Reason> {
    variable(host, name).ok_or_else(|| Reason::Absent(format!("{name} is not set")))
}

/// Who the environment says that the process is.
fn principal(host: &dyn Host) -> Result<Principal, Error> {
    let needed = |name: &str| {
        variable(host, name).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{name} is not set: it is needed beside the others"
            ))
        })
    };
    Ok(Principal {
        tenant: Tenant::parse(TENANT_VARIABLE, &needed(TENANT_VARIABLE)?)?,
        client: ClientId::parse(CLIENT_VARIABLE, &needed(CLIENT_VARIABLE)?)?,
    })
}

fn client_secret(terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
    let secret = Secret::from(configured(SECRET_VARIABLE, host)?);
    let principal = principal(host)?;
    redeem(terms, &principal, Proof::Secret(&secret), host)
}

fn client_certificate(terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
    let path = configured(CERTIFICATE_VARIABLE, host)?;
    let principal = principal(host)?;
    let audience = endpoint(terms.authority.host(), &principal);
    let assertion = certificate::assertion(&path, &principal.client, &audience, host)?;
    redeem(terms, &principal, Proof::Assertion(&assertion), host)
}

fn identity_binding(terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
    let Some(proxy) = identity_binding::Proxy::discover(host)? else {
        let name = identity_binding::PROXY_VARIABLE;
        return Err(Reason::Absent(format!("{name} is not set")));
    };
    let (principal, token) = pod(host)?;
    let grant = Grant {
        principal: &principal,
        scope: &terms.scope,
        proof: Proof::Assertion(&token),
    };
    Ok(grant.redeem(&proxy.endpoint(&principal), host)?)
}

fn workload_identity(terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
    configured(TOKEN_VARIABLE, host)?;
    if variable(host, identity_binding::PROXY_VARIABLE).is_some() {
        return Err(Reason::Absent(format!(
            "{} is set, so that the cluster's token is for that proxy alone",
            identity_binding::PROXY_VARIABLE
        )));
    }
    let (principal, token) = pod(host)?;
    redeem(terms, &principal, Proof::Assertion(&token), host)
}

fn managed_identity(terms: &Terms, host: &dyn Host) -> Result<Credential, Reason> {
    managed_identity::credential(terms, host).map_err(|trouble| match trouble {
        Trouble::Absent(error) => Reason::Absent(format!(
            "the metadata service {} does not answer ({error}): only machines of Azure have one",
            managed_identity::HOST
        )),
        Trouble::Failed(error) => Reason::Failed(error),
    })
}

fn redeem(
    terms: &Terms,
    principal: &Principal,
    proof: Proof<'_>,
    host: &dyn Host,
) -> Result<Credential, Reason> {
    let grant = Grant {
        principal,
        scope: &terms.scope,
        proof,
    };
    Ok(grant.redeem(&endpoint(terms.authority.host(), principal), host)?)
}

/// Who the pod is, and the cluster's token for it. The file's end of line is no part of a token.
fn pod(host: &dyn Host) -> Result<(Principal, Secret), Reason> {
    let path = configured(TOKEN_VARIABLE, host)?;
    let principal = principal(host)?;
    let wrong = |what: &str| {
        Error::invalid_configuration(format!(
            "{TOKEN_VARIABLE}: the file '{}' {what}",
            path.escape_debug()
        ))
    };
    let content = host.file(&path).map_err(|error| {
        wrong(&format!(
            "cannot be read ({}): is it granted?",
            error.kind()
        ))
    })?;
    let content = zeroize::Zeroizing::new(content);
    let token = std::str::from_utf8(&content)
        .map(str::trim)
        .ok()
        .filter(|text| is_jwt(text))
        .ok_or_else(|| {
            wrong("does not hold a token: three parts of base64url with dots between")
        })?;
    Ok((principal, Secret::from(token)))
}

/// Whether a text has the form of a signed JWT (RFC 7515 §3.1).
fn is_jwt(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    text.split('.').count() == 3 && text.split('.').all(part)
}

#[cfg(test)]
mod tests;
