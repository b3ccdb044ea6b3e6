//! Google's own identity tokens, and the documents of their issuer.

use http::{Method, StatusCode};
use serde_json::json;

use super::Google;
use super::account::ServiceAccount;
use super::failure::{Failure, Protocol};
use crate::answer::{self, Answer};
use crate::builder::StartError;
use crate::call::Call;

const ISSUER: &str = "https://accounts.google.com";
const KEYS_PATH: &str = "/oauth2/v3/certs";
const LIFE_SECONDS: i64 = 3_600;

impl Google {
    /// A token of the account for one audience, as the metadata server gives it with `format=full`.
    pub(crate) fn identity_token(
        &self,
        account: &ServiceAccount,
        audience: &str,
    ) -> Result<String, StartError> {
        let now = self.now();
        let claims = json!({
            "iss": ISSUER,
            "sub": account.unique_id,
            "azp": account.unique_id,
            "aud": audience,
            "email": account.email.to_string(),
            "email_verified": true,
            "iat": now,
            "exp": now + LIFE_SECONDS,
        });
        Ok(self.key.key()?.sign(&claims)?)
    }
}

/// `accounts.google.com`: the discovery document.
pub(crate) fn discovery(call: &Call) -> Answer {
    if call.method != Method::GET || call.path != "/.well-known/openid-configuration" {
        return Failure::no_method().answer(Protocol::Api);
    }
    let document = json!({
        "issuer": ISSUER,
        "jwks_uri": format!("https://www.googleapis.com{KEYS_PATH}"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    });
    answer::json(StatusCode::OK, &document)
}

/// `www.googleapis.com`: the keys.
pub(crate) fn keys(google: &Google, call: &Call) -> Answer {
    if call.method != Method::GET || call.path != KEYS_PATH {
        return Failure::no_method().answer(Protocol::Api);
    }
    match google.key.key() {
        Ok(key) => answer::json(StatusCode::OK, &json!({"keys": [key.public()]})),
        Err(_) => answer::empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
}
