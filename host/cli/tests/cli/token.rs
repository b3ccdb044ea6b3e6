//! `gatepass token`.

use crate::world::{ECR_ACCOUNT, ECR_ROLE, Ran, World, program};

fn aws(rest: &str) -> String {
    format!("token aws {ECR_ACCOUNT} --region us-east-1 {rest}")
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_printed_in_every_output_that_fits_them() {
    let world = World::new().await;
    let keys = world.run(&aws("-o json")).json();
    assert_eq!(
        (keys["identity"].as_str(), keys["from"].as_str()),
        (Some(ECR_ROLE), Some("cloud"))
    );
    assert!(
        keys["aws"]["accessKeyId"]
            .as_str()
            .unwrap()
            .starts_with("ASIA"),
        "{keys}"
    );
    let process = world.run(&aws("-o aws-credential-process")).json();
    assert_eq!(process["Version"], 1);
    assert!(
        process["SessionToken"]
            .as_str()
            .is_some_and(|token| !token.is_empty())
    );
    let env = world.run(&aws("-o env")).ok();
    let names: Vec<&str> = env
        .lines()
        .filter_map(|line| line.strip_prefix("export ")?.split('=').next())
        .collect();
    assert_eq!(
        names,
        [
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_CREDENTIAL_EXPIRATION"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_shows_no_secret_and_says_how_to_get_it() {
    let world = World::new().await;
    let ran = world.run(&aws(""));
    assert!(
        ran.stderr.contains("-o json, env, aws-credential-process"),
        "{ran:?}"
    );
    let table = ran.ok();
    for expected in [ECR_ROLE, "ASIA", "expires", "cloud"] {
        assert!(table.contains(expected), "{table}");
    }
    let longest = table.split_whitespace().map(str::len).max().unwrap();
    assert!(
        longest < 100,
        "a session token is longer than any fact: {table}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generic_token_is_for_its_audience() {
    let world = World::new().await;
    let token = world
        .run("token generic --service-account tenant-b/workload --audience vault -o token")
        .ok();
    assert_eq!(token.trim_end().split('.').count(), 3, "a JWT");
    assert!(token.ends_with('\n'));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_namespace_comes_from_the_flag_or_the_kubeconfig() {
    let world = World::new().await;
    let line = "token generic --service-account workload --audience vault -o json";
    world.run(line).refused(5, &["default/workload"]);
    let identity = world.run(&format!("{line} -n tenant-a")).json();
    assert_eq!(
        identity["identity"],
        "system:serviceaccount:tenant-a:workload"
    );
    let kubeconfig = world.sandbox.kubernetes().kubeconfig("admin");
    world.write(
        "kubeconfig",
        &kubeconfig.replace(
            "    cluster: sandbox\n",
            "    cluster: sandbox\n    namespace: tenant-b\n",
        ),
    );
    let identity = world.run(line).json();
    assert_eq!(
        identity["identity"],
        "system:serviceaccount:tenant-b:workload"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environments_region_is_a_fall_back_for_aws_alone() {
    let world = World::new().await;
    let line = format!("token aws {ECR_ACCOUNT} -o json");
    world.run(&line).refused(3, &["region"]);
    Ran::of(world.command(&line).env("AWS_REGION", "us-east-1")).ok();
    let generic = "token generic --service-account tenant-a/workload --audience vault -o json";
    Ran::of(world.command(generic).env("AWS_REGION", "us-east-1")).ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_account_serves_a_namespace() {
    let world = World::new().await;
    let line =
        "token generic -n tenant-a --audience vault --default-service-account workload -o json";
    assert_eq!(
        world.run(line).json()["identity"],
        "system:serviceaccount:tenant-a:workload"
    );
    let line = "token generic -n default --audience vault --default-service-account workload";
    world.run(line).refused(6, &["lockdown"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_asks_the_cloud_once() {
    let world = World::new().await;
    world.run(&aws("-o json")).ok();
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_kubeconfig_list_that_are_not_there_count_for_nothing() {
    let world = World::new().await;
    let list = |kubeconfig: &str| format!("/nonexistent/first:{kubeconfig}");
    let run = |kubeconfig: &str| {
        let mut command = program();
        command.args(aws("").split_whitespace());
        command.arg("--config").arg(world.path("gatepass.yaml"));
        Ran::of(command.env("KUBECONFIG", list(kubeconfig)))
    };
    run(&world.path("kubeconfig").display().to_string()).ok();
    run("/nonexistent/second").refused(3, &["/nonexistent/first"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_alone_is_noted_to_mean_the_process_itself() {
    let world = World::new().await;
    let mut command = world.command("token aws -n tenant-a --region us-east-1 -o json");
    command
        .env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "canary");
    let ran = Ran::of(&mut command);
    assert!(
        ran.stderr.contains("no service account of 'tenant-a'"),
        "{ran:?}"
    );
    assert_eq!(ran.json()["identity"], "ambient");
}
