//! Client assertions: of the management cluster, of an outside issuer, of a certificate.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sandbox::{ClientCertificate, Clock};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::issuer::{Issuer, URL};
use super::{
    AUDIENCE, CLIENT, MANAGEMENT, OTHER_CLIENT, TOKEN, assert_entra_error, assertion, exchange,
};
use crate::world::{Reply, World, changed};

fn now(world: &World) -> i64 {
    let since_epoch = world
        .sandbox
        .clock()
        .now()
        .duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since_epoch.unwrap().as_secs()).unwrap()
}

async fn present(world: &World, assertion: &str) -> Reply {
    world.form(TOKEN, &exchange(assertion, MANAGEMENT)).await
}

#[tokio::test]
async fn an_account_of_another_tenant_or_audience_is_refused() {
    let world = World::demo().await;
    for (namespace, account, audience, number) in [
        (
            "tenant-a",
            "tenant-a-azure-sa",
            "api://azureadtokenexchange",
            700_212,
        ),
        (
            "tenant-a",
            "tenant-a-azure-sa",
            "api://AzureADTokenExchange/",
            700_212,
        ),
        ("tenant-b", "tenant-b-azure-sa", AUDIENCE, 700_213),
        ("tenant-a", "tenant-a-ecr-sa", AUDIENCE, 700_213),
    ] {
        let token = world.account_token(namespace, account, audience).await;
        let reply = present(&world, &token).await;
        assert_entra_error(&reply, 401, "invalid_client", number);
    }
    let elsewhere = world.sandbox.add_cluster().unwrap();
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let request = http::Request::post(format!("{}{path}", elsewhere.url()))
        .header("content-type", "application/json")
        .header(
            "authorization",
            format!("Bearer {}", elsewhere.token("admin")),
        );
    let body = json!({"spec": {"audiences": [AUDIENCE]}}).to_string();
    let reply = world.send(request.body(body).unwrap()).await;
    let token = reply.json()["status"]["token"].as_str().unwrap().to_owned();
    let reply = present(&world, &token).await;
    assert_entra_error(&reply, 401, "invalid_client", 700_211);
    assert!(reply.body.contains(&elsewhere.issuer()), "{}", reply.body);
}

#[tokio::test]
async fn claims_are_compared_case_and_all() {
    let world = World::demo().await;
    let issuer = Issuer::create();
    issuer.join(&world);
    let good = Issuer::claims(now(&world));
    for (claim, value, outcome) in [
        ("sub", json!("job"), Ok(())),
        ("aud", json!(["other", AUDIENCE]), Ok(())),
        ("sub", json!("Job"), Err((401, "invalid_client", 7_002_138))),
        ("sub", json!("job2"), Err((401, "invalid_client", 700_213))),
        ("sub", json!(""), Err((401, "invalid_client", 700_213))),
        (
            "aud",
            json!(AUDIENCE.to_lowercase()),
            Err((401, "invalid_client", 700_212)),
        ),
        ("aud", json!([]), Err((401, "invalid_client", 700_212))),
        (
            "iss",
            json!(format!("{URL}/")),
            Err((401, "invalid_client", 700_211)),
        ),
        (
            "iss",
            json!(URL.to_uppercase()),
            Err((401, "invalid_client", 700_211)),
        ),
        ("iss", Value::Null, Err((400, "invalid_request", 50_027))),
        ("sub", Value::Null, Err((400, "invalid_request", 50_027))),
        ("aud", Value::Null, Err((400, "invalid_request", 50_027))),
        ("exp", Value::Null, Err((400, "invalid_request", 50_027))),
        ("exp", json!("soon"), Err((400, "invalid_request", 50_027))),
        (
            "exp",
            json!(now(&world)),
            Err((401, "invalid_client", 700_024)),
        ),
        (
            "nbf",
            json!(now(&world) + 1),
            Err((401, "invalid_client", 700_024)),
        ),
    ] {
        let mut claims = good.clone();
        claims[claim] = value.clone();
        let token = issuer.token(Some("one"), Algorithm::RS256, &claims);
        let reply = present(&world, &token).await;
        match outcome {
            Ok(()) => assert_eq!(reply.status, 200, "{claim} {value}: {}", reply.body),
            Err((status, error, number)) => assert_entra_error(&reply, status, error, number),
        }
    }
}

#[tokio::test]
async fn only_a_signature_of_a_published_key_counts() {
    let world = World::demo().await;
    let issuer = Issuer::create();
    issuer.join(&world);
    let claims = Issuer::claims(now(&world));
    let good = issuer.token(Some("one"), Algorithm::RS256, &claims);
    assert_eq!(present(&world, &good).await.status, 200);
    let forged = Issuer::create().token(Some("one"), Algorithm::RS256, &claims);
    let (head, tail) = good.rsplit_once('.').unwrap();
    let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","kid":"one"}"#);
    for (token, status, error, number) in [
        (forged, 400, "invalid_request", 50_027),
        (format!("{head}."), 400, "invalid_request", 50_027),
        (format!("{none}.{payload}."), 400, "invalid_request", 50_027),
        (
            format!("{none}.{payload}.{tail}"),
            400,
            "invalid_request",
            50_027,
        ),
        (
            issuer.token(Some("one"), Algorithm::PS256, &claims),
            400,
            "invalid_request",
            50_027,
        ),
        (
            issuer.token(Some("two"), Algorithm::RS256, &claims),
            401,
            "invalid_client",
            7_000_272,
        ),
        (
            issuer.token(None, Algorithm::RS256, &claims),
            401,
            "invalid_client",
            7_000_272,
        ),
    ] {
        let reply = present(&world, &token).await;
        assert_entra_error(&reply, status, error, number);
    }
}

