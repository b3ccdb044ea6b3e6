//! What users, files and clusters get wrong: the code, the words, and nothing on standard output.

use crate::world::{ECR_ACCOUNT, Ran, World, program, run};
use gatepass_sandbox::Fault;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_command_lines_are_refused_by_name() {
    let world = World::new().await;
    let cases: [(&str, i32, &[&str]); 12] = [
        (
            "token nope --service-account tenant-a/workload",
            8,
            &["'nope'", "to fix: loaded are: aws, generic"],
        ),
        (
            "token generic --audience vault --service-account tenant-a/absent",
            5,
            &["tenant-a/absent"],
        ),
        (
            "token aws -n Tenant_A --service-account x",
            3,
            &["namespace 'Tenant_A'", "DNS-1123"],
        ),
        ("token aws --service-account tenant-a/X_Y", 3, &["'X_Y'"]),
        (
            "token aws -n a --service-account b/c",
            2,
            &["two namespaces"],
        ),
        ("token aws --frobnicate", 2, &["--frobnicate"]),
        (
            "token aws -o docker-config",
            2,
            &["`gatepass token` has no output docker-config", "env"],
        ),
        (
            "token aws --service-account tenant-a/x -p a=1 -p a=2",
            2,
            &["'a' is given twice"],
        ),
        (
            "token aws --service-account tenant-a/x --token-lifetime 5m",
            3,
            &["300 s"],
        ),
        (
            "token aws --service-account tenant-a/x --ca-file /nonexistent/ca",
            3,
            &["--ca-file", "/nonexistent/ca"],
        ),
        (
            "token generic --service-account tenant-a/workload",
            3,
            &["audience"],
        ),
        (
            "token generic --feature-gates Nope=true --service-account tenant-a/x",
            3,
            &["'Nope'"],
        ),
    ];
    for (line, code, words) in cases {
        world.run(line).refused(code, words);
    }
    world
        .run(&format!(
            "token aws {ECR_ACCOUNT} --region us-east-1 -p nope=1"
        ))
        .refused(3, &["'nope'", "it knows"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_does_not_fit_the_credential_names_those_that_do() {
    let world = World::new().await;
    let line = "token generic --service-account tenant-a/workload --audience vault -o env";
    world
        .run(line)
        .refused(2, &["bearer", "choose one of json, token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_configurations_are_refused_by_name() {
    let world = World::new().await;
    let line = "token generic --service-account tenant-a/workload --audience vault";
    let digest = format!("sha256:{}", "0".repeat(64));
    world.write("text.wasm", "not wasm");
    let cases: [(String, i32, &[&str]); 6] = [
        (
            "apiVersion: gatepass/v1alpha1\nkind: HostConfiguration\nchache: {}\n".into(),
            3,
            &["chache"],
        ),
        ("{".into(), 3, &["wrong.yaml"]),
        (world.configuration("[{bundled: nope}]"), 3, &["'nope'"]),
        (
            world.configuration("[{file: text.wasm}]"),
            3,
            &["digest", "to fix: "],
        ),
        (
            world.configuration(&format!("[{{bundled: generic, digest: '{digest}'}}]")),
            8,
            &["digest", &digest],
        ),
        (
            world.configuration(&format!("[{{file: absent.wasm, digest: '{digest}'}}]")),
            8,
            &["absent.wasm"],
        ),
    ];
    for (text, code, words) in cases {
        let path = world.write("wrong.yaml", &text);
        world.run_with(&path, line).refused(code, words);
    }
    world
        .run_with(&world.path("absent.yaml"), line)
        .refused(3, &["absent.yaml", "caused by: "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_granted_nothing_gets_no_token() {
    let world = World::new().await;
    let path = world.write(
        "narrow.yaml",
        &world.configuration("[{bundled: aws, grant: {}}]"),
    );
    let line = format!("token aws {ECR_ACCOUNT} --region us-east-1");
    world
        .run_with(&path, &line)
        .refused(7, &["sts.amazonaws.com", "to fix: ", "grant.audiences"]);
    let grant = "[{bundled: aws, grant: {audiences: [sts.amazonaws.com]}}]";
    let path = world.write("narrow.yaml", &world.configuration(grant));
    world
        .run_with(&path, &line)
        .refused(7, &["sts.us-east-1.amazonaws.com"]);
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_kubeconfigs_are_refused_without_their_secrets() {
    let world = World::new().await;
    let line = "token generic --service-account tenant-a/workload --audience vault";
    let good = world.sandbox.kubernetes().kubeconfig("admin");
    let token = world.sandbox.kubernetes().token("admin");
    let cases: [(String, &[&str]); 3] = [
        (
            good.replace("    token: ", "    token: [ "),
            &["kubeconfig"],
        ),
        (
            good.replace("current-context: sandbox\n", ""),
            &["context", "to fix: choose with --context; it has sandbox"],
        ),
        ("users: 7".into(), &["kubeconfig"]),
    ];
    for (text, words) in cases {
        world.write("kubeconfig", &text);
        let ran = world.run(line);
        assert!(!ran.stderr.contains(&token), "{ran:?}");
        ran.refused(3, words);
    }
    world.write("kubeconfig", &good);
    world
        .run(&format!("{line} --context nope"))
        .refused(3, &["nope", "it has sandbox"]);
    std::fs::remove_file(world.path("kubeconfig")).unwrap();
    world.run(line).refused(3, &["kubeconfig"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unused_kubeconfig_may_be_broken() {
    let world = World::new().await;
    world.write("kubeconfig", "users: 7");
    // Ambient requests need no cluster: aws refuses the source, not the kubeconfig.
    let ran = world.run("token aws --region us-east-1");
    assert!(!ran.stderr.contains("the kubeconfig"), "{ran:?}");
}

#[test]
fn without_a_kubeconfig_the_way_to_name_one_is_told() {
    let ran = run("token generic --service-account a/b --audience vault");
    ran.refused(3, &["there is no kubeconfig", "to fix: ", "--kubeconfig"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_told_apart_from_what_does_not() {
    let world = World::new().await;
    let path = world.path("gatepass.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}retry: {{maxAttempts: 1}}\n")).unwrap();
    let line = format!("token aws {ECR_ACCOUNT} --region us-east-1");
    let faults = world.sandbox.faults();
    faults.set(
        "sts.us-east-1.amazonaws.com",
        "*",
        Fault::Throttle(Duration::from_secs(7)),
    );
    world.run(&line).refused(9, &["error: "]);
    faults.clear();
    let forbidden = world.sandbox.kubernetes();
    forbidden.deny("admin", "create", "serviceaccounts/token");
    let ran = Ran::of(&mut world.command(&line));
    assert_eq!(ran.code, Some(5), "{ran:?}");
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    let mut child = program()
        .args(["plugin", "inspect", "aws"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
}
