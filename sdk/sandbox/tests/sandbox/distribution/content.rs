//! Push and pull.

use serde_json::{Value, json};

use super::{Client, EMPTY, MANIFEST, assert_error, basic, client, digest, manifest, registry};
use crate::world::World;

#[tokio::test]
async fn what_is_pushed_can_be_pulled() {
    let world = World::bare().await;
    registry(&world);
    let client = client(
        &world,
        &basic("ci", "secret"),
        "repository:team/app:pull,push",
    )
    .await;
    let config = client.push_blob("team/app", "{}").await;
    let layer = client.push_blob("team/app", "layer").await;
    let text = manifest(&config, &layer);
    let path = "/v2/team/app/manifests/v1";
    let reply = client.send("PUT", path, MANIFEST, &text).await;
    assert_eq!(
        (reply.status, reply.header("docker-content-digest")),
        (201, digest(&text).as_str()),
        "{}",
        reply.body
    );
    for reference in ["v1", &digest(&text)] {
        let reply = client
            .get(&format!("/v2/team/app/manifests/{reference}"))
            .await;
        assert_eq!(
            (reply.status, reply.header("content-type"), &reply.body),
            (200, MANIFEST, &text)
        );
    }
    let head = client.send("HEAD", path, "", "").await;
    assert_eq!(
        (
            head.status,
            head.header("content-length"),
            head.body.as_str()
        ),
        (200, text.len().to_string().as_str(), "")
    );
    let blob = client.get(&format!("/v2/team/app/blobs/{layer}")).await;
    assert_eq!((blob.status, blob.body.as_str()), (200, "layer"));
    let reply = client.send("DELETE", path, "", "").await;
    assert_error(&reply, 405, "UNSUPPORTED");
}

#[tokio::test]
async fn chunks_must_follow_each_other_and_give_the_digest() {
    let world = World::bare().await;
    registry(&world);
    let client = client(
        &world,
        &basic("ci", "secret"),
        "repository:team/app:pull,push",
    )
    .await;
    let uploads = "/v2/team/app/blobs/uploads/";
    let begun = client.send("POST", uploads, "", "").await;
    let location = begun.header("location");
    for (range, body, status, held) in [
        ("0-3", "abcd", 202, "0-3"),
        ("0-3", "abcd", 416, ""),
        ("4-9", "ef", 416, ""),
        ("4-5", "ef", 202, "0-5"),
        ("", "gh", 202, "0-7"),
    ] {
        let reply = client
            .with("PATCH", location, &[("content-range", range)], body)
            .await;
        assert_eq!(
            (reply.status, reply.header("range")),
            (status, held),
            "{range}: {}",
            reply.body
        );
    }
    let reply = client.get(location).await;
    assert_eq!((reply.status, reply.header("range")), (204, "0-7"));
    let done = format!("{location}?digest={}", digest("abcdefgh"));
    assert_eq!(client.send("PUT", &done, "", "").await.status, 201);
    assert_error(
        &client.send("PUT", &done, "", "").await,
        404,
        "BLOB_UPLOAD_UNKNOWN",
    );
    for query in ["", "?digest=sha256:00", &format!("?digest={EMPTY}")] {
        let begun = client.send("POST", uploads, "", "").await;
        let location = format!("{}{query}", begun.header("location"));
        let reply = client.send("PUT", &location, "", "other").await;
        assert_error(&reply, 400, "DIGEST_INVALID");
    }
    let once = format!("{uploads}?digest={}", digest("whole"));
    assert_eq!(client.send("POST", &once, "", "whole").await.status, 201);
    let begun = client.send("POST", uploads, "", "").await;
    let location = begun.header("location");
    assert_eq!(client.send("DELETE", location, "", "").await.status, 204);
    let foreign = location.replace("team/app", "team/other");
    let other = client_of_other(&world).await;
    assert_error(
        &other.send("PATCH", &foreign, "", "x").await,
        404,
        "BLOB_UPLOAD_UNKNOWN",
    );
}

async fn client_of_other(world: &World) -> Client<'_> {
    client(
        world,
        &basic("ci", "secret"),
        "repository:team/other:pull,push",
    )
    .await
}

