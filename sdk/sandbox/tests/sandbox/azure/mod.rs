//! Azure, from outside.

mod assertion;
mod entra;
mod fault;
mod issuer;
mod metadata;
mod registry;
mod resource_manager;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::world::{Reply, World};

const DIRECTORY: &str = "11111111-1111-1111-1111-111111111111";
const CLIENT: &str = "00000000-0000-0000-0000-00000000000a";
const OTHER_CLIENT: &str = "00000000-0000-0000-0000-00000000000b";
const MACHINE: &str = "00000000-0000-0000-0000-0000000000ff";
const AUDIENCE: &str = "api://AzureADTokenExchange";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const TOKEN: &str =
    "https://login.microsoftonline.com/11111111-1111-1111-1111-111111111111/oauth2/v2.0/token";
const MANAGEMENT: &str = "https://management.core.windows.net//.default";
const REGISTRY: &str = "https://containerregistry.azure.net/.default";
const AKS: &str = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";

/// The good fields of an exchange.
fn exchange<'a>(assertion: &'a str, scope: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("client_id", CLIENT),
        ("scope", scope),
        ("grant_type", "client_credentials"),
        ("client_assertion_type", ASSERTION_TYPE),
        ("client_assertion", assertion),
    ]
}

/// The assertion of the demonstration's tenant A.
async fn assertion(world: &World) -> String {
    world
        .account_token("tenant-a", "tenant-a-azure-sa", AUDIENCE)
        .await
}

/// An access token of the demonstration's tenant A, got the regular way.
async fn access_token(world: &World, scope: &str) -> String {
    let assertion = assertion(world).await;
    let reply = world.form(TOKEN, &exchange(&assertion, scope)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    text(&reply.json(), "access_token")
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap().to_owned()
}

/// The claims of a token, unproven.
fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[track_caller]
fn assert_entra_error(reply: &Reply, status: u16, error: &str, number: u64) {
    let body = reply.json();
    assert_eq!(
        (reply.status, body["error"].as_str()),
        (status, Some(error)),
        "{}",
        reply.body
    );
    assert_eq!(body["error_codes"], serde_json::json!([number]));
    let description = body["error_description"].as_str().unwrap();
    assert!(
        description.starts_with(&format!("AADSTS{number}: ")),
        "{description}"
    );
}
