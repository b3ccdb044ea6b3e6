//! `oauth2.googleapis.com`: keys of service accounts, and refresh tokens.

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::{BOTH_SCOPES, CONTROLLER, assert_oauth_error, text};
use crate::world::{Reply, World, changed};

const TOKEN: &str = "https://oauth2.googleapis.com/token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

async fn assert_grant(world: &World, file: &Value, claims: &Value) -> Reply {
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(file["private_key_id"].as_str().unwrap().to_owned());
    let key = EncodingKey::from_rsa_pem(file["private_key"].as_str().unwrap().as_bytes());
    let assertion = jsonwebtoken::encode(&header, claims, &key.unwrap()).unwrap();
    let form = [
        ("grant_type", JWT_BEARER),
        ("assertion", assertion.as_str()),
    ];
    world.form(TOKEN, &form).await
}

#[tokio::test]
async fn a_key_of_an_account_signs_for_its_token() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let file: Value =
        serde_json::from_str(&google.service_account_key(CONTROLLER).unwrap()).unwrap();
    assert_eq!(
        (
            file["type"].as_str(),
            file["client_email"].as_str(),
            file["token_uri"].as_str()
        ),
        (Some("service_account"), Some(CONTROLLER), Some(TOKEN))
    );
    let now = world.now();
    let good = json!({"iss": CONTROLLER, "scope": BOTH_SCOPES, "aud": TOKEN, "iat": now, "exp": now + 3_600});
    let reply = assert_grant(&world, &file, &good).await;
    assert_eq!(
        (reply.status, reply.json()["expires_in"].as_u64()),
        (200, Some(3_600)),
        "{}",
        reply.body
    );
    let login = google.verify_registry_login("oauth2accesstoken", &text(&reply, "access_token"));
    assert_eq!(login.unwrap().principal, CONTROLLER);
    for (field, value, error, description) in [
        (
            "iss",
            json!("nobody@demo-project.iam.gserviceaccount.com"),
            "invalid_grant",
            "account not found",
        ),
        (
            "iss",
            json!("tenant-a-gcp@demo-project.iam.gserviceaccount.com"),
            "invalid_grant",
            "Invalid JWT Signature.",
        ),
        (
            "aud",
            json!("https://elsewhere.example"),
            "invalid_grant",
            "audience",
        ),
        ("aud", json!(null), "invalid_grant", "audience"),
        (
            "exp",
            json!(now + 3_601),
            "invalid_grant",
            "short-lived token",
        ),
        ("exp", json!(now), "invalid_grant", "short-lived token"),
        ("iat", json!(now + 1), "invalid_grant", "short-lived token"),
        ("iat", json!(null), "invalid_grant", "short-lived token"),
        ("scope", json!(null), "invalid_scope", "Invalid OAuth scope"),
        (
            "scope",
            json!("everything"),
            "invalid_scope",
            "Invalid OAuth scope",
        ),
    ] {
        let mut claims = good.clone();
        claims[field] = value;
        let reply = assert_grant(&world, &file, &claims).await;
        assert_oauth_error(&reply, 400, error, description);
    }
    let form = [("grant_type", JWT_BEARER), ("assertion", "nonsense")];
    assert_oauth_error(
        &world.form(TOKEN, &form).await,
        400,
        "invalid_grant",
        "Bad Request",
    );
    assert!(
        google
            .service_account_key("nobody@demo-project.iam.gserviceaccount.com")
            .is_err()
    );
}

#[tokio::test]
async fn a_refresh_token_is_good_for_its_own_client() {
    let world = World::demo().await;
    let google = world.sandbox.google();
    let file: Value = serde_json::from_str(&google.authorized_user("ada@example.com")).unwrap();
    let field = |name: &str| file[name].as_str().unwrap();
    let good = [
        ("grant_type", "refresh_token"),
        ("client_id", field("client_id")),
        ("client_secret", field("client_secret")),
        ("refresh_token", field("refresh_token")),
    ];
    let reply = world.form(TOKEN, &good).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let login = google.verify_registry_login("oauth2accesstoken", &text(&reply, "access_token"));
    assert_eq!(login.unwrap().principal, "ada@example.com");
    let other: Value = serde_json::from_str(&google.authorized_user("bob@example.com")).unwrap();
    let other_token = other["refresh_token"].as_str().unwrap();
    for (name, value, status, error, description) in [
        ("client_id", "", 400, "invalid_request", "client ID"),
        (
            "client_id",
            "x.apps.googleusercontent.com",
            401,
            "invalid_client",
            "The OAuth client was not found.",
        ),
        (
            "client_secret",
            "wrong",
            401,
            "invalid_client",
            "Unauthorized",
        ),
        ("refresh_token", "", 400, "invalid_request", "refresh_token"),
        (
            "refresh_token",
            "wrong",
            400,
            "invalid_grant",
            "Bad Request",
        ),
        (
            "refresh_token",
            other_token,
            400,
            "invalid_grant",
            "Bad Request",
        ),
        (
            "grant_type",
            "password",
            400,
            "unsupported_grant_type",
            "Invalid grant_type: password",
        ),
        ("grant_type", "", 400, "invalid_request", "grant_type"),
    ] {
        let reply = world.form(TOKEN, &changed(&good, &[(name, value)])).await;
        assert_oauth_error(&reply, status, error, description);
    }
}
