//! `--object`.

use crate::world::World;

const LINE: &str = "token generic --audience vault";

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_read_and_judged_by_the_provider() {
    let world = World::new().await;
    let kubernetes = world.sandbox.kubernetes();
    let applied = kubernetes.apply_config_map("tenant-a", "greeting", &[]);
    applied.unwrap();
    for line in [
        format!("{LINE} --object configmaps.v1/tenant-a/greeting"),
        format!("{LINE} -n tenant-a --object configmaps.v1./greeting"),
    ] {
        // No provider of these signs for objects; the object itself was found.
        let ran = world.run(&line);
        assert!(!ran.stderr.contains("does not exist"), "{ran:?}");
        ran.refused(3, &["generic"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_none_is_refused_by_name() {
    let world = World::new().await;
    for (rest, code, words) in [
        (
            "configmaps.v1/tenant-a/absent",
            3,
            "'tenant-a/absent' does not exist",
        ),
        (
            "nopes.v1.example.com/tenant-a/x",
            3,
            "kubectl api-resources",
        ),
        ("configmaps.v1", 2, "[NAMESPACE/]NAME"),
        ("configmaps/tenant-a/x", 3, "RESOURCE.VERSION.GROUP"),
        ("configmaps.v1/tenant-a/X", 3, "'X'"),
        ("configmaps.v1/tenant-a/x -n tenant-b", 2, "two namespaces"),
        (
            "configmaps.v1/tenant-a/x --service-account y",
            2,
            "--service-account",
        ),
    ] {
        world
            .run(&format!("{LINE} --object {rest}"))
            .refused(code, &[words]);
    }
    world
        .sandbox
        .kubernetes()
        .deny("admin", "get", "configmaps");
    world
        .run(&format!("{LINE} --object configmaps.v1/tenant-a/greeting"))
        .refused(5, &["get of configmaps"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_gate_closed_no_object_is_read() {
    let world = World::new().await;
    world
        .run(&format!(
            "{LINE} --object configmaps.v1/tenant-a/greeting --feature-gates ObjectLevelWorkloadIdentity=false"
        ))
        .refused(6, &["tenant-a/greeting"]);
    assert!(world.sandbox.requests().is_empty(), "nothing is read");
}
