//! Help, version, completions, exit codes, tracing.

use crate::world::{ECR_ACCOUNT, World, run};

#[test]
fn help_names_every_command_and_goes_to_standard_output() {
    let help = run("help").ok();
    for command in [
        "token",
        "registry",
        "git",
        "kubeconfig",
        "oci",
        "explain",
        "plugin",
        "sandbox",
        "demo",
        "completions",
    ] {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command} in {help}"
        );
    }
    assert!(help.contains("Exit codes: gatepass help exit-codes"));
    run("--version").ok();
}

#[test]
fn exit_codes_are_documented_in_help_and_as_data() {
    let table = run("exit-codes").ok();
    assert!(table.contains("  4  denied"), "{table}");
    let help = run("help exit-codes").ok();
    assert!(table.lines().all(|line| help.contains(line)), "{help}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&format!("completions {shell}")).ok();
        assert!(
            script.contains("kubeconfig") && script.contains("service-account"),
            "{shell}"
        );
    }
    run("completions nushell").refused(2, &["nushell"]);
}

#[test]
fn an_output_that_a_command_does_not_have_is_refused() {
    for line in [
        "demo -o env",
        "sandbox -o json",
        "completions bash -o json",
        "exit-codes -o json",
    ] {
        run(line).refused(2, &["has no output"]);
    }
}

#[test]
fn no_command_is_a_mistake() {
    run("").refused(2, &["Usage"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tracing_is_talk_without_secrets() {
    let world = World::new().await;
    let ran = world.run(&format!(
        "token aws {ECR_ACCOUNT} --region us-east-1 -o json -vv"
    ));
    let stderr = ran.stderr.clone();
    let keys = ran.json();
    for secret in ["secretAccessKey", "sessionToken"] {
        let secret = keys["aws"][secret].as_str().unwrap();
        assert!(!stderr.contains(secret), "{stderr}");
    }
    assert!(!stderr.contains("eyJ"), "{stderr}");
    for step in ["gate", "account", "identity", "egress", "credential issued"] {
        assert!(stderr.contains(step), "{stderr} lacks {step}");
    }
}