#[tokio::test]
async fn manifests_that_are_wrong_are_refused() {
    let world = World::bare().await;
    registry(&world);
    let client = client(
        &world,
        &basic("ci", "secret"),
        "repository:team/app:pull,push",
    )
    .await;
    let config = client.push_blob("team/app", "{}").await;
    let good = manifest(&config, &config);
    let index = json!({"schemaVersion": 2, "manifests": [{"digest": EMPTY}]}).to_string();
    let old = json!({"schemaVersion": 1}).to_string();
    let other = format!("/v2/team/app/manifests/{EMPTY}");
    let path = "/v2/team/app/manifests/v1";
    for (path, media_type, body, status, code) in [
        (path, MANIFEST, "{", 400, "MANIFEST_INVALID"),
        (path, MANIFEST, old.as_str(), 400, "MANIFEST_INVALID"),
        (path, "", &good, 400, "MANIFEST_INVALID"),
        (path, "application/json", &good, 400, "MANIFEST_INVALID"),
        (
            path,
            MANIFEST,
            &manifest(&config, EMPTY),
            400,
            "MANIFEST_BLOB_UNKNOWN",
        ),
        (
            path,
            MANIFEST,
            &manifest("nonsense", &config),
            400,
            "MANIFEST_BLOB_UNKNOWN",
        ),
        (
            path,
            "application/vnd.oci.image.index.v1+json",
            &index,
            400,
            "MANIFEST_BLOB_UNKNOWN",
        ),
        (&other, MANIFEST, &good, 400, "DIGEST_INVALID"),
        (
            "/v2/team/app/manifests/.x",
            MANIFEST,
            &good,
            400,
            "TAG_INVALID",
        ),
        (
            "/v2/Team/manifests/v1",
            MANIFEST,
            &good,
            400,
            "NAME_INVALID",
        ),
    ] {
        let reply = client.send("PUT", path, media_type, body).await;
        assert_error(&reply, status, code);
    }
    for (path, code) in [
        (path, "MANIFEST_UNKNOWN"),
        (&format!("/v2/team/app/blobs/{EMPTY}"), "BLOB_UNKNOWN"),
        ("/v2/_catalog", "UNSUPPORTED"),
    ] {
        assert_error(&client.get(path).await, 404, code);
    }
}

#[tokio::test]
async fn tags_come_in_pages_and_referrers_by_subject() {
    let world = World::bare().await;
    let host = registry(&world);
    let config = host.add_blob("public/app", b"{}").unwrap();
    let text = manifest(&config, &config);
    for tag in ["c", "a", "b"] {
        host.add_manifest("public/app", tag, MANIFEST, text.as_bytes())
            .unwrap();
    }
    let client = client(&world, "", "repository:public/app:pull").await;
    let list = "/v2/public/app/tags/list";
    assert_eq!(
        client.get(list).await.json(),
        json!({"name": "public/app", "tags": ["a", "b", "c"]})
    );
    let page = client.get(&format!("{list}?n=2")).await;
    assert_eq!(page.json()["tags"], json!(["a", "b"]));
    assert_eq!(
        page.header("link"),
        "</v2/public/app/tags/list?n=2&last=b>; rel=\"next\""
    );
    let page = client.get(&format!("{list}?n=2&last=b")).await;
    assert_eq!(
        (page.json()["tags"].clone(), page.header("link")),
        (json!(["c"]), "")
    );
    assert_error(
        &client.get(&format!("{list}?n=x")).await,
        400,
        "PAGINATION_NUMBER_INVALID",
    );
    let mut signature: Value = serde_json::from_str(&text).unwrap();
    signature["subject"] = json!({"digest": digest(&text)});
    signature["artifactType"] = json!("application/x-signature");
    host.add_manifest(
        "public/app",
        "signature",
        MANIFEST,
        signature.to_string().as_bytes(),
    )
    .unwrap();
    let found = client
        .get(&format!("/v2/public/app/referrers/{}", digest(&text)))
        .await;
    assert_eq!(
        found.json()["manifests"][0]["artifactType"],
        "application/x-signature"
    );
    assert_eq!(
        found.json()["manifests"][0]["digest"],
        digest(&signature.to_string())
    );
    assert!(
        host.add_manifest(
            "public/app",
            "x",
            MANIFEST,
            manifest(EMPTY, EMPTY).as_bytes()
        )
        .is_err()
    );
}
