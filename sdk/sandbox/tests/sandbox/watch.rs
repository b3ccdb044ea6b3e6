//! Watches: what happened since a version.

use serde_json::{Value, json};

use crate::world::{World, version};

async fn events(world: &World, query: &str) -> Vec<(String, String)> {
    let path = format!("/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=0&{query}");
    let reply = world.api("admin", "GET", &path, None).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let events = reply
        .body
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events
        .map(|event| {
            (
                text(&event["type"]),
                text(&event["object"]["metadata"]["name"]),
            )
        })
        .collect()
}

fn owned(events: &[(&str, &str)]) -> Vec<(String, String)> {
    events
        .iter()
        .map(|(kind, name)| ((*kind).to_owned(), (*name).to_owned()))
        .collect()
}

#[tokio::test]
async fn a_watch_tells_what_happened_since_a_version() {
    let world = World::bare().await;
    let cluster = world.sandbox.kubernetes();
    let label = |value: &str| json!({"metadata": {"name": "b", "labels": {"tier": value}}});
    let maps = "/api/v1/namespaces/default/configmaps";
    cluster.apply_config_map("default", "a", &[]).unwrap();
    let start = version(&world.api("admin", "GET", maps, None).await.json());
    cluster
        .apply_config_map("default", "a", &[("k", "v")])
        .unwrap();
    cluster.apply_config_map("elsewhere", "c", &[]).unwrap();
    world.api("admin", "POST", maps, Some(label("front"))).await;
    world
        .api("admin", "PUT", &format!("{maps}/b"), Some(label("back")))
        .await;
    world
        .api("admin", "DELETE", &format!("{maps}/b"), None)
        .await;
    let since = format!("resourceVersion={start}");
    let all = [
        ("MODIFIED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "b"),
        ("DELETED", "b"),
    ];
    assert_eq!(events(&world, &since).await, owned(&all));
    let front = events(&world, &format!("{since}&labelSelector=tier%3Dfront")).await;
    assert_eq!(front, owned(&[("ADDED", "b"), ("DELETED", "b")]));
    let named = events(&world, &format!("{since}&fieldSelector=metadata.name%3Da")).await;
    assert_eq!(named, owned(&[("MODIFIED", "a")]));
    for query in ["", "resourceVersion=0"] {
        assert_eq!(events(&world, query).await, owned(&[("ADDED", "a")]));
    }
    let initial = events(&world, "sendInitialEvents=true&allowWatchBookmarks=true").await;
    assert_eq!(initial, owned(&[("ADDED", "a"), ("BOOKMARK", "")]));
}

#[tokio::test]
async fn a_version_whose_history_is_gone_is_expired() {
    let world = World::bare().await;
    world
        .sandbox
        .kubernetes()
        .apply_config_map("default", "a", &[])
        .unwrap();
    world.sandbox.kubernetes().compact();
    let path = "/api/v1/configmaps?watch=1&resourceVersion=1";
    let reply = world.api("admin", "GET", path, None).await;
    let event = reply.json();
    assert_eq!(
        (
            &event["type"],
            &event["object"]["code"],
            &event["object"]["reason"]
        ),
        (&"ERROR".into(), &410.into(), &"Expired".into())
    );
    assert!(
        event["object"]["message"]
            .as_str()
            .unwrap()
            .starts_with("too old resource version: 1 (")
    );
    let reply = world
        .api(
            "admin",
            "GET",
            "/api/v1/configmaps?watch=1&resourceVersion=x",
            None,
        )
        .await;
    assert_eq!(reply.status, 400);
}