#[tokio::test]
async fn an_issuer_that_fails_or_lies_about_itself_is_told_as_an_endpoint_that_failed() {
    let world = World::demo().await;
    let issuer = Issuer::create();
    issuer.join(&world);
    let token = issuer.token(Some("one"), Algorithm::RS256, &Issuer::claims(now(&world)));
    for discovery in [
        json!({"issuer": format!("{URL}/"), "jwks_uri": format!("{URL}/keys")}),
        json!({"issuer": URL, "jwks_uri": "http://issuer.example/keys"}),
        json!({"issuer": URL, "jwks_uri": format!("{URL}/nothing")}),
        json!({"issuer": URL}),
        json!("nonsense"),
    ] {
        issuer.publish(&world, discovery);
        let reply = present(&world, &token).await;
        assert_entra_error(&reply, 400, "invalid_request", 50_166);
    }
}

#[tokio::test]
async fn an_assertion_ends_by_the_sandbox_clock() {
    let world = World::demo().await;
    let token = assertion(&world).await;
    world.sandbox.advance(Duration::from_secs(3_600));
    let reply = present(&world, &token).await;
    assert_entra_error(&reply, 401, "invalid_client", 700_024);
    assert!(reply.body.contains(".0000000Z"), "{}", reply.body);
}

/// An assertion signed with a certificate's key.
fn signed(
    certificate: &ClientCertificate,
    algorithm: Algorithm,
    name: impl FnOnce(&mut Header),
    claims: &Value,
) -> String {
    let mut header = Header::new(algorithm);
    name(&mut header);
    let key = EncodingKey::from_rsa_pem(certificate.private_key.as_bytes()).unwrap();
    jsonwebtoken::encode(&header, claims, &key).unwrap()
}

fn thumbprint(
    certificate: &ClientCertificate,
    algorithm: &'static aws_lc_rs::digest::Algorithm,
) -> String {
    let body: String = certificate
        .certificate
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .map(str::trim)
        .collect();
    let der = base64::engine::general_purpose::STANDARD
        .decode(body)
        .unwrap();
    URL_SAFE_NO_PAD.encode(aws_lc_rs::digest::digest(algorithm, &der))
}

#[tokio::test]
async fn a_registered_certificate_signs_for_its_application() {
    let world = World::demo().await;
    let certificate = world.sandbox.azure().certificate(CLIENT).unwrap();
    let other = world.sandbox.azure().certificate(OTHER_CLIENT).unwrap();
    let sha1 = |certificate: &ClientCertificate| {
        thumbprint(certificate, &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY)
    };
    let sha256 = thumbprint(&certificate, &aws_lc_rs::digest::SHA256);
    let now = now(&world);
    let good = json!({"iss": CLIENT, "sub": CLIENT, "aud": TOKEN, "jti": "1", "nbf": now, "exp": now + 600});
    for algorithm in [Algorithm::RS256, Algorithm::PS256] {
        for token in [
            signed(
                &certificate,
                algorithm,
                |header| header.x5t = Some(sha1(&certificate)),
                &good,
            ),
            signed(
                &certificate,
                algorithm,
                |header| header.x5t_s256 = Some(sha256.clone()),
                &good,
            ),
            signed(
                &certificate,
                algorithm,
                |header| header.x5t_s256 = Some(format!("{sha256}=")),
                &good,
            ),
        ] {
            let reply = present(&world, &token).await;
            assert_eq!(reply.status, 200, "{algorithm:?}: {}", reply.body);
        }
    }
    let changed_claims = |field: &str, value: Value| {
        let mut claims = good.clone();
        claims[field] = value;
        claims
    };
    let elsewhere = TOKEN.replace("microsoftonline.com", "microsoftonline.us");
    for (signer, algorithm, named, claims, number) in [
        (
            &certificate,
            Algorithm::RS256,
            &other,
            good.clone(),
            700_027,
        ),
        (
            &other,
            Algorithm::RS256,
            &certificate,
            good.clone(),
            700_027,
        ),
        (&other, Algorithm::RS256, &other, good.clone(), 700_027),
        (
            &certificate,
            Algorithm::RS256,
            &certificate,
            changed_claims("sub", OTHER_CLIENT.into()),
            700_021,
        ),
        (
            &certificate,
            Algorithm::RS256,
            &certificate,
            changed_claims("aud", elsewhere.into()),
            700_023,
        ),
        (
            &certificate,
            Algorithm::RS256,
            &certificate,
            changed_claims("exp", now.into()),
            700_024,
        ),
    ] {
        let token = signed(
            signer,
            algorithm,
            |header| header.x5t = Some(sha1(named)),
            &claims,
        );
        let reply = present(&world, &token).await;
        assert_entra_error(&reply, 401, "invalid_client", number);
    }
    let unsupported = signed(
        &certificate,
        Algorithm::RS384,
        |header| header.x5t = Some(sha1(&certificate)),
        &good,
    );
    assert_entra_error(
        &present(&world, &unsupported).await,
        400,
        "invalid_request",
        50_027,
    );
    // The certificate proves its own application alone.
    let token = signed(
        &certificate,
        Algorithm::RS256,
        |header| header.x5t = Some(sha1(&certificate)),
        &good,
    );
    let fields = exchange(&token, MANAGEMENT);
    let fields = changed(&fields, &[("client_id", OTHER_CLIENT)]);
    let reply = world.form(TOKEN, &fields).await;
    assert_entra_error(&reply, 401, "invalid_client", 700_211);
    assert!(!format!("{certificate:?}").contains("PRIVATE KEY"));
}
