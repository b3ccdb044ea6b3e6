//! EKS: DescribeCluster, and the tokens that its API server takes.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use gatepass_sandbox::{AccessKey, EksCluster, TrustPolicy};

use crate::world::{Reply, Signer, World};

const ROLE: &str = "arn:aws:iam::123456789012:role/tenant-a-eks";
const CLUSTER: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";
const QUERY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

async fn describe(world: &World, key: &AccessKey, host: &str, region: &str, name: &str) -> Reply {
    let request = http::Request::get(format!("https://{host}/clusters/{name}"))
        .body(String::new())
        .unwrap();
    world
        .send(
            Signer {
                region,
                ..world.signer(key, "eks")
            }
            .header(request),
        )
        .await
}

fn presigned(signer: &Signer<'_>, host: &str, query: &str, cluster: &str) -> String {
    let request =
        http::Request::get(format!("https://{host}/?{query}")).header("x-k8s-aws-id", cluster);
    signer
        .query(request.body(String::new()).unwrap())
        .uri()
        .to_string()
}

fn token(url: &str) -> String {
    format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url))
}

fn greeting(cluster: &EksCluster) -> String {
    format!(
        "{}/api/v1/namespaces/tenant-a/configmaps/greeting",
        cluster.kubernetes().url()
    )
}

#[tokio::test]
async fn a_described_cluster_is_reachable_with_a_presigned_token() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-eks-sa", ROLE).await;
    let reply = describe(
        &world,
        &key,
        "eks.us-east-1.amazonaws.com",
        "us-east-1",
        "demo",
    )
    .await;
    let cluster = &reply.json()["cluster"];
    assert_eq!(
        (cluster["status"].as_str(), cluster["arn"].as_str()),
        (Some("ACTIVE"), Some(CLUSTER))
    );
    let authority = STANDARD
        .decode(cluster["certificateAuthority"]["data"].as_str().unwrap())
        .unwrap();
    assert_eq!(authority, world.sandbox.ca_pem().as_bytes());
    assert_eq!(cluster["identity"]["oidc"]["issuer"], cluster["endpoint"]);
    let url = presigned(
        &world.signer(&key, "sts"),
        "sts.us-east-1.amazonaws.com",
        QUERY,
        "demo",
    );
    let endpoint = cluster["endpoint"].as_str().unwrap();
    let reply = world
        .bearer(
            &format!("{endpoint}/api/v1/namespaces/tenant-a/configmaps/greeting"),
            &token(&url),
        )
        .await;
    assert_eq!(
        (reply.status, &reply.json()["data"]["tenant"]),
        (200, &"tenant-a".into()),
        "{}",
        reply.body
    );
    let reply = world
        .bearer(
            &format!("{endpoint}/api/v1/namespaces/tenant-b/configmaps/greeting"),
            &token(&url),
        )
        .await;
    let message = "configmaps \"greeting\" is forbidden: User \"tenant-a\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"tenant-b\"";
    assert_eq!(
        (reply.status, &reply.json()["message"]),
        (403, &message.into())
    );
}

#[tokio::test]
async fn clusters_are_found_in_the_callers_account_and_region_alone() {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    let key = world.assume("tenant-a-eks-sa", ROLE).await;
    let elsewhere = "arn:aws:iam::210987654321:role/other";
    aws.role(elsewhere, TrustPolicy::default()).unwrap();
    let other = aws
        .session(elsewhere, "session", Duration::from_secs(900))
        .unwrap();
    for (key, host, region, name, status, code) in [
        (
            &key,
            "fips.eks.us-east-1.amazonaws.com",
            "us-east-1",
            "demo",
            200,
            "",
        ),
        (&key, "eks.us-east-1.api.aws", "us-east-1", "demo", 200, ""),
        (
            &key,
            "eks.us-east-1.amazonaws.com",
            "us-east-1",
            "nope",
            404,
            "ResourceNotFoundException",
        ),
        (
            &key,
            "eks.eu-west-1.amazonaws.com",
            "eu-west-1",
            "demo",
            404,
            "ResourceNotFoundException",
        ),
        (
            &other,
            "eks.us-east-1.amazonaws.com",
            "us-east-1",
            "demo",
            404,
            "ResourceNotFoundException",
        ),
        (
            &key,
            "eks.us-east-1.amazonaws.com",
            "us-east-1",
            "-x",
            400,
            "InvalidParameterException",
        ),
    ] {
        let reply = describe(&world, key, host, region, name).await;
        assert_eq!(
            (reply.status, reply.header("x-amzn-errortype")),
            (status, code),
            "{host} {name}: {}",
            reply.body
        );
    }
    aws.deny(ROLE, "eks:*");
    let reply = describe(
        &world,
        &key,
        "eks.us-east-1.amazonaws.com",
        "us-east-1",
        "demo",
    )
    .await;
    assert_eq!(
        (reply.status, reply.header("x-amzn-errortype")),
        (403, "AccessDeniedException")
    );
    assert!(
        reply
            .body
            .contains(&format!("eks:DescribeCluster on resource: {CLUSTER}"))
    );
}

#[tokio::test]
async fn a_cluster_that_is_being_created_has_no_endpoint() {
    let world = World::demo().await;
    let key = world.assume("tenant-a-eks-sa", ROLE).await;
    world.sandbox.aws().eks(CLUSTER).unwrap().set_creating(true);
    let reply = describe(
        &world,
        &key,
        "eks.us-east-1.amazonaws.com",
        "us-east-1",
        "demo",
    )
    .await;
    let cluster = &reply.json()["cluster"];
    assert_eq!(cluster["status"], "CREATING");
    assert!(cluster["endpoint"].is_null() && cluster["certificateAuthority"]["data"].is_null());
}

