//! `gatepass kubeconfig`.

use crate::world::{EKS, EKS_ACCOUNT, Ran, World, program};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::config::{ExecConfig, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

fn eks(rest: &str) -> String {
    format!("kubeconfig aws --cluster {EKS} {EKS_ACCOUNT} {rest}")
}

fn exec(text: &str) -> ExecConfig {
    let read = Kubeconfig::from_yaml(text).unwrap();
    read.auth_infos[0].auth_info.clone().unwrap().exec.unwrap()
}

/// Config maps of tenant-a, read by a client of this kubeconfig.
async fn list(text: &str) -> usize {
    let read = Kubeconfig::from_yaml(text).unwrap();
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(Client::try_from(config).unwrap(), "tenant-a");
    maps.list(&ListParams::default()).await.unwrap().items.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_renews_itself_opens_the_cluster_and_holds_no_token() {
    let world = World::new().await;
    let text = world.run(&eks("")).ok();
    assert!(!text.contains("k8s-aws-v1."), "{text}");
    assert_eq!(list(&text).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_not_given_for_another_server_than_the_clusters() {
    let world = World::new().await;
    let exec = exec(&world.run(&eks("")).ok());
    assert!(exec.provide_cluster_info);
    let cluster = world.sandbox.aws().eks(EKS).unwrap().kubernetes().url();
    for (server, accepted) in [
        (cluster.as_str(), true),
        (&format!("{cluster}/"), true),
        ("https://elsewhere.example", false),
    ] {
        let info = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "spec": {"cluster": {"server": server}, "interactive": false},
        });
        let mut command = std::process::Command::new(exec.command.clone().unwrap());
        command
            .env_clear()
            .env("KUBERNETES_EXEC_INFO", info.to_string())
            .args(exec.args.clone().unwrap());
        let ran = Ran::of(&mut command);
        match accepted {
            true => assert!(ran.ok().contains("k8s-aws-v1."), "{server}"),
            false => ran.refused(3, &["elsewhere.example", "anew"]),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_in_a_kubeconfig_runs_from_anywhere() {
    let world = World::new().await;
    let relative = ["--config=gatepass.yaml", "--kubeconfig=kubeconfig"];
    let line = eks("");
    let mut command = program();
    command
        .args(line.split_whitespace())
        .args(relative)
        .current_dir(world.path(""));
    let exec = exec(&Ran::of(&mut command).ok());
    let mut again = std::process::Command::new(exec.command.unwrap());
    again.env_clear().args(exec.args.unwrap()).current_dir("/");
    // By then, KUBECONFIG may name the new file.
    again.env("KUBECONFIG", "/nonexistent/new");
    let credential = Ran::of(&mut again).json();
    assert!(
        credential["status"]["token"]
            .as_str()
            .unwrap()
            .starts_with("k8s-aws-v1.")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_kubeconfigs_stays_in_the_environment_of_the_command() {
    let world = World::new().await;
    let line = eks("");
    let mut command = program();
    command
        .args(line.split_whitespace())
        .arg("--config")
        .arg(world.path("gatepass.yaml"));
    command
        .current_dir(world.path(""))
        .env("KUBECONFIG", "kubeconfig:");
    let text = Ran::of(&mut command).ok();
    let environment = exec(&text).env.unwrap();
    let pinned = world.path("kubeconfig").to_string_lossy().into_owned();
    assert_eq!(
        environment[0].get("value"),
        Some(&pinned),
        "{environment:?}"
    );
    assert_eq!(list(&text).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_kubeconfig_holds_the_token() {
    let world = World::new().await;
    let text = world.run(&eks("--static")).ok();
    assert!(text.contains("k8s-aws-v1."), "{text}");
    assert_eq!(list(&text).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_output_that_fits_is_written() {
    let world = World::new().await;
    let credential = world.run(&eks("-o exec-credential")).json();
    assert_eq!(credential["apiVersion"], "client.authentication.k8s.io/v1");
    assert!(credential["status"]["expirationTimestamp"].is_string());
    assert!(world.run(&eks("-o token")).ok().starts_with("k8s-aws-v1."));
    let json: Value = world.run(&eks("-o json")).json();
    assert!(
        json["server"]
            .as_str()
            .unwrap()
            .starts_with("https://127.0.0.1:"),
        "{json}"
    );
    assert!(
        json["certificateAuthority"]
            .as_str()
            .unwrap()
            .contains("BEGIN CERTIFICATE")
    );
    let table = world.run(&eks("-o table")).ok();
    assert!(
        table.contains("server") && !table.contains("k8s-aws-v1."),
        "{table}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generic_cluster_is_known_by_its_address() {
    let world = World::new().await;
    let address = world.sandbox.workload().unwrap().url();
    let mut command = world.command("kubeconfig generic --service-account tenant-a/workload");
    command
        .args(["--address", &address])
        .arg("--cluster-ca-file")
        .arg(world.path("ca.pem"));
    assert_eq!(list(&Ran::of(&mut command).ok()).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_that_leads_back_to_itself_ends() {
    let world = World::new().await;
    let text = world.run(&eks("")).ok();
    let circle = text.replace("--context=sandbox", &format!("--context={EKS}"));
    world.write("kubeconfig", &circle);
    let ran = world.run(&eks(""));
    ran.refused(
        3,
        &["cannot log in with the kubeconfig", "leads back to itself"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_login_command_prints_is_not_repeated() {
    let world = World::new().await;
    let good = world.sandbox.kubernetes().kubeconfig("admin");
    let token = good
        .lines()
        .find(|line| line.contains("token: "))
        .unwrap()
        .to_owned();
    let secret = world.write("secret", "canary");
    let print = format!("cat {}", secret.display());
    for (script, word) in [
        (format!("{print}; echo no luck >&2; exit 7"), "no luck"),
        (print, "ExecCredential"),
    ] {
        let exec = format!(
            "    exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sh, args: [-c, \"{script}\"]}}"
        );
        world.write("kubeconfig", &good.replace(&token, &exec));
        let ran = world.run(&eks(""));
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
        ran.refused(3, &["cannot log in", word]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused() {
    let world = World::new().await;
    world
        .run(&format!("kubeconfig aws {EKS_ACCOUNT}"))
        .refused(3, &["cluster"]);
    world
        .run(&eks("--static -o json"))
        .refused(2, &["--static"]);
    world
        .run(&eks("-o env"))
        .refused(2, &["kubeconfig, exec-credential"]);
    let info = r#"{"apiVersion":"client.authentication.k8s.io/v1beta1"}"#;
    let asked = Ran::of(
        world
            .command(&eks("-o exec-credential"))
            .env("KUBERNETES_EXEC_INFO", info),
    );
    asked.refused(2, &["v1beta1", "apiVersion"]);
    for login in ["u:canary", "canary", ":canary", "canary:"] {
        let ran = world.run(&eks(&format!("--proxy-url http://{login}@127.0.0.1:9")));
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
        ran.refused(2, &["GATEPASS_PROXY_URL"]);
    }
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 0);
}

/// Writes a ConfigMap of tenant-a that names the sandbox's EKS cluster.
fn apply_cluster(world: &World, name: &str, further: &[(&str, &str)]) {
    let base = [
        ("provider", "aws"),
        ("cluster", EKS),
        ("serviceAccountName", "tenant-a-eks-sa"),
    ];
    let data = [&base[..], further].concat();
    let kubernetes = world.sandbox.kubernetes();
    kubernetes
        .apply_config_map("tenant-a", name, &data)
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_map_says_provider_cluster_and_account() {
    let world = World::new().await;
    apply_cluster(&world, "prod", &[]);
    let line = "kubeconfig --config-map prod -n tenant-a";
    let text = world.run(line).ok();
    assert!(!text.contains("k8s-aws-v1."), "{text}");
    let arguments = exec(&text).args.unwrap();
    for expected in ["aws", "--config-map=prod", "--namespace=tenant-a"] {
        assert!(arguments.contains(&expected.to_owned()), "{arguments:?}");
    }
    assert_eq!(list(&text).await, 1);
    world.run(&format!("{line} -o json")).ok();
    world
        .run("kubeconfig aws --config-map prod -n tenant-a -o json")
        .ok();
    let told = world.run("explain kubeconfig --config-map prod -n tenant-a -o json");
    assert_eq!(told.json()["outcome"]["from"], "cloud");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_config_map_that_is_wrong_is_refused_by_its_key() {
    let world = World::new().await;
    let ca = world.sandbox.ca_pem().to_owned();
    let server = ("address", "https://api.example");
    for (name, further, words) in [
        ("unknown", &[("region", "us-east-1")][..], "\"region\""),
        (
            "whole",
            &[server, ("ca.crt", &ca)],
            "cluster must not be given",
        ),
        (
            "foreign",
            &[("serviceAccountName", "tenant-b/x")],
            "object's namespace",
        ),
        ("list", &[("audiences", "[a")], "audiences"),
        (
            "generic",
            &[("provider", "generic")],
            "cluster must not be given",
        ),
    ] {
        apply_cluster(&world, name, further);
        let line = format!("kubeconfig --config-map {name} -n tenant-a");
        let named = format!("config map 'tenant-a/{name}'");
        world.run(&line).refused(3, &[&named, words]);
    }
    let line = "kubeconfig --config-map absent -n tenant-a";
    world
        .run(line)
        .refused(3, &["'tenant-a/absent' does not exist"]);
    world
        .run("kubeconfig --config-map ../x -n tenant-a")
        .refused(3, &["\"../x\""]);
    world
        .sandbox
        .kubernetes()
        .deny("admin", "get", "configmaps");
    world
        .run(line)
        .refused(5, &["'tenant-a/absent'", "get of configmaps"]);
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_that_contradict_a_config_map_are_refused() {
    let world = World::new().await;
    apply_cluster(&world, "prod", &[]);
    for (further, words) in [
        ("generic", "is for provider aws"),
        ("--cluster x", "--cluster"),
        ("--address https://x.example", "--address"),
        ("--service-account y", "--service-account"),
        ("--audience z", "--audience"),
    ] {
        let line = format!("kubeconfig --config-map prod -n tenant-a {further}");
        world.run(&line).refused(2, &[words]);
    }
    world.run("kubeconfig").refused(2, &["PROVIDER"]);
}
