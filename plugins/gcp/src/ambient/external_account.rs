//! Workload and workforce identity federation by a file: `external_account`
//! (<https://google.aip.dev/auth/4117>).

use super::file::{check_universe, required};
use super::subject_token::CredentialSource;
use crate::email::Email;
use crate::exchange::{Impersonation, JWT, TokenExchange};
use crate::identity::Plan;
use crate::parameter::LIFETIME_SECONDS;
use crate::scope::CLOUD_PLATFORM;
use crate::token;
use crate::universe::{Service, Universe};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sdk::{Authority, Credential, Error, Host, Secret};
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

/// Types of tokens that the token service takes from others (RFC 8693 §3). Requests signed by AWS
/// have a type of their own, which is not served.
const SUBJECT_TOKEN_TYPES: [&str; 3] = [
    JWT,
    "urn:ietf:params:oauth:token-type:id_token",
    "urn:ietf:params:oauth:token-type:saml2",
];

/// The file's fields.
#[derive(Debug, Deserialize)]
pub(crate) struct ExternalAccount {
    audience: Option<String>,
    subject_token_type: Option<String>,
    token_url: Option<String>,
    service_account_impersonation_url: Option<String>,
    service_account_impersonation: Option<ImpersonationOptions>,
    credential_source: Option<CredentialSource>,
    workforce_pool_user_project: Option<String>,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    universe_domain: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ImpersonationOptions {
    token_lifetime_seconds: Option<u32>,
}

impl ExternalAccount {
    /// Exchanges the token of the file's source, and impersonates the account that it names.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field that is wrong; `unsupported` for a source that is
    /// not served; what Google refuses.
    pub(crate) fn credential(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        check_universe(self.universe_domain.as_deref(), plan)?;
        let Some(url) = self.service_account_impersonation_url.as_deref() else {
            if self.lifetime()?.is_some() {
                return Err(Error::invalid_configuration(
                    "service_account_impersonation.token_lifetime_seconds has no effect without service_account_impersonation_url: remove it",
                ));
            }
            return self.federated(plan, plan.scopes.list(), host);
        };
        let universe = &plan.parameters.universe;
        let impersonation = Impersonation {
            universe,
            account: &impersonated(url, universe)?,
            scopes: plan.scopes.list(),
            lifetime_seconds: self.lifetime()?,
            delegates: &[],
        };
        let federated = self.federated(plan, &[CLOUD_PLATFORM.to_owned()], host)?;
        impersonation.with(token::bearer(&federated)?, host)
    }

    fn lifetime(&self) -> Result<Option<u32>, Error> {
        let options = self.service_account_impersonation.as_ref();
        match options.and_then(|options| options.token_lifetime_seconds) {
            Some(seconds) if !LIFETIME_SECONDS.contains(&seconds) => {
                Err(Error::invalid_configuration(format!(
                    "service_account_impersonation.token_lifetime_seconds {seconds} must be from {} to {}",
                    LIFETIME_SECONDS.start(),
                    LIFETIME_SECONDS.end()
                )))
            }
            seconds => Ok(seconds),
        }
    }

    fn federated(
        &self,
        plan: &Plan,
        scopes: &[String],
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        let universe = &plan.parameters.universe;
        let audience = self.audience(universe)?;
        let kind = required(self.subject_token_type.as_deref(), "subject_token_type")?;
        if !SUBJECT_TOKEN_TYPES.contains(&kind) {
            return Err(Error::unsupported(format!(
                "subject_token_type '{}' is not served: {} are",
                kind.escape_debug(),
                SUBJECT_TOKEN_TYPES.join(", ")
            )));
        }
        let token_url = required(self.token_url.as_deref(), "token_url")?;
        let sts_host = token_service(token_url, universe)?;
        let options = self.options(audience)?;
        let client = self.client()?;
        let source = required(self.credential_source.as_ref(), "credential_source")?;
        let subject_token = source.read(host)?;
        let exchange = TokenExchange {
            sts_host: &sts_host,
            audience,
            scopes,
            subject_token_type: kind,
            subject_token: Some(&subject_token),
            options,
            client,
        };
        exchange.send(host)
    }

