//! Instance metadata and container credentials.

use std::time::Duration;

use crate::world::{ROLE, Reply, World};

async fn get(world: &World, url: &str, header: Option<(&str, &str)>) -> Reply {
    let mut request = http::Request::get(url);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    world.send(request.body(String::new()).unwrap()).await
}

async fn put(world: &World, headers: &[(&str, &str)]) -> Reply {
    let url = format!("{}/latest/api/token", world.sandbox.aws().metadata_url());
    let request = headers
        .iter()
        .fold(http::Request::put(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    world.send(request.body(String::new()).unwrap()).await
}

const TTL: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const TOKEN: &str = "x-aws-ec2-metadata-token";

#[tokio::test]
async fn a_metadata_token_is_given_for_one_second_to_six_hours() {
    let world = World::demo().await;
    for (headers, status) in [
        (&[(TTL, "21600")] as &[_], 200),
        (&[(TTL, "1")], 200),
        (&[(TTL, "0")], 400),
        (&[(TTL, "21601")], 400),
        (&[], 400),
        (&[(TTL, "60"), ("x-forwarded-for", "10.0.0.1")], 403),
    ] {
        assert_eq!(put(&world, headers).await.status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn an_instance_gets_working_credentials_of_its_role() {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    aws.set_instance(Some(ROLE), "eu-west-1");
    let token = put(&world, &[(TTL, "60")]).await.body;
    let base = format!("{}/latest/meta-data", aws.metadata_url());
    let roles = format!("{base}/iam/security-credentials/");
    let header = Some((TOKEN, token.as_str()));
    assert_eq!(get(&world, &roles, header).await.body, "tenant-a-ecr");
    assert_eq!(
        get(&world, &format!("{base}/placement/region"), header)
            .await
            .body,
        "eu-west-1"
    );
    let document = get(&world, &format!("{roles}tenant-a-ecr"), header)
        .await
        .json();
    assert_eq!(document["Code"], "Success");
    let text = |field: &str| document[field].as_str().unwrap().to_owned();
    let key = gatepass_sandbox::AccessKey {
        access_key_id: text("AccessKeyId"),
        secret_access_key: text("SecretAccessKey"),
        session_token: Some(text("Token")),
    };
    let reply = world
        .signed_form(
            &key,
            &[("Action", "GetCallerIdentity"), ("Version", "2011-06-15")],
        )
        .await;
    assert!(
        reply
            .xml("Arn")
            .unwrap()
            .contains("assumed-role/tenant-a-ecr/i-"),
        "{}",
        reply.body
    );
    assert_eq!(
        get(&world, &format!("{roles}other"), header).await.status,
        404
    );
    world.sandbox.advance(Duration::from_secs(60));
    assert_eq!(get(&world, &roles, header).await.status, 401);
}

#[tokio::test]
async fn version_one_is_served_only_when_it_is_switched_on() {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    aws.set_instance(Some(ROLE), "us-east-1");
    let url = format!("{}/latest/meta-data/placement/region", aws.metadata_url());
    assert_eq!(get(&world, &url, None).await.status, 401);
    aws.require_metadata_token(false);
    assert_eq!(get(&world, &url, None).await.status, 200);
    assert_eq!(get(&world, &url, Some((TOKEN, "wrong"))).await.status, 401);
}

#[tokio::test]
async fn a_container_must_show_its_authorization() {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    aws.set_container(Some(ROLE), Some("let-me-in"));
    let url = aws.container_credentials_url();
    for (header, status) in [
        (None, 401),
        (Some(("authorization", "wrong")), 401),
        (Some(("authorization", "let-me-in")), 200),
    ] {
        assert_eq!(get(&world, &url, header).await.status, status);
    }
    let document = get(&world, &url, Some(("authorization", "let-me-in")))
        .await
        .json();
    assert_eq!(document["AccountId"], "123456789012");
    assert!(document["Token"].is_string() && document["Expiration"].is_string());
}
