//! Tokens for tokens: the token service, and the impersonation of service accounts.

use crate::ambient;
use crate::email::Email;
use crate::fault::{self, Step};
use crate::identity::{Federated, Plan, Route, misplaced};
use crate::parameter::{self, DEFAULT_LIFETIME, IMPERSONATE};
use crate::scope::CLOUD_PLATFORM;
use crate::token;
use crate::universe::{Service, Universe};
use gatepass_sdk::{Credential, Error, Exchange, Host, Material, Secret, Source, egress};
use serde_json::{Map, Value};

/// The attribute that holds the service account of a token.
pub(crate) const SERVICE_ACCOUNT: &str = "service-account";

/// The attribute that holds the principal of a token without service account.
const PRINCIPAL: &str = "principal";

/// The attribute that holds the universe of a token.
const UNIVERSE: &str = "universe-domain";

/// A ServiceAccount token, and any other signed token (RFC 8693 §3).
pub(crate) const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// Gets an access token.
///
/// # Errors
///
/// `invalid-configuration` if the request is wrong or not for this source; `unsupported` for the
/// host's signer; what [`fault`] makes of Google's refusals; `unavailable` if its answer is no token.
pub(crate) fn exchange(exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
    let plan = Plan::of(&exchange.subject, &exchange.facts, &exchange.request)?;
    if plan.identity() != exchange.identity {
        return Err(Error::internal(format!(
            "the exchange is for '{}', and subject and request make '{}'",
            exchange.identity.escape_debug(),
            plan.identity()
        )));
    }
    let credential = token(exchange, &plan, host)?;
    Ok(credential.attribute(UNIVERSE, plan.parameters.universe.as_str()))
}

fn token(exchange: &Exchange, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
    match (&exchange.source, &plan.route) {
        (Source::SubjectToken, Route::Federated(federated)) => federate(federated, plan, host),
        (Source::Ambient, Route::Ambient) => ambient::credential(plan, host),
        (Source::Credential(earlier), Route::Link(account)) => {
            let caller = caller(earlier, &plan.parameters.universe)?;
            impersonation(plan, account).with(caller, host)
        }
        (Source::SubjectToken | Source::Ambient, Route::Link(_)) => Err(misplaced()),
        (Source::Credential(_), _) => Err(Error::invalid_configuration(format!(
            "a further link of a chain impersonates a service account: set parameter {IMPERSONATE} to its e-mail"
        ))),
        _ => Err(Error::unsupported(
            "gcp starts from a ServiceAccount token, the credentials of the process or an earlier link of a chain, as its subject asks",
        )),
    }
}

/// The token that a further link starts from. A token is for one universe alone, and those who run
/// another must not see it. A credential that names none is of the public cloud.
fn caller<'a>(earlier: &'a Credential, universe: &Universe) -> Result<&'a Secret, Error> {
    let Material::Bearer(token) = &earlier.material else {
        return Err(Error::invalid_configuration(
            "the credential before this link is no access token of Google: begin the chain with one",
        ));
    };
    let mut attributes = earlier.attributes.iter();
    let named = attributes.find(|(name, _)| name == UNIVERSE);
    let of = match named {
        Some((_, domain)) => Universe::parse("the universe of the credential before", domain)?,
        None => Universe::default(),
    };
    if of == *universe {
        return Ok(token);
    }
    Err(Error::invalid_configuration(format!(
        "parameter {} '{universe}' of this link is not the universe of the credential before it, '{of}': a chain stays in one universe",
        parameter::UNIVERSE
    )))
}

fn federate(federated: &Federated, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
    let cloud_platform = [CLOUD_PLATFORM.to_owned()];
    let scopes = match &federated.account {
        Some(_) => cloud_platform.as_slice(),
        None => plan.scopes.list(),
    };
    let exchange = TokenExchange {
        sts_host: &federated.sts_host,
        audience: &federated.federation.exchange_audience(),
        scopes,
        subject_token_type: JWT,
        subject_token: None,
        options: None,
        client: None,
    };
    let federated_token = exchange.send(host)?;
    match &federated.account {
        Some(account) => impersonation(plan, account).with(token::bearer(&federated_token)?, host),
        None => Ok(federated_token.attribute(PRINCIPAL, &federated.principal)),
    }
}

