//! A key of a service account: `service_account`. It signs a JWT, which becomes a token.
//!
//! In the public universe the JWT is exchanged at Google's OAuth endpoint
//! (<https://developers.google.com/identity/protocols/oauth2/service-account#httprest>, RFC 7523
//! §2.1): every API takes an access token, whereas not all take a JWT with scopes
//! (<https://google.aip.dev/auth/4111>). Other universes have no such endpoint, and Google's own
//! libraries send the JWT itself there.

use super::OAUTH_HOST;
use super::external_account::foreign;
use super::file::{check_universe, required};
use crate::email::Email;
use crate::exchange::SERVICE_ACCOUNT;
use crate::fault::{self, Step};
use crate::identity::Plan;
use crate::token;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::{Credential, Error, ErrorCode, Host, Secret, egress};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Google takes a JWT that lives for an hour at most, from `iat` to `exp`.
const LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Google takes no JWT from its future, and our clock may be ahead of its.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(10);

/// Longest ID of a key; Google's have 40.
const MAX_KEY_ID: usize = 100;

/// The file's fields.
#[derive(Debug, Deserialize)]
pub(crate) struct ServiceAccountKey {
    client_email: Option<String>,
    private_key_id: Option<String>,
    private_key: Option<Secret>,
    token_uri: Option<String>,
    universe_domain: Option<String>,
}

/// A key and whose it is, checked.
struct Key<'a> {
    account: Email,
    id: &'a str,
    private: &'a Secret,
}

impl ServiceAccountKey {
    /// Signs a JWT, and exchanges it where there is an exchange.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field that is wrong; what Google refuses.
    pub(crate) fn credential(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        check_universe(self.universe_domain.as_deref(), plan)?;
        let key = self.key()?;
        let credential = match plan.parameters.universe.is_public() {
            true => key.exchanged(&self.token_uri()?, plan, host),
            false => key.self_signed(plan, host),
        };
        Ok(credential?.attribute(SERVICE_ACCOUNT, key.account.as_str()))
    }

    fn key(&self) -> Result<Key<'_>, Error> {
        let email = required(self.client_email.as_deref(), "client_email")?;
        let id = required(self.private_key_id.as_deref(), "private_key_id")?;
        if !is_key_id(id) {
            return Err(Error::invalid_configuration(format!(
                "private_key_id '{}' must be 1 to {MAX_KEY_ID} letters, digits, '-' and '_'",
                id.escape_debug().take(MAX_KEY_ID).collect::<String>()
            )));
        }
        Ok(Key {
            account: Email::parse("client_email", email)?,
            id,
            private: required(self.private_key.as_ref(), "private_key")?,
        })
    }

    /// The one endpoint that is Google's: files come from others, and what is signed must not go to
    /// them. It is the audience of the JWT as well, as it is written.
    fn token_uri(&self) -> Result<String, Error> {
        let googles = format!("https://{OAUTH_HOST}/token");
        match self.token_uri.as_deref() {
            None => Ok(googles),
            Some(uri) if uri == googles => Ok(googles),
            Some(uri) => Err(foreign("token_uri", uri, &googles)),
        }
    }
}

impl Key<'_> {
    fn exchanged(
        &self,
        token_uri: &str,
        plan: &Plan,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        let validity = Validity::from(host.now())?;
        let assertion = self.sign(
            &json!({
                "iss": self.account.as_str(),
                "scope": plan.scopes.list().join(" "),
                "aud": token_uri,
                "iat": validity.issued_at,
                "exp": validity.expires_at,
            }),
            host,
        )?;
        let doing = format!(
            "exchanging what key {} of {} signed at {OAUTH_HOST}",
            self.id, self.account
        );
        let request = egress::Request::post(token_uri)
            .form("grant_type", JWT_BEARER)
            .form("assertion", assertion.expose())
            .build();
        let response = host
            .send(request)
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() != 200 {
            return Err(fault::classify(Step::Assertion, &doing, &response));
        }
        token::of_oauth(&doing, &response, host.now())
    }

    /// With scopes and without an audience: both at once are refused (AIP-4111).
    fn self_signed(&self, plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
        let validity = Validity::from(host.now())?;
        let token = self.sign(
            &json!({
                "iss": self.account.as_str(),
                "sub": self.account.as_str(),
                "scope": plan.scopes.list().join(" "),
                "iat": validity.issued_at,
                "exp": validity.expires_at,
            }),
            host,
        )?;
        Ok(Credential::bearer(token, validity.end))
    }

    /// A compact JWS (RFC 7515 §3.1).
    fn sign(&self, claims: &Value, host: &dyn Host) -> Result<Secret, Error> {
        let header = json!({"alg": "RS256", "kid": self.id, "typ": "JWT"});
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let message = format!("{}.{}", encoded(&header), encoded(claims));
        let signature = host
            .sign_rs256(self.private, message.as_bytes())
            .map_err(|error| unsigned(&error))?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("{message}.{signature}").into())
    }
}

/// The seconds between which a JWT is good, and its end as a time.
struct Validity {
    issued_at: u64,
    expires_at: u64,
    end: SystemTime,
}

impl Validity {
    fn from(now: SystemTime) -> Result<Self, Error> {
        Self::at(now).ok_or_else(|| {
            Error::unavailable("signing for a token: the host's clock is wrong: correct it")
        })
    }

    fn at(now: SystemTime) -> Option<Self> {
        let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let issued_at = since.checked_sub(CLOCK_TOLERANCE)?.as_secs();
        let expires_at = issued_at.checked_add(LIFETIME.as_secs())?;
        Some(Self {
            issued_at,
            expires_at,
            end: SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(expires_at))?,
        })
    }
}

fn is_key_id(text: &str) -> bool {
    (1..=MAX_KEY_ID).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// What is wrong with a key is most often how it was copied.
fn unsigned(error: &Error) -> Error {
    let advice = match error.code() {
        ErrorCode::InvalidConfiguration => {
            ": it must be as Google wrote it, with its line breaks as \\n in the JSON"
        }
        _ => "",
    };
    let message = format!("private_key: the host does not sign with it: {error}{advice}");
    error.reworded(message)
}
