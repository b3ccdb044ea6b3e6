//! `oauth2.googleapis.com/token`: an access token for a service account's own signature, or for a
//! user's refresh token.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Google;
use super::access::{Access, is_scope};
use super::failure::{Failure, Protocol};
use super::form::Form;
use super::principal::Principal;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::token::{self, Claims};

pub(crate) const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// An assertion lives an hour at most, and so does the token.
const LIFE_SECONDS: i64 = 3_600;

pub(crate) fn answer(google: &Google, call: &Call) -> Answer {
    if call.path != "/token" || call.method != Method::POST {
        return Failure::no_method().answer(Protocol::Api);
    }
    match grant(google, call) {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => failure.answer(Protocol::OAuth),
    }
}

fn grant(google: &Google, call: &Call) -> Result<Value, Failure> {
    let form = Form::read(call)?;
    match form.value("grant_type")? {
        Some(JWT_BEARER) => assertion(google, &form),
        Some("refresh_token") => refresh(google, &form),
        Some(other) => {
            let message = format!("Invalid grant_type: {other}");
            Err(Failure::oauth("unsupported_grant_type", message))
        }
        None => Err(missing("grant_type")),
    }
}

/// RFC 7523 §2.1 with Google's own `scope` claim.
fn assertion(google: &Google, form: &Form) -> Result<Value, Failure> {
    let token = form
        .value("assertion")?
        .ok_or_else(|| missing("assertion"))?;
    let malformed = |_| refused("Bad Request");
    let issuer = token::unproven(token).map_err(malformed)?.iss;
    let account = google.accounts.find(&issuer.unwrap_or_default());
    let account = account.ok_or_else(|| refused("Invalid grant: account not found"))?;
    let claims = token::proven(token, &google.accounts.keys(&account))
        .map_err(|_| refused("Invalid JWT Signature."))?;
    check(&claims, google.now())?;
    let scope = claims.rest.get("scope").and_then(Value::as_str);
    let scopes: Vec<String> = scope
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect();
    if scopes.is_empty() || !scopes.iter().all(|scope| is_scope(scope)) {
        let message = "Invalid OAuth scope or ID token audience provided.";
        return Err(Failure::oauth("invalid_scope", message));
    }
    Ok(issue(google, account.principal(), scopes))
}

fn check(claims: &Claims, now: i64) -> Result<(), Failure> {
    let now = now as f64;
    let life = LIFE_SECONDS as f64;
    let in_time = match (claims.iat, claims.exp) {
        (Some(issued), Some(expires)) => issued <= now && now < expires && expires - issued <= life,
        _ => false,
    };
    if !in_time {
        return Err(refused(
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.",
        ));
    }
    let meant = claims
        .aud
        .as_ref()
        .map(token::Audience::all)
        .unwrap_or_default();
    if meant != [TOKEN_URL] {
        return Err(refused("Invalid JWT: Failed audience check."));
    }
    Ok(())
}

/// RFC 6749 §6. A narrower scope may be asked for.
fn refresh(google: &Google, form: &Form) -> Result<Value, Failure> {
    let client = form.value("client_id")?.ok_or_else(|| {
        Failure::oauth(
            "invalid_request",
            "Could not determine client ID from request.",
        )
    })?;
    let secret = form.value("client_secret")?.unwrap_or_default();
    let token = form
        .value("refresh_token")?
        .ok_or_else(|| missing("refresh_token"))?;
    if !google.accounts.knows_client(client) {
        let message = "The OAuth client was not found.";
        return Err(Failure::new(401, "invalid_client", message));
    }
    let consent = google.accounts.find_consent(token);
    let consent = consent.filter(|consent| consent.client_id == client);
    let consent = consent.ok_or_else(|| refused("Bad Request"))?;
    if consent.client_secret != secret {
        return Err(Failure::new(401, "invalid_client", "Unauthorized"));
    }
    let asked = form.value("scope")?;
    let scopes = asked.map_or_else(|| Ok(google.default_scopes()), super::sts::scopes)?;
    Ok(issue(
        google,
        Principal::User {
            email: consent.email,
        },
        scopes,
    ))
}

fn issue(google: &Google, principal: Principal, scopes: Vec<String>) -> Value {
    let scope = scopes.join(" ");
    let token = google.tokens.issue(Access {
        principal,
        scopes,
        expires_at: google.now() + LIFE_SECONDS,
    });
    json!({
        "access_token": token,
        "expires_in": LIFE_SECONDS,
        "scope": scope,
        "token_type": "Bearer",
    })
}

fn missing(parameter: &str) -> Failure {
    Failure::oauth(
        "invalid_request",
        format!("Missing required parameter: {parameter}"),
    )
}

fn refused(description: &str) -> Failure {
    Failure::oauth("invalid_grant", description)
}