#[tokio::test]
async fn every_rule_of_the_authenticator_holds() {
    let world = World::demo().await;
    let cluster = world.sandbox.aws().eks(CLUSTER).unwrap();
    let key = world.assume("tenant-a-eks-sa", ROLE).await;
    let unmapped = "arn:aws:iam::123456789012:role/unmapped";
    world
        .sandbox
        .aws()
        .role(unmapped, TrustPolicy::default())
        .unwrap();
    let stranger = world
        .sandbox
        .aws()
        .session(unmapped, "session", Duration::from_secs(900))
        .unwrap();
    let signer = world.signer(&key, "sts");
    let host = "sts.us-east-1.amazonaws.com";
    let good = presigned(&signer, host, QUERY, "demo");
    let late = Signer {
        time: signer.time - Duration::from_secs(900),
        ..world.signer(&key, "sts")
    };
    let in_europe = Signer {
        region: "eu-west-1",
        ..world.signer(&key, "sts")
    };
    let unsigned = http::Request::get(format!("https://{host}/?{QUERY}"))
        .body(String::new())
        .unwrap();
    let unsigned = signer.query(unsigned).uri().to_string();
    let forged = good.replace("X-Amz-Signature=", "X-Amz-Signature=0");
    for (name, token, accepted) in [
        ("good", token(&good), true),
        (
            "another region of the partition",
            token(&presigned(
                &in_europe,
                "sts.eu-west-1.amazonaws.com",
                QUERY,
                "demo",
            )),
            true,
        ),
        (
            "the global host",
            token(&presigned(&signer, "sts.amazonaws.com", QUERY, "demo")),
            true,
        ),
        (
            "dual-stack",
            token(&presigned(&signer, "sts.us-east-1.api.aws", QUERY, "demo")),
            true,
        ),
        ("no prefix", URL_SAFE_NO_PAD.encode(&good), false),
        ("padded", format!("{}=", token(&good)), false),
        (
            "too long",
            token(&format!(
                "{good}&X-Amz-Security-Token={}",
                "t".repeat(4_096)
            )),
            false,
        ),
        ("http", token(&good.replace("https://", "http://")), false),
        ("a path", token(&good.replace(".com/?", ".com/x?")), false),
        (
            "a port",
            token(&good.replace(".com/?", ".com:8443/?")),
            false,
        ),
        (
            "an unknown key",
            token(&presigned(
                &signer,
                host,
                &format!("{QUERY}&Extra=1"),
                "demo",
            )),
            false,
        ),
        (
            "a key twice",
            token(&presigned(
                &signer,
                host,
                &format!("{QUERY}&action=GetCallerIdentity"),
                "demo",
            )),
            false,
        ),
        (
            "another action",
            token(&presigned(
                &signer,
                host,
                "Action=GetSessionToken&Version=2011-06-15",
                "demo",
            )),
            false,
        ),
        ("an unsigned cluster", token(&unsigned), false),
        (
            "another cluster",
            token(&presigned(&signer, host, QUERY, "other")),
            false,
        ),
        (
            "expires too late",
            token(&good.replace("X-Amz-Expires=60", "X-Amz-Expires=901")),
            false,
        ),
        (
            "expires before",
            token(&good.replace("X-Amz-Expires=60", "X-Amz-Expires=-1")),
            false,
        ),
        (
            "a VPC endpoint",
            token(&presigned(
                &signer,
                "vpce-1.sts.us-east-1.vpce.amazonaws.com",
                QUERY,
                "demo",
            )),
            false,
        ),
        (
            "another partition",
            token(&presigned(
                &signer,
                "sts.cn-north-1.amazonaws.com.cn",
                QUERY,
                "demo",
            )),
            false,
        ),
        (
            "no STS host",
            token(&presigned(
                &signer,
                "api.ecr.us-east-1.amazonaws.com",
                QUERY,
                "demo",
            )),
            false,
        ),
        (
            "too old",
            token(&presigned(&late, host, QUERY, "demo")),
            false,
        ),
        ("forged", token(&forged), false),
        (
            "unmapped",
            token(&presigned(
                &world.signer(&stranger, "sts"),
                host,
                QUERY,
                "demo",
            )),
            false,
        ),
    ] {
        let reply = world.bearer(&greeting(&cluster), &token).await;
        let expected = if accepted { 200 } else { 401 };
        assert_eq!(reply.status, expected, "{name}: {}", reply.body);
    }
}

#[tokio::test]
async fn a_token_outlives_its_expires_parameter_up_to_fifteen_minutes() {
    let world = World::demo().await;
    let cluster = world.sandbox.aws().eks(CLUSTER).unwrap();
    let key = world.assume("tenant-a-eks-sa", ROLE).await;
    let url = presigned(
        &world.signer(&key, "sts"),
        "sts.us-east-1.amazonaws.com",
        QUERY,
        "demo",
    );
    for (advance, status) in [(899, 200), (1, 401)] {
        world.sandbox.advance(Duration::from_secs(advance));
        assert_eq!(
            world.bearer(&greeting(&cluster), &token(&url)).await.status,
            status
        );
    }
}
