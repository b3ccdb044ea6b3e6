//! AssumeRoleWithWebIdentity.

use std::time::Duration;

use gatepass_sandbox::{Fault, TrustPolicy};

use crate::world::{ROLE, STS, World, changed, web_identity};

/// Parameters that differ from the good ones.
type Fields<'a> = &'a [(&'a str, &'a str)];

#[tokio::test]
async fn an_account_token_becomes_a_session_of_the_role_that_trusts_it() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    let reply = world.form(STS, &web_identity(ROLE, &token)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert!(reply.body.starts_with(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>"
    ));
    assert_eq!(
        reply.xml("Arn"),
        Some("arn:aws:sts::123456789012:assumed-role/tenant-a-ecr/session")
    );
    assert_eq!(
        reply.xml("SubjectFromWebIdentityToken"),
        Some("system:serviceaccount:tenant-a:tenant-a-ecr-sa")
    );
    assert_eq!(reply.xml("Audience"), Some("sts.amazonaws.com"));
    assert!(
        reply
            .xml("Provider")
            .unwrap()
            .starts_with("arn:aws:iam::123456789012:oidc-provider/127.0.0.1:")
    );
    assert!(reply.xml("RequestId").is_some());
    let identity = [("Action", "GetCallerIdentity"), ("Version", "2011-06-15")];
    let identity = world.signed_form(&reply.key(), &identity).await;
    assert_eq!(
        identity.xml("Arn"),
        Some("arn:aws:sts::123456789012:assumed-role/tenant-a-ecr/session")
    );
}

