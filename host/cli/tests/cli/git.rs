//! `gatepass git`.

use crate::world::{ECR_ACCOUNT, Ran, World};
use std::io::Write;
use std::process::{Output, Stdio};

const URL: &str = "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app";

/// Runs the helper as git does, with a question on standard input.
fn helper(world: &World, line: &str, question: &str) -> Ran {
    let mut command = world.command(line);
    let streams = || Stdio::piped();
    command.stdin(streams()).stdout(streams()).stderr(streams());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(question.as_bytes()).unwrap();
    drop(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    Ran {
        code: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_remote_is_refused() {
    let world = World::new().await;
    for (rest, code, words) in [
        ("ssh://git@a.example/x", 3, "https"),
        ("https://canary@a.example/x", 3, "no user"),
        (
            &format!("{URL} -o docker-config"),
            2,
            "table, json, git-credential, token",
        ),
        (
            &format!("{URL} --credential-helper get"),
            2,
            "--credential-helper",
        ),
        ("--credential-helper get -o json", 2, "--output"),
        ("", 2, "URL"),
    ] {
        let ran = world.run(&format!("git aws {ECR_ACCOUNT} {rest}"));
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
        ran.refused(code, &[words]);
    }
    let explained = world.run("explain git aws --credential-helper get");
    assert_eq!(explained.code, Some(2), "{explained:?}");
    assert!(explained.stderr.contains("URL"), "{explained:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_without_remotes_says_so() {
    let world = World::new().await;
    let line = format!("git generic --service-account tenant-a/workload {URL}");
    world.run(&line).refused(3, &["'generic'"]);
    let explained = world.run(&format!("explain {line} -o json"));
    assert_eq!(explained.code, Some(3), "{explained:?}");
    assert!(explained.stdout.contains("\"ok\": false"), "{explained:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn git_is_answered_in_its_protocol() {
    let world = World::new().await;
    let line = |operation: &str| {
        format!("git generic --service-account tenant-a/workload --credential-helper {operation}")
    };
    let question = "protocol=https\nhost=git.example\npath=a/b\n\n";
    // Nothing is kept, and operations of a later git are not for this helper.
    for operation in ["store", "erase", "capability"] {
        let ran = helper(&world, &line(operation), question);
        assert_eq!((ran.ok().as_str(), operation), ("", operation));
    }
    helper(&world, &line("get"), question).refused(3, &["'generic'"]);
    helper(&world, &line("get"), "protocol=https\nhost=git.example\n\n")
        .refused(3, &["credential.useHttpPath"]);
    for question in ["protocol=http\nhost=a.example\n", "", "password canary\n"] {
        let ran = helper(&world, &line("get"), question);
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
        ran.refused(2, &["git"]);
    }
}
