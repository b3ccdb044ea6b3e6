//! TokenRequest, and what its tokens are good for.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sandbox::Rule;
use serde_json::{Value, json};

use crate::world::{Reply, World};

const PATH: &str = "/api/v1/namespaces/team/serviceaccounts/app/token";

async fn world() -> World {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    cluster.apply_service_account("team", "app", &[]).unwrap();
    cluster.apply_secret("team", "bound", &[]).unwrap();
    cluster.apply_pod("team", "mine", "app").unwrap();
    cluster.apply_pod("team", "other", "default").unwrap();
    world
}

async fn request(world: &World, spec: Value) -> Reply {
    world
        .api("admin", "POST", PATH, Some(json!({"spec": spec})))
        .await
}

fn part(token: &str, number: usize) -> Value {
    let decoded = URL_SAFE_NO_PAD
        .decode(token.split('.').nth(number).unwrap())
        .unwrap();
    serde_json::from_slice(&decoded).unwrap()
}

fn token(reply: &Reply) -> String {
    reply.json()["status"]["token"]
        .as_str()
        .unwrap_or_else(|| panic!("{}", reply.body))
        .to_owned()
}

#[tokio::test]
async fn a_token_has_the_header_and_claims_of_a_kubernetes_token() {
    let world = world().await;
    let cluster = world.sandbox.kubernetes();
    let reply = request(&world, json!({"audiences": ["a", "b"]})).await;
    assert_eq!(reply.status, 201);
    let body = reply.json();
    assert_eq!(
        (&body["kind"], &body["apiVersion"]),
        (&"TokenRequest".into(), &"authentication.k8s.io/v1".into())
    );
    assert_eq!(body["spec"]["expirationSeconds"], 3_600);
    let token = token(&reply);
    let header = part(&token, 0);
    let keys = world.api("", "GET", "/openid/v1/jwks", None).await.json();
    assert_eq!(
        header,
        json!({"alg": "RS256", "kid": keys["keys"][0]["kid"]})
    );
    let claims = part(&token, 1);
    assert_eq!(claims["aud"], json!(["a", "b"]));
    assert_eq!(
        (&claims["iss"], &claims["sub"]),
        (
            &cluster.issuer().into(),
            &"system:serviceaccount:team:app".into()
        )
    );
    assert_eq!(
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        3_600
    );
    assert_eq!(claims["nbf"], claims["iat"]);
    assert!(claims["jti"].is_string());
    let uid = cluster.service_account_uid("team", "app").unwrap();
    assert_eq!(
        claims["kubernetes.io"],
        json!({"namespace": "team", "serviceaccount": {"name": "app", "uid": uid}})
    );
}

#[tokio::test]
async fn lifetimes_outside_the_bounds_are_invalid() {
    let world = world().await;
    let shorter = "may not specify a duration less than 10 minutes";
    let longer = "may not specify a duration larger than 2^32 seconds";
    for (seconds, why) in [
        (599, shorter),
        (0, shorter),
        (-1, shorter),
        (4_294_967_297_i64, longer),
    ] {
        let reply = request(&world, json!({"expirationSeconds": seconds})).await;
        let status = reply.json();
        assert_eq!((reply.status, &status["reason"]), (422, &"Invalid".into()));
        let cause = format!("Invalid value: {seconds}: {why}");
        assert_eq!(
            status["message"],
            format!(
                "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: {cause}"
            )
        );
        let causes = json!([{"reason": "FieldValueInvalid", "message": cause, "field": "spec.expirationSeconds"}]);
        assert_eq!(status["details"]["causes"], causes);
    }
    for seconds in [600, 4_294_967_296_i64] {
        assert_eq!(
            request(&world, json!({"expirationSeconds": seconds}))
                .await
                .status,
            201
        );
    }
}

#[tokio::test]
async fn a_server_limit_shortens_the_life() {
    let world = world().await;
    world
        .sandbox
        .kubernetes()
        .limit_token_life(Some(Duration::from_secs(700)));
    let reply = request(&world, json!({"expirationSeconds": 86_400})).await;
    assert_eq!(reply.json()["spec"]["expirationSeconds"], 700);
    let claims = part(&token(&reply), 1);
    assert_eq!(
        claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(),
        700
    );
}

