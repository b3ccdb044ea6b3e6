//! `gatepass plugin`.

use crate::world::{Ran, World, program, run};
use serde_json::Value;

#[test]
fn a_bundled_plugin_is_shown_with_all_that_it_is() {
    let shown = run("plugin inspect aws -o json").json();
    assert_eq!(shown["name"], "aws");
    assert_eq!(shown["witVersion"], "0.1.0");
    assert!(shown["digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(shown["annotations"][0]["key"], "eks.amazonaws.com/role-arn");
    assert!(
        shown["parameters"]["properties"]["duration-seconds"].is_object(),
        "{shown:#}"
    );
    assert_eq!(shown["wishes"]["audiences"][0], "sts.amazonaws.com");
    let words = run("plugin inspect aws").ok();
    for expected in [
        "gatepass:provider@0.1.0",
        "subject-token",
        "role-arn, required",
        "duration-seconds",
        "exchange",
    ] {
        assert!(words.contains(expected), "{expected} in {words}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_says_what_a_plugin_is_granted() {
    let bundled = run("plugin inspect aws -o json").json();
    assert_eq!(bundled["interfaces"][0], "provider");
    assert_eq!(bundled["granted"]["hosts"], bundled["wishes"]["hosts"]);
    let world = World::new().await;
    let grant = "{files: [/etc/aws], environment: [AWS_REGION], signer: true}";
    let path = world.write(
        "narrow.yaml",
        &world.configuration(&format!("[{{bundled: aws, grant: {grant}}}]")),
    );
    let shown = world.run_with(&path, "plugin inspect aws -o json").json();
    let granted = &shown["granted"];
    assert_eq!(
        (&granted["files"][0], &granted["signer"], &granted["hosts"]),
        (&"/etc/aws".into(), &true.into(), &serde_json::json!([]))
    );
    let words = world.run_with(&path, "plugin inspect aws").ok();
    for expected in [
        "granted files        /etc/aws",
        "wishes signer",
        "interfaces",
    ] {
        assert!(words.contains(expected), "{expected} in {words}");
    }
    let other = world
        .run_with(&path, "plugin inspect generic -o json")
        .json();
    assert!(other["granted"].is_null(), "{other}");
}

#[test]
fn a_file_is_shown_like_the_plugin_in_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let listed = run("plugin list -o json").json();
    let names: Vec<&str> = listed["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|plugin| plugin["name"].as_str())
        .collect();
    assert!(
        names.contains(&"aws") && names.contains(&"generic"),
        "{listed}"
    );
    let built = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/plugins/generic.wasm"
    );
    let built = std::env::var("GATEPASS_PLUGINS_DIR")
        .map_or(built.into(), |folder| format!("{folder}/generic.wasm"));
    let path = folder.path().join("mine.wasm");
    std::fs::copy(built, &path).unwrap();
    let shown = Ran::of(
        program()
            .args(["plugin", "inspect", "-o", "json"])
            .arg(&path),
    )
    .json();
    let find = |plugin: &&Value| plugin["name"] == "generic";
    let bundled = listed["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .find(find)
        .unwrap();
    assert_eq!(
        (&shown["name"], &shown["digest"]),
        (&bundled["name"], &bundled["digest"])
    );
}

#[test]
fn a_file_that_is_no_plugin_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let module = b"\0asm\x01\0\0\0".to_vec();
    for (name, content) in [
        ("text", b"not wasm".to_vec()),
        ("empty", vec![]),
        ("module", module),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let ran = Ran::of(program().args(["plugin", "inspect"]).arg(&path));
        ran.refused(8, &["error: ", "sha256:"]);
    }
    let ran = Ran::of(
        program()
            .args(["plugin", "inspect"])
            .arg(folder.path().join("absent")),
    );
    ran.refused(8, &["absent", "caused by: "]);
    run("plugin inspect aws -o env").refused(2, &["table, json"]);
}
