//! `--link` and `--start-with-aws-keys`.

use crate::world::{ECR_ACCOUNT, Ran, World};

fn aws(rest: &str) -> String {
    format!("token aws {ECR_ACCOUNT} --region us-east-1 {rest}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_chain_is_refused_before_the_cloud_is_asked() {
    let world = World::new().await;
    let link = "--link role-arn=arn:aws:iam::123456789012:role/deploy";
    for (rest, code, words) in [
        ("--link role-arn", 2, "NAME=VALUE"),
        ("--link a=b,a=c", 2, "given twice"),
        ("--start-with-aws-keys", 2, "--link"),
        (
            &format!("{link} --start-with-aws-keys"),
            2,
            "$AWS_ACCESS_KEY_ID",
        ),
        (&[link; 5].join(" "), 3, "longer than 4"),
        ("--link nope=1", 3, "'nope'"),
    ] {
        world.run(&aws(rest)).refused(code, &[words]);
    }
    assert_eq!(world.asked("AssumeRoleWithWebIdentity"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_environment_are_not_shown() {
    let world = World::new().await;
    let line = aws("--link role-arn=x --start-with-aws-keys");
    let mut command = world.command(&line);
    command
        .env("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "can ary");
    let ran = Ran::of(&mut command);
    assert!(!ran.stderr.contains("can ary"), "{ran:?}");
    ran.refused(2, &["$AWS_SECRET_ACCESS_KEY"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_of_a_further_link_is_not_made_up() {
    let world = World::new().await;
    let line = "explain --trust token aws --service-account tenant-a/tenant-a-ecr-sa --region us-east-1 --issuer https://issuer.example --link role-arn=arn:aws:iam::210987654321:role/deploy";
    world
        .run(line)
        .refused(3, &["further links", "leave the links out"]);
}
