//! What the environment of the process holds: a token of the first source that is there.
//!
//! A source that is absent is passed over, also where that shows only when it is tried: a variable
//! or a file that is missing or not granted, a metadata service that does not answer. One that is
//! there and is wrong, or is refused, or has a passing fault, is the error, and nothing after it is
//! tried. To go on would be to become somebody else: the node, say, because Entra did not answer
//! the application that the operator named.

use crate::certificate;
use crate::discover::{TENANT_VARIABLE, variable};
use crate::exchange::{Grant, Proof, SOURCE, endpoint};
use crate::identity::Terms;
use crate::identity_binding;
use crate::managed_identity::{self, CLIENT_VARIABLE, Trouble};
use crate::principal::{ClientId, Principal, Tenant};
use gatepass_sdk::{Credential, Error, Host, Level, Secret};
use std::io::ErrorKind::{NotFound, PermissionDenied};
use zeroize::Zeroizing;

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
    /// It is not there: a variable or a file is missing, or nobody answers where it would be.
    Absent(String),
    /// It is there, and is wrong or was refused.
    Failed(Error),
}

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        Self::Failed(error)
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

/// Takes the first source that is there. The log says which it was, and why not those before it.
///
/// # Errors
///
/// That of the first source that is there, with the reasons of those before it: nothing after it
/// is tried. `unavailable` if none is there.
pub(crate) fn credential(terms: &Terms, host: &dyn Host) -> Result<Credential, Error> {
    let mut passed = Vec::new();
    for source in Source::ALL {
        match source.attempt(terms, host) {
            Ok(credential) => {
                let chosen = format!("the token is of source {}{}", source.name(), told(&passed));
                host.log(Level::Info, &chosen);
                return Ok(credential.attribute(SOURCE, source.name()));
            }
            Err(Reason::Absent(why)) => passed.push((source, why)),
            Err(Reason::Failed(error)) => return Err(failed(source, &error, &passed)),
        }
    }
    // The metadata service may answer the next time.
    Err(Error::unavailable(format!(
        "no source of the environment gave a token of Azure{}",
        told(&passed)
    )))
}

/// `; SOURCE: REASON` for each.
fn told(passed: &[(Source, String)]) -> String {
    passed
        .iter()
        .map(|(source, reason)| format!("; {}: {reason}", source.name()))
        .collect()
}

fn failed(source: Source, error: &Error, passed: &[(Source, String)]) -> Error {
    let message = format!(
        "source {} of the environment failed: {error}{}",
        source.name(),
        told(passed)
    );
    error.reworded(message)
}

/// The value of the variable without which a source is not there.
fn configured(name: &str, host: &dyn Host) -> Result<String, Reason> {
    variable(host, name).ok_or_else(|| Reason::Absent(format!("{name} is not set")))
}

/// Who the environment says that the process is.
fn principal(host: &dyn Host) -> Result<Principal, Reason> {
    let needed = |name: &str| {
        variable(host, name).ok_or_else(|| {
            Reason::Absent(format!("{name} is not set: it is needed beside the others"))
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
    let pem = file(CERTIFICATE_VARIABLE, &path, host)?;
    let assertion = certificate::assertion(&path, &pem, &principal.client, &audience, host)?;
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
    let content = file(TOKEN_VARIABLE, &path, host)?;
    let token = std::str::from_utf8(&content)
        .map(str::trim)
        .ok()
        .filter(|text| is_jwt(text))
        .ok_or_else(|| {
            wrong("does not hold a token: three parts of base64url with dots between")
        })?;
    Ok((principal, Secret::from(token)))
}

/// The file that a variable names. One that is not there, or not granted, is no source; one that
/// is there must be readable.
fn file(name: &str, path: &str, host: &dyn Host) -> Result<Zeroizing<Vec<u8>>, Reason> {
    host.file(path).map(Zeroizing::new).map_err(|error| {
        let kind = error.kind();
        let why = format!(
            "{name}: the file '{}' cannot be read ({kind}): is it granted?",
            path.escape_debug()
        );
        match kind {
            NotFound | PermissionDenied => Reason::Absent(why),
            _ => Reason::Failed(Error::invalid_configuration(why)),
        }
    })
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
