//! Who may push and pull.

use std::time::Duration;

use gatepass_sandbox::{Fault, TrustedIssuer};

use super::{Client, EMPTY, HOST, assert_error, basic, client, digest, registry, token};
use crate::google::TENANT;
use crate::world::World;

#[tokio::test]
async fn a_token_is_asked_for_and_limited_to_what_its_owner_may() {
    let world = World::bare().await;
    registry(&world).add_blob("public/app", b"").unwrap();
    let nobody = Client {
        world: &world,
        host: HOST,
        authorization: String::new(),
    };
    let reply = nobody.get("/v2/").await;
    assert_error(&reply, 401, "UNAUTHORIZED");
    assert_eq!(
        reply.header("www-authenticate"),
        "Bearer realm=\"https://registry.example/token\",service=\"registry.example\""
    );
    let reply = nobody
        .send("POST", "/v2/team/app/blobs/uploads/", "", "")
        .await;
    assert_eq!(
        reply.header("www-authenticate"),
        "Bearer realm=\"https://registry.example/token\",service=\"registry.example\",scope=\"repository:team/app:pull,push\""
    );
    let direct = Client {
        world: &world,
        host: HOST,
        authorization: basic("ci", "secret"),
    };
    assert_error(&direct.get("/v2/").await, 401, "UNAUTHORIZED");
    let blob = format!("/v2/public/app/blobs/{EMPTY}");
    for (authorization, scope, method, path, status) in [
        ("", "repository:public/app:pull", "GET", blob.as_str(), 200),
        (
            "",
            "repository:public/app:pull,push",
            "POST",
            "/v2/public/app/blobs/uploads/",
            401,
        ),
        (
            "",
            "repository:team/app:pull",
            "GET",
            "/v2/team/app/tags/list",
            401,
        ),
        ("", "", "GET", "/v2/", 200),
        (
            &basic("ci", "secret"),
            "repository:team/app:pull",
            "POST",
            "/v2/team/app/blobs/uploads/",
            401,
        ),
        (
            &basic("ci", "secret"),
            "repository:team/app:pull,push repository:public/app:pull",
            "POST",
            "/v2/team/app/blobs/uploads/",
            202,
        ),
        (
            &basic("ci", "secret"),
            "repository:team/app:pull,push",
            "POST",
            "/v2/team/other/blobs/uploads/",
            401,
        ),
    ] {
        let client = client(&world, authorization, &scope.replace(' ', "%20")).await;
        let reply = client.send(method, path, "", "").await;
        assert_eq!(reply.status, status, "{scope} {path}: {}", reply.body);
        let wants_more = reply
            .header("www-authenticate")
            .contains("error=\"insufficient_scope\"");
        assert_eq!(wants_more, status == 401);
    }
    for (authorization, status) in [
        (basic("ci", "wrong"), 401),
        (basic("root", "secret"), 401),
        ("Basic x".to_owned(), 401),
    ] {
        assert_eq!(token(&world, &authorization, "").await.status, status);
    }
    let reply = nobody.get("/token?service=elsewhere").await;
    assert_error(&reply, 400, "UNSUPPORTED");
    let client = client(&world, "", "repository:public/app:pull").await;
    world.sandbox.advance(Duration::from_secs(300));
    let reply = client.get(&blob).await;
    assert!(
        reply
            .header("www-authenticate")
            .contains("error=\"invalid_token\""),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn a_blob_is_mounted_by_who_may_pull_it() {
    let world = World::bare().await;
    let host = registry(&world);
    host.add_blob("team/secret", b"").unwrap();
    let mount = format!("/v2/team/app/blobs/uploads/?mount={EMPTY}&from=team/secret");
    for (scope, status) in [
        ("repository:team/app:pull,push", 202),
        (
            "repository:team/app:pull,push%20repository:team/secret:pull",
            201,
        ),
    ] {
        let client = client(&world, &basic("ci", "secret"), scope).await;
        assert_eq!(client.send("POST", &mount, "", "").await.status, status);
    }
}

#[tokio::test]
async fn a_token_of_a_trusted_issuer_is_taken_as_it_is() {
    let world = World::demo().await;
    let host = registry(&world);
    let issuer = world.sandbox.kubernetes().issuer();
    host.trust(TrustedIssuer {
        url: issuer.clone(),
        audiences: vec![HOST.to_owned()],
        username_prefix: format!("{issuer}/"),
    });
    host.allow(
        &format!("{issuer}/system:serviceaccount:tenant-a:*"),
        "tenant-a/*",
        true,
    );
    host.add_blob("tenant-a/app", b"").unwrap();
    let good = world.account_token("tenant-a", "workload", HOST).await;
    let elsewhere = world
        .account_token("tenant-a", "workload", "elsewhere")
        .await;
    let other = world.account_token("tenant-b", "workload", HOST).await;
    let path = format!("/v2/tenant-a/app/blobs/{EMPTY}");
    for (token, status) in [(&good, 200), (&elsewhere, 401), (&other, 403)] {
        let authorization = format!("Bearer {token}");
        let client = Client {
            world: &world,
            host: HOST,
            authorization,
        };
        assert_eq!(client.get(&path).await.status, status);
    }
    let reply = token(&world, &basic("anybody", &good), "").await;
    assert_eq!(
        (reply.status, reply.json()["token"].as_str()),
        (200, Some(good.as_str()))
    );
    assert_eq!(
        token(&world, &basic("anybody", &elsewhere), "")
            .await
            .status,
        401
    );
    world.sandbox.advance(Duration::from_secs(3_600));
    let authorization = format!("Bearer {good}");
    let client = Client {
        world: &world,
        host: HOST,
        authorization,
    };
    assert_eq!(client.get(&path).await.status, 401);
}

#[tokio::test]
async fn artifact_registry_asks_iam() {
    let world = World::demo().await;
    let host = "us-central1-docker.pkg.dev";
    let password = world
        .impersonate(&world.federate("tenant-a-gcp-sa").await, TENANT)
        .await;
    let login = basic("oauth2accesstoken", &password);
    let direct = Client {
        world: &world,
        host,
        authorization: login.clone(),
    };
    direct.push_blob("demo-project/tenant-a/app", "layer").await;
    let reply = direct
        .send(
            "POST",
            "/v2/demo-project/tenant-b/app/blobs/uploads/",
            "",
            "",
        )
        .await;
    assert_error(&reply, 403, "DENIED");
    let wrong = Client {
        world: &world,
        host,
        authorization: basic("root", &password),
    };
    let reply = wrong.get("/v2/").await;
    assert!(
        reply
            .header("www-authenticate")
            .starts_with("Bearer realm=\"https://us-central1-docker.pkg.dev/v2/token\"")
    );
    let scope = "repository:demo-project/tenant-a/app:pull";
    let token = direct
        .get(&format!("/v2/token?service={host}&scope={scope}"))
        .await
        .json();
    let authorization = format!("Bearer {}", token["token"].as_str().unwrap());
    let client = Client {
        world: &world,
        host,
        authorization,
    };
    let layer = digest("layer");
    let reply = client
        .get(&format!("/v2/demo-project/tenant-a/app/blobs/{layer}"))
        .await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "layer"));
}

#[tokio::test]
async fn faults_have_the_shape_of_a_registry() {
    let world = World::bare().await;
    registry(&world);
    let nobody = Client {
        world: &world,
        host: HOST,
        authorization: String::new(),
    };
    let faults = world.sandbox.faults();
    faults.set(HOST, "/v2/", Fault::Throttle(Duration::from_secs(1)));
    let reply = nobody.get("/v2/").await;
    assert_error(&reply, 429, "TOOMANYREQUESTS");
    assert_eq!(reply.header("retry-after"), "1");
    faults.set(
        HOST,
        "/v2/",
        Fault::Error {
            status: 503,
            code: "UNAVAILABLE".to_owned(),
            message: "later".to_owned(),
        },
    );
    assert_error(&nobody.get("/v2/").await, 503, "UNAVAILABLE");
}
