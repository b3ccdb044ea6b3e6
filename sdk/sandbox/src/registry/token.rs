//! The token endpoint: a password for a token of a few minutes, limited to what was asked for.

use http::{Method, StatusCode};
use serde_json::json;

use super::access::{Caller, Grant, basic};
use super::clouds::{Action, Login};
use super::failure::Failure;
use super::host::RegistryHost;
use super::name::is_repository;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;
use crate::random;

/// As the reference implementation's own tokens.
const LIFE_SECONDS: i64 = 300;

pub(crate) async fn answer(host: &RegistryHost, call: &Call) -> Result<Answer, Failure> {
    // Clients that try the OAuth2 form first fall back to GET when it is not found.
    if call.method != Method::GET {
        return Err(Failure::missing("UNSUPPORTED", "tokens are got by GET"));
    }
    let service = call.parameter("service");
    if service.is_some_and(|service| service != host.name) {
        return Err(Failure::bad(
            "UNSUPPORTED",
            "the service is not this registry",
        ));
    }
    let caller = match call.header("authorization") {
        None => Caller::Name(String::new()),
        Some(header) => {
            let challenge = || format!("Basic realm=\"https://{}/\"", host.name);
            let refused = || Failure::unauthorized(challenge());
            let (user, password) = basic(header).ok_or_else(refused)?;
            let login = Login {
                user: &user,
                password: &password,
            };
            let caller = host.login(login).await.ok_or_else(refused)?;
            if matches!(caller, Caller::Name(_)) {
                // A token of a trusted issuer is taken as it is (zot's token endpoint).
                return Ok(reply(host, &password));
            }
            caller
        }
    };
    let grant = Grant {
        scopes: scopes(host, call, &caller),
        expires_at: host.now() + LIFE_SECONDS,
    };
    let token = random::base64url(200);
    host.access.grants.with(|grants| {
        grants.retain(|_, old| host.now() < old.expires_at);
        grants.insert(token.clone(), grant);
    });
    Ok(reply(host, &token))
}

/// The part of what is asked for that the caller may do; the rest is left out in silence.
fn scopes(host: &RegistryHost, call: &Call, caller: &Caller) -> Vec<(String, Vec<Action>)> {
    let asked = form_urlencoded::parse(call.query.as_bytes())
        .filter(|(name, _)| name == "scope")
        .map(|(_, value)| value.into_owned())
        .collect::<Vec<_>>();
    let asked = asked.iter().flat_map(|scopes| scopes.split(' '));
    let granted = asked.filter_map(|scope| {
        let mut parts = scope.split(':');
        let (kind, name, actions) = (parts.next()?, parts.next()?, parts.next()?);
        let is_sound = kind == "repository" && is_repository(name) && parts.next().is_none();
        let actions = actions.split(',').filter_map(Action::of_name);
        let permitted = actions.filter(|action| host.permits(caller, name, *action));
        is_sound.then(|| (name.to_owned(), permitted.collect()))
    });
    granted.collect()
}

fn reply(host: &RegistryHost, token: &str) -> Answer {
    let body = json!({
        "token": token,
        "access_token": token,
        "expires_in": LIFE_SECONDS,
        "issued_at": rfc3339(host.now()),
    });
    answer::json(StatusCode::OK, &body)
}