    fn audience(&self, universe: &Universe) -> Result<&str, Error> {
        let audience = required(self.audience.as_deref(), "audience")?;
        let (iam, path) = audience
            .strip_prefix("//")
            .and_then(|rest| rest.split_once('/'))
            .unwrap_or_default();
        let known = iam == "iam.googleapis.com" || iam == format!("iam.{universe}");
        let named = !path.is_empty() && path.bytes().all(|byte| byte.is_ascii_graphic());
        if known && named {
            return Ok(audience);
        }
        Err(Error::invalid_configuration(format!(
            "audience '{}' must be //iam.googleapis.com/ and the full name of a provider of an identity pool",
            audience.escape_debug()
        )))
    }

    /// Workforce pools have no project of their own to charge.
    fn options(&self, audience: &str) -> Result<Option<String>, Error> {
        let Some(project) = &self.workforce_pool_user_project else {
            return Ok(None);
        };
        let segments: Vec<&str> = audience.split('/').collect();
        let workforce = matches!(
            segments.as_slice(),
            [
                "",
                "",
                _,
                "locations",
                _,
                "workforcePools",
                _,
                "providers",
                _
            ]
        );
        if workforce {
            return Ok(Some(json!({ "userProject": project }).to_string()));
        }
        Err(Error::invalid_configuration(
            "workforce_pool_user_project has effect for an audience of a workforce pool alone: remove it",
        ))
    }

    /// RFC 6749 §2.3.1.
    fn client(&self) -> Result<Option<Secret>, Error> {
        match (&self.client_id, &self.client_secret) {
            (None, None) => Ok(None),
            (Some(id), Some(secret)) => {
                let pair = Zeroizing::new(format!("{id}:{}", secret.expose()));
                Ok(Some(
                    format!("Basic {}", STANDARD.encode(pair.as_bytes())).into(),
                ))
            }
            _ => Err(Error::invalid_configuration(
                "client_id and client_secret belong together: set both or neither",
            )),
        }
    }
}

/// The host of a `token_url` that is the token service's: files come from others, and the token
/// of the workload must not go to them.
fn token_service(url: &str, universe: &Universe) -> Result<String, Error> {
    split(url)
        .filter(|(host, path)| universe.is_sts_host(host) && *path == "v1/token")
        .map(|(host, _)| host)
        .ok_or_else(|| {
            foreign(
                "token_url",
                url,
                &format!("https://{}/v1/token", universe.host(Service::Sts)),
            )
        })
}

/// The account of an impersonation URL that is IAM Credentials'.
///
/// # Errors
///
/// `invalid-configuration` if the URL is anything else.
pub(crate) fn impersonated(url: &str, universe: &Universe) -> Result<Email, Error> {
    let endpoint = universe.host(Service::IamCredentials);
    split(url)
        .filter(|(host, _)| *host == endpoint)
        .and_then(|(_, path)| path.strip_prefix("v1/projects/-/serviceAccounts/"))
        .and_then(|path| path.strip_suffix(":generateAccessToken"))
        .and_then(Email::read)
        .ok_or_else(|| {
            foreign(
                "service_account_impersonation_url",
                url,
                &format!(
                    "https://{endpoint}/v1/projects/-/serviceAccounts/EMAIL:generateAccessToken"
                ),
            )
        })
}

/// Host and path of an https URL with neither user nor port.
fn split(url: &str) -> Option<(String, &str)> {
    let (authority, path) = url.strip_prefix("https://")?.split_once('/')?;
    let authority = Authority::parse(authority).filter(|authority| authority.port().is_none())?;
    Some((authority.host().to_owned(), path))
}

/// A URL of the file that is not the one it must be; one that may hold a secret is not shown.
pub(crate) fn foreign(field: &str, url: &str, rule: &str) -> Error {
    let shown = if url.contains(['@', '?', '#']) {
        ""
    } else {
        url
    };
    Error::invalid_configuration(format!(
        "{field} '{}' is not Google's: it must be {rule}",
        shown.escape_debug()
    ))
}