#[tokio::test]
async fn a_client_that_accepts_json_gets_json() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    for (token, status, pointer) in [
        (
            token.as_str(),
            200,
            "/AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/AccessKeyId",
        ),
        ("nonsense", 400, "/Error/Code"),
    ] {
        let request = http::Request::post(STS)
            .header("content-type", crate::world::FORM)
            .header("accept", "application/json");
        let body = crate::world::encoded(&web_identity(ROLE, token));
        let reply = world.send(request.body(body).unwrap()).await;
        assert_eq!(reply.status, status);
        assert!(
            reply.json().pointer(pointer).unwrap().is_string(),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn parameters_outside_the_service_model_are_refused() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    let good = web_identity(ROLE, &token);
    let (long_name, long_policy) = (
        "n".repeat(65),
        format!("{{\"Statement\":[],\"x\":\"{}\"}}", "p".repeat(2_048)),
    );
    let long_token = "t".repeat(20_001);
    let (arn, filler) = (
        format!("arn:aws:iam::aws:policy/{}", "a".repeat(200)),
        "b".repeat(1_950),
    );
    let packed = format!("{{\"Statement\":[],\"x\":\"{filler}\"}}");
    let changes: &[(Fields<'_>, &str, &str)] = &[
        (
            &[("RoleArn", "")],
            "ValidationError",
            "Value null at 'roleArn'",
        ),
        (
            &[("RoleArn", "arn:aws:iam::1")],
            "ValidationError",
            "length greater than or equal to 20",
        ),
        (
            &[("RoleArn", "arn:aws:iam::123456789012:user/x")],
            "ValidationError",
            "Request ARN is invalid",
        ),
        (
            &[("RoleSessionName", "x")],
            "ValidationError",
            "length greater than or equal to 2",
        ),
        (
            &[("RoleSessionName", &long_name)],
            "ValidationError",
            "length less than or equal to 64",
        ),
        (
            &[("RoleSessionName", "a b")],
            "ValidationError",
            "regular expression",
        ),
        (
            &[("RoleSessionName", "x"), ("RoleArn", "")],
            "ValidationError",
            "2 validation errors detected",
        ),
        (
            &[("WebIdentityToken", "abc")],
            "ValidationError",
            "greater than or equal to 4",
        ),
        (
            &[("WebIdentityToken", &long_token)],
            "ValidationError",
            "less than or equal to 20000",
        ),
        (
            &[("DurationSeconds", "899")],
            "ValidationError",
            "greater than or equal to 900",
        ),
        (
            &[("DurationSeconds", "43201")],
            "ValidationError",
            "less than or equal to 43200",
        ),
        (
            &[("DurationSeconds", "soon")],
            "ValidationError",
            "whole number",
        ),
        (
            &[("DurationSeconds", "3601")],
            "ValidationError",
            "MaxSessionDuration",
        ),
        (
            &[("ProviderId", "www.amazon.com")],
            "ValidationError",
            "ProviderId",
        ),
        (
            &[("Policy", &long_policy)],
            "ValidationError",
            "less than or equal to 2048",
        ),
        (
            &[("Policy", "{")],
            "MalformedPolicyDocument",
            "invalid Json",
        ),
        (
            &[("Policy", "{}")],
            "MalformedPolicyDocument",
            "Syntax errors",
        ),
        (
            &[("Policy", &packed), ("PolicyArns.member.1.arn", &arn)],
            "PackedPolicyTooLarge",
            "%",
        ),
        (&[("Version", "")], "InvalidAction", "NO_VERSION_SPECIFIED"),
        (&[("Version", "2011-06-16")], "InvalidAction", "2011-06-16"),
        (
            &[("Action", "AssumeRoleWithSAML")],
            "InvalidAction",
            "AssumeRoleWithSAML",
        ),
        (&[("Action", "")], "MissingAction", "Action"),
    ];
    for (change, code, message) in changes {
        let reply = world.form(STS, &changed(&good, change)).await;
        reply.assert_sts_error(400, code);
        assert!(
            reply
                .xml("Message")
                .unwrap()
                .replace("&apos;", "'")
                .contains(message),
            "{}",
            reply.body
        );
        assert!(!reply.body.contains(&token));
    }
    let reply = world
        .form(
            STS,
            &changed(
                &good,
                &[("Policy", "{\"Statement\":[]}"), ("DurationSeconds", "900")],
            ),
        )
        .await;
    assert_eq!(
        (reply.status, reply.xml("PackedPolicySize")),
        (200, Some("1")),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn only_a_good_token_of_a_trusted_subject_gets_a_session() {
    let world = World::demo().await;
    let aws = world.sandbox.aws();
    aws.role(
        "arn:aws:iam::123456789012:role/other-audience",
        TrustPolicy {
            audiences: vec!["elsewhere".to_owned()],
            ..TrustPolicy::web_identity(&world.sandbox.kubernetes().issuer(), &["*"])
        },
    )
    .unwrap();
    aws.role(
        "arn:aws-cn:iam::123456789012:role/china",
        TrustPolicy::web_identity(&world.sandbox.kubernetes().issuer(), &["*"]),
    )
    .unwrap();
    let good = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    let other = world
        .account_token("tenant-b", "tenant-b-ecr-sa", "sts.amazonaws.com")
        .await;
    let audience = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "https://elsewhere.example")
        .await;
    let foreign = world.sandbox.add_cluster().unwrap();
    foreign
        .apply_service_account("tenant-a", "tenant-a-ecr-sa", &[])
        .unwrap();
    let forged = format!(
        "{}.{}",
        good.rsplit_once('.').unwrap().0,
        other.rsplit_once('.').unwrap().1
    );
    for (role, token, status, code, message) in [
        (
            ROLE,
            "nonsense",
            400,
            "InvalidIdentityToken",
            "not a valid JWT",
        ),
        (
            ROLE,
            &audience,
            400,
            "InvalidIdentityToken",
            "Incorrect token audience",
        ),
        (ROLE, &forged, 400, "InvalidIdentityToken", "signature"),
        (
            ROLE,
            &other,
            403,
            "AccessDenied",
            "Not authorized to perform sts:AssumeRoleWithWebIdentity",
        ),
        (
            "arn:aws:iam::123456789012:role/nobody",
            &good,
            403,
            "AccessDenied",
            "Not authorized",
        ),
        (
            "arn:aws:iam::123456789012:role/other-audience",
            &good,
            403,
            "AccessDenied",
            "Not authorized",
        ),
        (
            "arn:aws-cn:iam::123456789012:role/china",
            &good,
            403,
            "AccessDenied",
            "Not authorized",
        ),
    ] {
        let reply = world.form(STS, &web_identity(role, token)).await;
        reply.assert_sts_error(status, code);
        assert!(
            reply.xml("Message").unwrap().contains(message),
            "{}",
            reply.body
        );
    }
    let reply = world
        .form(STS, &web_identity(ROLE, &format!("{good}\n")))
        .await;
    reply.assert_sts_error(400, "InvalidIdentityToken");
}

#[tokio::test]
async fn an_issuer_without_an_oidc_provider_is_refused() {
    let world = World::bare().await;
    world
        .sandbox
        .kubernetes()
        .apply_service_account("default", "app", &[])
        .unwrap();
    let token = world
        .account_token("default", "app", "sts.amazonaws.com")
        .await;
    let reply = world.form(STS, &web_identity(ROLE, &token)).await;
    reply.assert_sts_error(400, "InvalidIdentityToken");
    assert!(
        reply
            .body
            .contains("No OpenIDConnect provider found in your account for https://127.0.0.1:")
    );
}

#[tokio::test]
async fn an_expired_token_is_refused_by_the_sandbox_clock() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    world.sandbox.advance(Duration::from_secs(3_599));
    assert_eq!(
        world.form(STS, &web_identity(ROLE, &token)).await.status,
        200
    );
    world.sandbox.advance(Duration::from_secs(1));
    let reply = world.form(STS, &web_identity(ROLE, &token)).await;
    reply.assert_sts_error(400, "ExpiredTokenException");
}

#[tokio::test]
async fn an_issuer_that_fails_is_told_apart_from_one_that_lies() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    let issuer = world.sandbox.kubernetes().host();
    let lie = br#"{"issuer":"https://127.0.0.1:1","jwks_uri":"https://127.0.0.1:1/keys"}"#;
    for (fault, code) in [
        (
            Fault::Status {
                code: 503,
                body: Vec::new(),
                headers: Vec::new(),
            },
            "IDPCommunicationError",
        ),
        (Fault::CutOff, "IDPCommunicationError"),
        (Fault::Body(b"<html>".to_vec()), "InvalidIdentityToken"),
        (Fault::Body(lie.to_vec()), "InvalidIdentityToken"),
    ] {
        world.sandbox.faults().set(&issuer, "/.well-known/", fault);
        world
            .form(STS, &web_identity(ROLE, &token))
            .await
            .assert_sts_error(400, code);
    }
    world.sandbox.faults().clear();
    assert_eq!(
        world.form(STS, &web_identity(ROLE, &token)).await.status,
        200
    );
}

#[tokio::test]
async fn every_partition_and_variant_of_the_host_is_served() {
    let world = World::demo().await;
    let token = world
        .account_token("tenant-a", "tenant-a-ecr-sa", "sts.amazonaws.com")
        .await;
    for host in [
        "sts.eu-west-1.amazonaws.com",
        "sts-fips.us-east-2.amazonaws.com",
        "sts.us-east-1.api.aws",
        "sts.amazonaws.com",
        "vpce-1a.sts.us-east-1.vpce.amazonaws.com",
    ] {
        let reply = world
            .form(&format!("https://{host}/"), &web_identity(ROLE, &token))
            .await;
        assert_eq!(reply.status, 200, "{host}: {}", reply.body);
    }
    let role = "arn:aws-cn:iam::123456789012:role/china";
    let issuer = world.sandbox.kubernetes().issuer();
    world
        .sandbox
        .aws()
        .role(role, TrustPolicy::web_identity(&issuer, &["*"]))
        .unwrap();
    let reply = world
        .form(
            "https://sts.cn-north-1.amazonaws.com.cn/",
            &web_identity(role, &token),
        )
        .await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let reply = world
        .form("https://sts.nowhere.example/", &web_identity(ROLE, &token))
        .await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (404, "the sandbox serves no host \"sts.nowhere.example\"")
    );
}