fn impersonation<'a>(plan: &'a Plan, account: &'a Email) -> Impersonation<'a> {
    Impersonation {
        universe: &plan.parameters.universe,
        account,
        scopes: plan.scopes.list(),
        lifetime_seconds: plan.parameters.lifetime_seconds,
        delegates: &plan.parameters.delegates,
    }
}

/// A request to the token service (RFC 8693 §2.1).
#[derive(Debug)]
pub(crate) struct TokenExchange<'a> {
    pub(crate) sts_host: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) scopes: &'a [String],
    pub(crate) subject_token_type: &'a str,
    /// `None`: the ServiceAccount token, which the host puts in.
    pub(crate) subject_token: Option<&'a Secret>,
    /// JSON of options that are Google's own.
    pub(crate) options: Option<String>,
    /// The value of `Authorization` that names an OAuth client.
    pub(crate) client: Option<Secret>,
}

impl TokenExchange<'_> {
    /// Sends it.
    ///
    /// # Errors
    ///
    /// What [`fault`] makes of a refusal; `unavailable` if the answer is no token.
    pub(crate) fn send(&self, host: &dyn Host) -> Result<Credential, Error> {
        let doing = format!(
            "exchanging a token for {} at {}",
            self.audience.escape_debug(),
            self.sts_host
        );
        let response = host
            .send(self.request())
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() != 200 {
            return Err(fault::classify(Step::Exchange, &doing, &response));
        }
        token::of_oauth(&doing, &response, host.now())
    }

    /// In a body, since tokens do not fit URLs; the token last.
    fn request(&self) -> egress::Request {
        let mut builder = egress::Request::post(format!("https://{}/v1/token", self.sts_host));
        if let Some(client) = &self.client {
            builder = builder.header("authorization", client.expose());
        }
        builder = builder
            .form(
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            )
            .form("audience", self.audience)
            .form("scope", &self.scopes.join(" "))
            .form(
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:access_token",
            )
            .form("subject_token_type", self.subject_token_type);
        if let Some(options) = &self.options {
            builder = builder.form("options", options);
        }
        match self.subject_token {
            Some(token) => builder.form("subject_token", token.expose()),
            None => builder.form_token("subject_token"),
        }
        .build()
    }
}

/// A request for the token of a service account.
#[derive(Debug)]
pub(crate) struct Impersonation<'a> {
    pub(crate) universe: &'a Universe,
    pub(crate) account: &'a Email,
    pub(crate) scopes: &'a [String],
    pub(crate) lifetime_seconds: Option<u32>,
    pub(crate) delegates: &'a [Email],
}

impl Impersonation<'_> {
    /// Sends it with the caller's token.
    ///
    /// # Errors
    ///
    /// What [`fault`] makes of a refusal; `unavailable` if the answer is no token.
    pub(crate) fn with(&self, caller: &Secret, host: &dyn Host) -> Result<Credential, Error> {
        let endpoint = self.universe.host(Service::IamCredentials);
        let doing = format!("impersonating {} at {endpoint}", self.account);
        let response = host
            .send(self.request(&endpoint, caller))
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() != 200 {
            return Err(fault::classify(Step::Impersonation, &doing, &response));
        }
        let credential = token::of_impersonation(&doing, &response, host.now())?;
        Ok(credential.attribute(SERVICE_ACCOUNT, self.account.as_str()))
    }

    fn request(&self, endpoint: &str, caller: &Secret) -> egress::Request {
        let lifetime = self.lifetime_seconds.unwrap_or(DEFAULT_LIFETIME);
        let mut body = Map::new();
        if !self.delegates.is_empty() {
            let delegates: Vec<String> = self.delegates.iter().map(Email::resource).collect();
            body.insert("delegates".into(), delegates.into());
        }
        body.insert("lifetime".into(), format!("{lifetime}s").into());
        body.insert("scope".into(), self.scopes.to_vec().into());
        egress::Request::post(format!(
            "https://{endpoint}/v1/{}:generateAccessToken",
            self.account.resource()
        ))
        .bearer(caller.expose())
        .json(&Value::Object(body))
        .build()
    }
}

#[cfg(test)]
mod tests;
