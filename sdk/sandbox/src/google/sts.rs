//! The Security Token Service: a token of another issuer for a federated access token (RFC 8693).

use http::{Method, StatusCode};
use serde_json::json;

use super::Google;
use super::access::{Access, is_scope};
use super::failure::{Failure, Protocol};
use super::federation::{Target, Trust};
use super::form::Form;
use super::principal::Principal;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::oidc::{self, OidcError};
use crate::token::{self, Claims, TokenError};

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const SUBJECT_TOKEN_TYPES: [&str; 2] = [
    "urn:ietf:params:oauth:token-type:jwt",
    "urn:ietf:params:oauth:token-type:id_token",
];
const LIFE_SECONDS: i64 = 3_600;
/// A token must have been issued in the last 24 hours (the vendor's rules for OIDC providers).
const OLDEST_SECONDS: f64 = 86_400.0;

struct Exchange {
    target: Target,
    token: String,
    scopes: Vec<String>,
}

pub(crate) async fn answer(google: &Google, call: &Call) -> Answer {
    if call.path != "/v1/token" || call.method != Method::POST {
        return Failure::no_method().answer(Protocol::Api);
    }
    match exchange(google, call).await {
        Ok(answer) => answer,
        Err(failure) => failure.answer(Protocol::OAuth),
    }
}

async fn exchange(google: &Google, call: &Call) -> Result<Answer, Failure> {
    let exchange = read(&Form::read(call)?)?;
    let trust = google.federation.find(&exchange.target).ok_or_else(|| {
        let message = "The target service indicated by the \"audience\" parameters is invalid. This might either be because the pool or provider is disabled or deleted or because it doesn't exist.";
        Failure::oauth("invalid_target", message)
    })?;
    let now = google.now();
    let claims = prove(google, &trust, &exchange.token).await?;
    check_times(&claims, now)?;
    check_audience(&claims, &trust)?;
    let token = google.tokens.issue(Access {
        principal: Principal::Federated(trust.principal(&claims)?),
        scopes: exchange.scopes,
        expires_at: now + LIFE_SECONDS,
    });
    let body = json!({
        "access_token": token,
        "issued_token_type": ACCESS_TOKEN,
        "token_type": "Bearer",
        "expires_in": LIFE_SECONDS,
    });
    Ok(answer::json(StatusCode::OK, &body))
}

fn read(form: &Form) -> Result<Exchange, Failure> {
    match form.value("grant_type")? {
        Some(GRANT_TYPE) => {}
        Some(_) => {
            let message = "The grant type is not supported by the token service.";
            return Err(Failure::oauth("unsupported_grant_type", message));
        }
        None => return Err(invalid("grant_type", "It is missing.")),
    }
    let audience = form.value("audience")?.unwrap_or_default();
    let target = Target::parse(audience).ok_or_else(|| {
        let rule = "This value should be the full resource name of the Identity Provider. See https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token for the list of possible formats.";
        invalid("audience", rule)
    })?;
    if form.value("requested_token_type")? != Some(ACCESS_TOKEN) {
        return Err(invalid(
            "requested_token_type",
            "Only access_token is supported.",
        ));
    }
    let token_type = form.value("subject_token_type")?.unwrap_or_default();
    if !SUBJECT_TOKEN_TYPES.contains(&token_type) {
        let rule = "The provider takes a JSON Web Token.";
        return Err(invalid("subject_token_type", rule));
    }
    let token = form.value("subject_token")?.unwrap_or_default();
    if token.is_empty() {
        return Err(invalid("subject_token", "It is missing."));
    }
    Ok(Exchange {
        target,
        token: token.to_owned(),
        scopes: scopes(form.value("scope")?.unwrap_or_default())?,
    })
}

/// The scopes of a list with spaces between them.
pub(crate) fn scopes(list: &str) -> Result<Vec<String>, Failure> {
    let scopes: Vec<String> = list.split_ascii_whitespace().map(str::to_owned).collect();
    if scopes.is_empty() {
        let message = "Missing required parameter: scope";
        return Err(Failure::oauth("invalid_scope", message));
    }
    let (valid, invalid): (Vec<_>, Vec<_>) =
        scopes.iter().cloned().partition(|scope| is_scope(scope));
    if invalid.is_empty() {
        return Ok(scopes);
    }
    let message =
        format!("Some requested scopes were invalid. {{valid={valid:?}, invalid={invalid:?}}}");
    Err(Failure::oauth("invalid_scope", message))
}

async fn prove(google: &Google, trust: &Trust, token: &str) -> Result<Claims, Failure> {
    let claimed = token::unproven(token).map_err(|error| token_failure(&error))?;
    let issuer = claimed.iss.unwrap_or_default();
    if issuer != trust.issuer() {
        return Err(refused(format!(
            "The issuer in ID Token {issuer} does not match the expected ones: {}",
            trust.issuer()
        )));
    }
    let proven = oidc::prove(google.dialer(), trust.issuer(), token).await;
    proven.map_err(|error| {
        tracing::debug!(%error, "federated token refused");
        match error {
            OidcError::Token(error) => token_failure(&error),
            OidcError::Fetch(_) | OidcError::Document(_) => {
                refused("Error connecting to the given credential's issuer.")
            }
        }
    })
}

/// Times by the sandbox's clock, without any allowance.
fn check_times(claims: &Claims, now: i64) -> Result<(), Failure> {
    let seconds = now as f64;
    let issued_at = claims
        .iat
        .ok_or_else(|| refused("The claim \"iat\" is missing in the ID Token."))?;
    if issued_at > seconds || claims.nbf.is_some_and(|not_before| not_before > seconds) {
        return Err(refused("The ID Token is not yet valid."));
    }
    if issued_at + OLDEST_SECONDS < seconds {
        let message = format!("ID Token issued at {issued_at:.0} is stale to sign-in.");
        return Err(refused(message));
    }
    let expires_at = claims
        .exp
        .ok_or_else(|| refused("The claim \"exp\" is missing in the ID Token."))?;
    if expires_at <= seconds {
        let message = format!("The ID Token expired at {expires_at:.0}.");
        return Err(refused(message));
    }
    Ok(())
}

fn check_audience(claims: &Claims, trust: &Trust) -> Result<(), Failure> {
    let meant = claims
        .aud
        .as_ref()
        .map(token::Audience::all)
        .unwrap_or_default();
    let expected = trust.audiences();
    if meant.iter().any(|audience| expected.contains(audience)) {
        return Ok(());
    }
    let expected = expected.first().cloned().unwrap_or_default();
    Err(refused(format!(
        "The audience in ID Token {meant:?} does not match the expected audience {expected}."
    )))
}

fn token_failure(error: &TokenError) -> Failure {
    match error {
        TokenError::Malformed => invalid("subject_token", "It is not a JSON Web Token."),
        TokenError::NoKey => refused(
            "The ID Token has no key of its issuer: \"kid\" must name one, and \"alg\" be RS256 or ES256.",
        ),
        TokenError::Signature => refused("Invalid JWT signature."),
    }
}

fn refused(description: impl Into<String>) -> Failure {
    Failure::oauth("invalid_grant", description)
}

fn invalid(parameter: &str, rule: &str) -> Failure {
    Failure::oauth(
        "invalid_request",
        format!("Invalid value for \"{parameter}\". {rule}"),
    )
}
