//! ECR, private and public.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sandbox::AccessKey;

use crate::world::{ROLE, Reply, Signer, World};

const PRIVATE: &str = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
const PUBLIC: &str = "SpencerFrontendService.GetAuthorizationToken";

async fn ask(
    world: &World,
    key: &AccessKey,
    host: &str,
    region: &str,
    target: &str,
    body: &str,
) -> Reply {
    let service = if target == PUBLIC {
        "ecr-public"
    } else {
        "ecr"
    };
    let request = http::Request::post(format!("https://{host}/"))
        .header("content-type", "application/x-amz-json-1.1")
        .header("x-amz-target", target)
        .body(body.to_owned())
        .unwrap();
    let signer = Signer {
        region,
        ..world.signer(key, service)
    };
    world.send(signer.header(request)).await
}

fn login(token: &serde_json::Value) -> (String, String) {
    let decoded = STANDARD.decode(token.as_str().unwrap()).unwrap();
    let decoded = String::from_utf8(decoded).unwrap();
    let (user, password) = decoded.split_once(':').unwrap();
    (user.to_owned(), password.to_owned())
}

#[tokio::test]
async fn a_session_gets_a_registry_password_for_twelve_hours() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    for (host, region, registry) in [
        (
            "api.ecr.us-east-1.amazonaws.com",
            "us-east-1",
            "123456789012.dkr.ecr.us-east-1.amazonaws.com",
        ),
        (
            "api.ecr-fips.us-west-2.amazonaws.com",
            "us-west-2",
            "123456789012.dkr.ecr.us-west-2.amazonaws.com",
        ),
        (
            "ecr.eu-west-1.api.aws",
            "eu-west-1",
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
        ),
    ] {
        let reply = ask(&world, &key, host, region, PRIVATE, "{}").await;
        assert_eq!(reply.status, 200, "{host}: {}", reply.body);
        let data = &reply.json()["authorizationData"][0];
        assert_eq!(data["proxyEndpoint"], format!("https://{registry}"));
        assert!(data["expiresAt"].is_f64());
        let (user, password) = login(&data["authorizationToken"]);
        let known = world
            .sandbox
            .aws()
            .verify_registry_login(&user, &password)
            .unwrap();
        assert_eq!(known.registry, registry);
        assert_eq!(
            known.principal,
            "arn:aws:sts::123456789012:assumed-role/tenant-a-ecr/session"
        );
        assert!(
            world
                .sandbox
                .aws()
                .verify_registry_login("root", &password)
                .is_none()
        );
    }
    let reply = ask(
        &world,
        &key,
        "api.ecr.us-east-1.amazonaws.com",
        "us-east-1",
        PRIVATE,
        "{}",
    )
    .await;
    let (user, password) = login(&reply.json()["authorizationData"][0]["authorizationToken"]);
    world.sandbox.advance(Duration::from_secs(12 * 3_600));
    assert!(
        world
            .sandbox
            .aws()
            .verify_registry_login(&user, &password)
            .is_none()
    );
}

#[tokio::test]
async fn the_public_registry_answers_an_object_and_lives_in_one_region() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    let reply = ask(
        &world,
        &key,
        "api.ecr-public.us-east-1.amazonaws.com",
        "us-east-1",
        PUBLIC,
        "{}",
    )
    .await;
    let data = &reply.json()["authorizationData"];
    assert!(
        data.is_object() && data["proxyEndpoint"].is_null(),
        "{}",
        reply.body
    );
    let (user, password) = login(&data["authorizationToken"]);
    assert_eq!(
        world
            .sandbox
            .aws()
            .verify_registry_login(&user, &password)
            .unwrap()
            .registry,
        "public.ecr.aws"
    );
    let elsewhere = ask(
        &world,
        &key,
        "api.ecr-public.eu-west-1.amazonaws.com",
        "eu-west-1",
        PUBLIC,
        "{}",
    )
    .await;
    assert_eq!(elsewhere.status, 404);
}

#[tokio::test]
async fn wrong_requests_are_refused_in_the_services_shape() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    let host = "api.ecr.us-east-1.amazonaws.com";
    for (target, body, code) in [
        (
            "AmazonEC2ContainerRegistry_V20150921.DeleteRepository",
            "{}",
            "UnknownOperationException",
        ),
        (PRIVATE, "", "SerializationException"),
        (PRIVATE, "{\"registryIds\":[]}", "InvalidParameterException"),
        (
            PRIVATE,
            "{\"registryIds\":[\"1\"]}",
            "InvalidParameterException",
        ),
    ] {
        let reply = ask(&world, &key, host, "us-east-1", target, body).await;
        assert_eq!(
            (reply.status, &reply.json()["__type"]),
            (400, &code.into()),
            "{}",
            reply.body
        );
    }
    let reply = ask(
        &world,
        &key,
        host,
        "us-east-1",
        PRIVATE,
        "{\"registryIds\":[\"210987654321\"]}",
    )
    .await;
    let endpoint = &reply.json()["authorizationData"][0]["proxyEndpoint"];
    assert_eq!(
        endpoint,
        "https://210987654321.dkr.ecr.us-east-1.amazonaws.com"
    );
}

#[tokio::test]
async fn a_refused_action_names_caller_action_and_resource() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    world.sandbox.aws().deny(ROLE, "ecr:GetAuthorizationToken");
    world.sandbox.aws().deny(ROLE, "sts:GetServiceBearerToken");
    for (host, target, action) in [
        (
            "api.ecr.us-east-1.amazonaws.com",
            PRIVATE,
            "ecr:GetAuthorizationToken",
        ),
        (
            "api.ecr-public.us-east-1.amazonaws.com",
            PUBLIC,
            "sts:GetServiceBearerToken",
        ),
    ] {
        let reply = ask(&world, &key, host, "us-east-1", target, "{}").await;
        assert_eq!(
            (reply.status, &reply.json()["__type"]),
            (400, &"AccessDeniedException".into())
        );
        let message = format!(
            "User: arn:aws:sts::123456789012:assumed-role/tenant-a-ecr/session is not authorized to perform: {action} on resource: *"
        );
        assert!(
            reply.json()["message"]
                .as_str()
                .unwrap()
                .starts_with(&message),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn a_password_opens_the_registry_that_it_is_for() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-ecr-sa", ROLE).await;
    let api = "api.ecr.us-east-1.amazonaws.com";
    let reply = ask(&world, &key, api, "us-east-1", PRIVATE, "{}").await;
    let token = reply.json()["authorizationData"][0]["authorizationToken"].clone();
    let token = token.as_str().unwrap();
    for (host, authorization, status) in [
        ("123456789012.dkr.ecr.us-east-1.amazonaws.com", token, 200),
        (
            "123456789012.dkr.ecr.us-east-1.amazonaws.com",
            "QVdTOng=",
            401,
        ),
        ("123456789012.dkr.ecr.us-west-2.amazonaws.com", token, 401),
        ("210987654321.dkr.ecr.us-east-1.amazonaws.com", token, 401),
        ("public.ecr.aws", token, 401),
    ] {
        let request = http::Request::get(format!("https://{host}/v2/"))
            .header("authorization", format!("Basic {authorization}"));
        let reply = world.send(request.body(String::new()).unwrap()).await;
        assert_eq!(reply.status, status, "{host}: {}", reply.body);
        let challenge = reply.header("www-authenticate");
        assert_eq!(challenge.starts_with("Basic realm="), status == 401);
    }
}
