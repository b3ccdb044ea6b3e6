//! Who may ask what, and what everybody may read.

use gatepass_sandbox::Rule;
use serde_json::json;

use crate::world::{World, assert_refusal};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

#[tokio::test]
async fn requests_without_or_with_a_bad_token_are_told_apart() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    let path = format!("{ACCOUNTS}/default");
    let reply = world.api("", "GET", &path, None).await;
    assert_refusal(
        &reply,
        403,
        "Forbidden",
        "serviceaccounts \"default\" is forbidden: User \"system:anonymous\" cannot get resource \"serviceaccounts\" in API group \"\" in the namespace \"default\"",
    );
    assert_eq!(
        reply.json()["details"],
        json!({"name": "default", "kind": "serviceaccounts"})
    );
    let reply = world
        .bearer(&format!("{}{path}", cluster.url()), "wrong")
        .await;
    assert_refusal(&reply, 401, "Unauthorized", "Unauthorized");
    cluster.allow_anonymous(false);
    assert_refusal(
        &world.api("", "GET", &path, None).await,
        401,
        "Unauthorized",
        "Unauthorized",
    );
}

#[tokio::test]
async fn rules_grant_exactly_what_they_say_and_denials_bind_administrators() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    cluster.apply_service_account("team", "app", &[]).unwrap();
    cluster.allow(
        Rule::allow("ann", &["get"], &["serviceaccounts"])
            .in_namespace("team")
            .named("app"),
    );
    cluster.allow(Rule::allow("bob", &["*"], &["configmaps"]));
    for (user, method, path, status) in [
        (
            "ann",
            "GET",
            "/api/v1/namespaces/team/serviceaccounts/app",
            200,
        ),
        (
            "ann",
            "GET",
            "/api/v1/namespaces/team/serviceaccounts/default",
            403,
        ),
        ("ann", "GET", "/api/v1/namespaces/team/serviceaccounts", 403),
        (
            "ann",
            "DELETE",
            "/api/v1/namespaces/team/serviceaccounts/app",
            403,
        ),
        (
            "ann",
            "GET",
            "/api/v1/namespaces/default/serviceaccounts/app",
            403,
        ),
        ("bob", "GET", "/api/v1/configmaps", 200),
        ("bob", "GET", "/api/v1/secrets", 403),
        ("bob", "GET", "/api/v1", 200),
        (
            "bob",
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            201,
        ),
        (
            "bob",
            "POST",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            403,
        ),
        ("", "GET", "/version", 200),
        ("", "GET", "/api", 403),
    ] {
        assert_eq!(
            world.api(user, method, path, None).await.status,
            status,
            "{user} {method} {path}"
        );
    }
    let reply = world.api("bob", "GET", "/api/v1/secrets", None).await;
    assert_refusal(
        &reply,
        403,
        "Forbidden",
        "secrets is forbidden: User \"bob\" cannot list resource \"secrets\" in API group \"\" at the cluster scope",
    );
    cluster.deny("admin", "create", "serviceaccounts/token");
    let reply = world
        .api(
            "admin",
            "POST",
            "/api/v1/namespaces/team/serviceaccounts/app/token",
            None,
        )
        .await;
    assert_refusal(
        &reply,
        403,
        "Forbidden",
        "serviceaccounts \"app\" is forbidden: User \"admin\" cannot create resource \"serviceaccounts/token\" in API group \"\" in the namespace \"team\"",
    );
}

#[tokio::test]
async fn access_reviews_answer_what_the_rules_say() {
    let world = World::bare().await;
    world
        .sandbox
        .kubernetes()
        .allow(Rule::allow("ann", &["create"], &["serviceaccounts/token"]));
    for (verb, allowed) in [("create", true), ("get", false)] {
        let attributes = json!({"verb": verb, "resource": "serviceaccounts", "subresource": "token", "namespace": "default"});
        let review = json!({"spec": {"resourceAttributes": attributes}});
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let reply = world.api("ann", "POST", path, Some(review)).await;
        assert_eq!(
            (reply.status, &reply.json()["status"]["allowed"]),
            (201, &allowed.into()),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn the_issuer_publishes_its_documents_as_a_cluster_does() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    let reply = world
        .api("", "GET", "/.well-known/openid-configuration", None)
        .await;
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("cache-control"), "public, max-age=3600");
    assert_eq!(reply.json()["issuer"], cluster.issuer());
    let reply = world.api("", "GET", "/openid/v1/jwks", None).await;
    assert_eq!(reply.header("content-type"), "application/jwk-set+json");
    let key = &reply.json()["keys"][0];
    assert_eq!(
        (&key["use"], &key["alg"], &key["kty"]),
        (&"sig".into(), &"RS256".into(), &"RSA".into())
    );
    assert_eq!(key["kid"].as_str().unwrap().len(), 43);
    cluster.open_discovery(false);
    let reply = world.api("", "GET", "/openid/v1/jwks", None).await;
    assert_refusal(
        &reply,
        403,
        "Forbidden",
        "forbidden: User \"system:anonymous\" cannot get path \"/openid/v1/jwks\"",
    );
    assert!(reply.json()["details"].is_null());
}
