//! `gatepass explain`.

use crate::world::{ECR_ACCOUNT, ECR_ROLE, EKS, EKS_ACCOUNT, World};
use serde_json::Value;

fn names(told: &Value) -> Vec<&str> {
    told["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_decision_is_told_and_no_secret() {
    let world = World::new().await;
    let line = format!("explain token aws {ECR_ACCOUNT} --region us-east-1");
    let told = world.run(&format!("{line} -o json")).json();
    for expected in [
        "gate", "provider", "account", "identity", "key", "token", "egress", "exchange", "cache",
    ] {
        assert!(names(&told).contains(&expected), "{expected} in {told:#}");
    }
    assert_eq!(told["outcome"]["identity"], ECR_ROLE);
    let words = world.run(&line).ok();
    for expected in [
        "1. gate: ok",
        "stsRegion: us-east-1",
        "outcome: miss",
        "sts.us-east-1.amazonaws.com",
    ] {
        assert!(words.contains(expected), "{expected} in {words}");
    }
    for text in [told.to_string(), words] {
        assert!(!text.contains("eyJ"), "a JWT begins so: {text}");
        let secret = text
            .split(|character: char| !character.is_ascii_alphanumeric())
            .any(|word| word.len() > 64);
        assert!(!secret, "nothing is longer than a digest: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_and_clusters_are_explained_too() {
    let world = World::new().await;
    let line = format!(
        "explain registry aws 123456789012.dkr.ecr.us-east-1.amazonaws.com/app {ECR_ACCOUNT} -o json"
    );
    let told = world.run(&line).json();
    assert!(names(&told).contains(&"login"), "{told:#}");
    let told = world
        .run(&format!(
            "explain kubeconfig aws --cluster {EKS} {EKS_ACCOUNT} -o json"
        ))
        .json();
    assert!(names(&told).contains(&"rest config"), "{told:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_explained_and_ends_as_the_command_would() {
    let world = World::new().await;
    let role = (
        "eks.amazonaws.com/role-arn",
        "arn:aws:iam::123456789012:role/tenant-b-ecr",
    );
    world
        .sandbox
        .kubernetes()
        .apply_service_account("tenant-a", "intruder", &[role])
        .unwrap();
    let line = "token aws --service-account tenant-a/intruder --region us-east-1";
    let command = world.run(line);
    assert_eq!(command.code, Some(4), "{command:?}");
    let explained = world.run(&format!("explain {line} -o json"));
    assert_eq!(explained.code, Some(4), "{explained:?}");
    let told: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(
        (&told["outcome"]["ok"], &told["outcome"]["exitCode"]),
        (&false.into(), &4.into())
    );
    assert_eq!(
        told["steps"].as_array().unwrap().last().unwrap()["ok"],
        false
    );
    assert!(
        explained.stderr.starts_with("error: "),
        "{}",
        explained.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_gate_is_the_one_decision() {
    let world = World::new().await;
    let line = format!(
        "explain token aws {ECR_ACCOUNT} --feature-gates ObjectLevelWorkloadIdentity=false -o json"
    );
    let ran = world.run(&line);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(names(&told), ["gate", "refused"], "{told:#}");
    assert!(
        told["outcome"]["change"]
            .as_str()
            .unwrap()
            .contains("--feature-gates")
    );
    assert!(world.sandbox.requests().is_empty(), "nothing is read");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trust_that_a_subject_needs_is_told() {
    let world = World::new().await;
    let line = "token generic --service-account tenant-a/workload --audience vault";
    let issuer = "https://issuer.example";
    for (line, issuer) in [
        (
            format!("explain --trust {line}"),
            world.sandbox.kubernetes().issuer(),
        ),
        (
            format!("explain {line} --trust --issuer {issuer}"),
            issuer.to_owned(),
        ),
    ] {
        let told = world.run(&line).json();
        assert_eq!(told["issuer"], issuer.as_str(), "{told}");
        assert_eq!(told["subject"], "system:serviceaccount:tenant-a:workload");
        assert_eq!(told["audiences"], serde_json::json!(["vault"]));
    }
    let process = "explain --trust token aws --region us-east-1";
    world.run(process).refused(3, &["no token"]);
    world
        .run(&format!("explain {line} --issuer https://issuer.example"))
        .refused(2, &["--trust"]);
    world
        .run("explain --trust token generic --audience vault -n tenant-a -o env")
        .refused(2, &["table, json"]);
}
