//! A proof of who the client is, for an access token of Entra: the grant `client_credentials`.

use crate::ambient;
use crate::fault::{self, Service};
use crate::identity::Terms;
use crate::principal::Principal;
use crate::token;
use gatepass_sdk::{Credential, Error, Exchange, Host, Secret, Source, Subject, egress};

/// The attribute that says what a credential was made from.
pub(crate) const SOURCE: &str = "source";

/// The attributes that hold the tenant and the client of a credential.
const TENANT: &str = "tenant-id";
const CLIENT: &str = "client-id";

/// How an assertion of a client is marked (RFC 7523 §2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What proves who the client is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof<'a> {
    /// The ServiceAccount token, which the host holds.
    SubjectToken,
    /// A token of a cluster, or one that the client signed itself.
    Assertion(&'a Secret),
    /// A password of the application.
    Secret(&'a Secret),
}

/// Exchanges the subject's token, or what the environment holds.
///
/// # Errors
///
/// `unsupported` for every other source; `invalid-configuration` if the request is wrong; what
/// [`fault`] makes of Azure's refusals; `unavailable` if its answer is no token.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    let terms = Terms::parse(&exchange.request, &exchange.facts)?;
    match (&exchange.subject, &exchange.source) {
        (Subject::Ambient, Source::Ambient) => ambient::credential(&terms, host),
        (Subject::ServiceAccount(_), Source::SubjectToken) => {
            let principal = Principal::parse("identity", &exchange.identity)?;
            let at = endpoint(terms.authority.host(), &principal);
            let grant = Grant {
                principal: &principal,
                scope: &terms.scope,
                proof: Proof::SubjectToken,
            };
            Ok(grant
                .redeem(&at, host)?
                .attribute(SOURCE, "service-account-token"))
        }
        _ => Err(Error::unsupported(
            "azure exchanges ServiceAccount tokens, and what the environment of the process holds: the credential of another provider and a signer are no source for it",
        )),
    }
}

/// The token endpoint of a tenant at an authority.
pub(crate) fn endpoint(host: &str, principal: &Principal) -> String {
    format!("https://{host}/{}/oauth2/v2.0/token", principal.tenant)
}

/// A grant of the kind `client_credentials` (RFC 6749 §4.4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) scope: &'a str,
    pub(crate) proof: Proof<'a>,
}

impl Grant<'_> {
    /// Asks for the token.
    ///
    /// # Errors
    ///
    /// As [`exchange`].
    pub(crate) fn redeem(&self, endpoint: &str, host: &dyn Host) -> Result<Credential, Error> {
        let Principal { tenant, client } = self.principal;
        let doing = format!("getting a token for client {client} of tenant {tenant}");
        let asked_at = host.now();
        let response = host.send(self.request(endpoint))?;
        if response.status() != 200 {
            return Err(fault::classify(Service::Entra, &doing, &response));
        }
        let credential = token::read(&doing, &response, asked_at)?;
        Ok(credential
            .attribute(TENANT, tenant.as_str())
            .attribute(CLIENT, client.as_str()))
    }

    fn request(&self, endpoint: &str) -> egress::Request {
        let builder = egress::Request::post(endpoint)
            .header("accept", "application/json")
            .form("client_id", self.principal.client.as_str())
            .form("scope", self.scope)
            .form("grant_type", "client_credentials");
        let assertion =
            |builder: egress::RequestBuilder| builder.form("client_assertion_type", ASSERTION_TYPE);
        match self.proof {
            Proof::Secret(secret) => builder.form("client_secret", secret.expose()),
            Proof::Assertion(token) => assertion(builder).form("client_assertion", token.expose()),
            Proof::SubjectToken => assertion(builder).form_token("client_assertion"),
        }
        .build()
    }
}

#[cfg(test)]
mod tests;
