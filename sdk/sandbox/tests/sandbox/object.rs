//! The API server by hand: objects and lists.

use serde_json::{Value, json};

use crate::world::{World, assert_refusal, version};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

#[tokio::test]
async fn an_object_lives_through_create_read_patch_replace_and_delete() {
    let world = World::bare().await;
    let path = format!("{ACCOUNTS}/app");
    let created = world
        .api(
            "admin",
            "POST",
            ACCOUNTS,
            Some(json!({"metadata": {"name": "app"}})),
        )
        .await;
    assert_eq!(created.status, 201, "{}", created.body);
    let created = created.json();
    assert_eq!(
        (created["kind"].as_str(), created["apiVersion"].as_str()),
        (Some("ServiceAccount"), Some("v1"))
    );
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(created["metadata"][field].is_string(), "{field}");
    }
    assert_eq!(world.api("admin", "GET", &path, None).await.json(), created);

    let mut replaced = created.clone();
    replaced["metadata"]["annotations"] = json!({"a": "1"});
    let written = world
        .api("admin", "PUT", &path, Some(replaced.clone()))
        .await
        .json();
    assert!(version(&written) > version(&created));
    assert_eq!(written["metadata"]["uid"], created["metadata"]["uid"]);
    let stale = world.api("admin", "PUT", &path, Some(replaced)).await;
    assert_refusal(
        &stale,
        409,
        "Conflict",
        "Operation cannot be fulfilled on serviceaccounts \"app\": the object has been modified; please apply your changes to the latest version and try again",
    );

    let same = world
        .api("admin", "PUT", &path, Some(written.clone()))
        .await
        .json();
    assert_eq!(version(&same), version(&written));

    let wrong = world
        .api(
            "admin",
            "DELETE",
            &path,
            Some(json!({"preconditions": {"uid": "other"}})),
        )
        .await;
    assert_eq!(
        (wrong.status, &wrong.json()["reason"]),
        (409, &"Conflict".into())
    );
    let deleted = world.api("admin", "DELETE", &path, None).await;
    assert_eq!(
        (deleted.status, &deleted.json()["details"]["uid"]),
        (200, &created["metadata"]["uid"])
    );
    let gone = world.api("admin", "GET", &path, None).await;
    assert_refusal(&gone, 404, "NotFound", "serviceaccounts \"app\" not found");
    assert_eq!(
        gone.json()["details"],
        json!({"name": "app", "kind": "serviceaccounts"})
    );
}