#[tokio::test]
async fn bound_objects_must_be_there_and_be_the_same() {
    let world = world().await;
    let bind = |kind: &str, name: &str| json!({"boundObjectRef": {"kind": kind, "apiVersion": "v1", "name": name}});
    let mut mistaken = bind("Secret", "bound");
    mistaken["boundObjectRef"]["uid"] = "other".into();
    for (spec, status, message) in [
        (bind("Secret", "bound"), 201, ""),
        (bind("Pod", "mine"), 201, ""),
        (bind("Pod", "nope"), 404, "pods \"nope\" not found"),
        (bind("Secret", "nope"), 404, "secrets \"nope\" not found"),
        (
            bind("Pod", "other"),
            400,
            "cannot bind token for serviceaccount",
        ),
        (bind("ConfigMap", "x"), 400, "cannot bind token to object"),
        (
            mistaken,
            409,
            "Operation cannot be fulfilled on Secret \"bound\": the UID in the bound object reference",
        ),
    ] {
        let reply = request(&world, spec.clone()).await;
        assert_eq!(reply.status, status, "{spec}: {}", reply.body);
        assert!(
            reply.json()["message"]
                .as_str()
                .unwrap_or_default()
                .starts_with(message),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn malformed_requests_and_absent_accounts_are_refused() {
    let world = world().await;
    for (body, status) in [
        (json!({"kind": "TokenReview"}), 400),
        (json!({"apiVersion": "v1"}), 400),
        (json!({"spec": {"audiences": "a"}}), 400),
        (json!({}), 201),
    ] {
        assert_eq!(
            world
                .api("admin", "POST", PATH, Some(body.clone()))
                .await
                .status,
            status,
            "{body}"
        );
    }
    let reply = world
        .api(
            "admin",
            "POST",
            &PATH.replace("app", "nope"),
            Some(json!({})),
        )
        .await;
    assert_eq!(
        (reply.status, &reply.json()["message"]),
        (404, &"serviceaccounts \"nope\" not found".into())
    );
}

#[tokio::test]
async fn a_token_for_the_api_audience_logs_in_until_its_account_or_object_goes() {
    let world = world().await;
    let cluster = world.sandbox.kubernetes();
    cluster.allow(Rule::allow(
        "system:serviceaccounts:team",
        &["list"],
        &["secrets"],
    ));
    let url = format!("{}/api/v1/secrets", cluster.url());
    let own = token(&request(&world, json!({})).await);
    assert_eq!(part(&own, 1)["aud"], json!([cluster.issuer()]));
    let bound = token(
        &request(
            &world,
            json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "bound"}}),
        )
        .await,
    );
    let elsewhere = token(&request(&world, json!({"audiences": ["elsewhere"]})).await);
    assert_eq!(world.bearer(&url, &own).await.status, 200);
    assert_eq!(world.bearer(&url, &bound).await.status, 200);
    assert_eq!(world.bearer(&url, &elsewhere).await.status, 401);
    cluster.delete_secret("team", "bound").unwrap();
    assert_eq!(world.bearer(&url, &bound).await.status, 401);
    cluster.delete_service_account("team", "app").unwrap();
    cluster.apply_service_account("team", "app", &[]).unwrap();
    assert_eq!(world.bearer(&url, &own).await.status, 401);
    let fresh = token(&request(&world, json!({})).await);
    world.sandbox.advance(Duration::from_secs(3_600));
    assert_eq!(world.bearer(&url, &fresh).await.status, 401);
}

#[tokio::test]
async fn a_review_tells_whose_a_token_is_and_for_whom() {
    let world = world().await;
    let issued = token(&request(&world, json!({"audiences": ["a", "b"]})).await);
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    for (audiences, expected) in [
        (json!(["b", "c"]), Some(json!(["b"]))),
        (json!(["c"]), None),
        (Value::Null, None),
    ] {
        let review = json!({"spec": {"token": issued, "audiences": audiences}});
        let reply = world.api("admin", "POST", path, Some(review)).await;
        assert_eq!(reply.status, 201);
        assert!(!reply.body.contains(&issued));
        let status = &reply.json()["status"];
        match expected {
            Some(expected) => {
                assert_eq!(
                    (&status["authenticated"], &status["audiences"]),
                    (&true.into(), &expected)
                );
                assert_eq!(status["user"]["username"], "system:serviceaccount:team:app");
                assert!(
                    status["user"]["extra"]["authentication.kubernetes.io/credential-id"][0]
                        .as_str()
                        .unwrap()
                        .starts_with("JTI=")
                );
            }
            None => assert_eq!(status["error"], "invalid bearer token"),
        }
    }
}