#[tokio::test]
async fn patches_merge_and_apply_creates() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    cluster
        .apply_service_account("default", "app", &[("keep", "1"), ("drop", "2")])
        .unwrap();
    let url = format!("{}{ACCOUNTS}/app", cluster.url());
    let patch = |url: &str, media_type: &str, body: Value| {
        let request = http::Request::patch(url).header("content-type", media_type);
        request
            .header(
                "authorization",
                format!("Bearer {}", cluster.token("admin")),
            )
            .body(body.to_string())
            .unwrap()
    };
    let change = json!({"metadata": {"annotations": {"drop": null, "new": "3"}}});
    for media_type in [
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ] {
        let reply = world.send(patch(&url, media_type, change.clone())).await;
        assert_eq!(
            reply.json()["metadata"]["annotations"],
            json!({"keep": "1", "new": "3"}),
            "{}",
            reply.body
        );
    }
    assert_eq!(
        world
            .send(patch(&url, "application/json-patch+json", json!([])))
            .await
            .status,
        415
    );
    let other = format!("{}{ACCOUNTS}/other", cluster.url());
    let object = json!({"metadata": {"name": "other"}});
    assert_eq!(
        world
            .send(patch(
                &other,
                "application/merge-patch+json",
                object.clone()
            ))
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .send(patch(
                &other,
                "application/apply-patch+yaml",
                object.clone()
            ))
            .await
            .status,
        400
    );
    let managed = format!("{other}?fieldManager=test");
    assert_eq!(
        world
            .send(patch(
                &managed,
                "application/apply-patch+yaml",
                object.clone()
            ))
            .await
            .status,
        201
    );
    assert_eq!(
        world
            .send(patch(&managed, "application/apply-patch+yaml", object))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn wrong_objects_are_refused() {
    let world = World::bare().await;
    let taken = json!({"metadata": {"name": "default"}});
    let reply = world.api("admin", "POST", ACCOUNTS, Some(taken)).await;
    assert_refusal(
        &reply,
        409,
        "AlreadyExists",
        "serviceaccounts \"default\" already exists",
    );
    let elsewhere = "/api/v1/namespaces/nowhere/serviceaccounts";
    let reply = world
        .api(
            "admin",
            "POST",
            elsewhere,
            Some(json!({"metadata": {"name": "app"}})),
        )
        .await;
    assert_refusal(&reply, 404, "NotFound", "namespaces \"nowhere\" not found");
    let reply = world.api("admin", "POST", ACCOUNTS, Some(json!({}))).await;
    assert_refusal(
        &reply,
        422,
        "Invalid",
        "ServiceAccount \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
    assert_eq!(
        reply.json()["details"]["causes"][0]["field"],
        "metadata.name"
    );
    for (object, status) in [
        (json!({"metadata": {"name": "Upper"}}), 422),
        (json!({"metadata": {"name": "-edge"}}), 422),
        (json!({"metadata": {"name": "a".repeat(254)}}), 422),
        (json!({"kind": "Secret", "metadata": {"name": "app"}}), 400),
        (
            json!({"apiVersion": "v2", "metadata": {"name": "app"}}),
            400,
        ),
        (
            json!({"metadata": {"name": "app", "namespace": "other"}}),
            400,
        ),
        (
            json!({"metadata": {"name": "app", "resourceVersion": "1"}}),
            400,
        ),
        (json!({"metadata": "app"}), 400),
        (json!([]), 400),
        (json!({"metadata": {"generateName": "app-"}}), 201),
    ] {
        let reply = world
            .api("admin", "POST", ACCOUNTS, Some(object.clone()))
            .await;
        assert_eq!(reply.status, status, "{object}: {}", reply.body);
    }
    for (method, path, status) in [
        ("GET", "/api/v1/namespaces/default/widgets", 404),
        ("GET", "/apis/apps/v1", 404),
        ("POST", "/api/v1/serviceaccounts", 405),
        ("DELETE", ACCOUNTS, 405),
        (
            "GET",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            405,
        ),
    ] {
        assert_eq!(
            world.api("admin", method, path, None).await.status,
            status,
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn secrets_and_namespaces_get_their_defaults_and_go_together() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    cluster
        .apply_secret("team", "login", &[("password", "hunter2")])
        .unwrap();
    let secret = world
        .api(
            "admin",
            "GET",
            "/api/v1/namespaces/team/secrets/login",
            None,
        )
        .await
        .json();
    assert_eq!(
        (&secret["type"], &secret["data"]["password"]),
        (&"Opaque".into(), &"aHVudGVyMg==".into())
    );
    assert!(secret["stringData"].is_null());
    let account = "/api/v1/namespaces/team/serviceaccounts/default";
    assert_eq!(world.api("admin", "GET", account, None).await.status, 200);
    assert_eq!(
        world
            .api("admin", "DELETE", "/api/v1/namespaces/team", None)
            .await
            .status,
        200
    );
    assert_eq!(world.api("admin", "GET", account, None).await.status, 404);
}

#[tokio::test]
async fn lists_are_of_one_namespace_or_all_and_can_be_narrowed() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    cluster
        .apply_config_map("one", "same", &[("k", "v")])
        .unwrap();
    cluster.apply_config_map("two", "same", &[]).unwrap();
    let labelled = json!({"metadata": {"name": "other", "labels": {"tier": "front"}}});
    assert_eq!(
        world
            .api(
                "admin",
                "POST",
                "/api/v1/namespaces/two/configmaps",
                Some(labelled)
            )
            .await
            .status,
        201
    );
    for (path, count) in [
        ("/api/v1/configmaps", 3),
        ("/api/v1/namespaces/two/configmaps", 2),
        ("/api/v1/configmaps?fieldSelector=metadata.name%3Dsame", 2),
        (
            "/api/v1/configmaps?fieldSelector=metadata.name%3D%3Dsame,metadata.namespace!%3Done",
            1,
        ),
        ("/api/v1/configmaps?labelSelector=tier%3Dfront", 1),
        ("/api/v1/configmaps?labelSelector=tier", 1),
        ("/api/v1/configmaps?labelSelector=!tier", 2),
        ("/api/v1/configmaps?labelSelector=tier!%3Dfront", 2),
    ] {
        let list = world.api("admin", "GET", path, None).await.json();
        assert_eq!(list["kind"], "ConfigMapList");
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{path}");
        assert!(version(&list) > 1);
    }
    for path in [
        "/api/v1/configmaps?fieldSelector=data.k%3Dv",
        "/api/v1/configmaps?labelSelector=a%20in%20(b)",
    ] {
        assert_eq!(
            world.api("admin", "GET", path, None).await.status,
            400,
            "{path}"
        );
    }
}
