//! Signatures: those of the vendor's own signer are accepted, anything else is not.

use std::time::Duration;

use gatepass_sandbox::{AccessKey, TrustPolicy};

use crate::world::{FORM, ROLE, Reply, STS, Signer, World, encoded};

const IDENTITY: [(&str, &str); 2] = [("Action", "GetCallerIdentity"), ("Version", "2011-06-15")];

fn post() -> http::Request<String> {
    http::Request::post(STS)
        .header("content-type", FORM)
        .body(encoded(&IDENTITY))
        .unwrap()
}

fn get() -> http::Request<String> {
    http::Request::get(format!("{STS}?{}", encoded(&IDENTITY)))
        .body(String::new())
        .unwrap()
}

async fn world() -> (World, AccessKey) {
    let world = World::demo().await;
    let key = world
        .sandbox
        .aws()
        .session(ROLE, "session", Duration::from_secs(3_600))
        .unwrap();
    (world, key)
}

#[tokio::test]
async fn header_and_query_signatures_of_the_vendors_signer_are_accepted() {
    let (world, key) = world().await;
    for request in [
        world.signer(&key, "sts").header(post()),
        world.signer(&key, "sts").query(get()),
    ] {
        let reply = world.send(request).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.xml("Account"), Some("123456789012"));
        assert!(reply.xml("UserId").unwrap().ends_with(":session"));
    }
}

#[tokio::test]
async fn a_request_that_was_changed_after_signing_is_refused() {
    let (world, key) = world().await;
    let mut body = world.signer(&key, "sts").header(post());
    body.body_mut().push_str("&Extra=1");
    let mut header = world.signer(&key, "sts").header(post());
    header.headers_mut().insert(
        "content-type",
        format!("{FORM}; charset=utf-8").parse().unwrap(),
    );
    let query = world.signer(&key, "sts").query(get());
    let query = http::Request::get(format!("{}&Extra=1", query.uri()))
        .body(String::new())
        .unwrap();
    let wrong = AccessKey {
        secret_access_key: "x".repeat(40),
        ..key.clone()
    };
    let secret = world.signer(&wrong, "sts").header(post());
    for request in [body, header, query, secret] {
        let reply = world.send(request).await;
        reply.assert_sts_error(403, "SignatureDoesNotMatch");
        assert!(
            reply
                .body
                .contains("The request signature we calculated does not match"),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn the_credential_scope_must_be_that_of_the_endpoint() {
    let (world, key) = world().await;
    let good = world.signer(&key, "sts");
    for (region, service, message) in [
        ("eu-west-1", "sts", "valid region"),
        ("us-east-1", "ecr", "correct service: &apos;sts&apos;"),
    ] {
        let reply = world
            .send(
                Signer {
                    region,
                    service,
                    ..good_copy(&good)
                }
                .header(post()),
            )
            .await;
        reply.assert_sts_error(403, "SignatureDoesNotMatch");
        assert!(reply.body.contains(message), "{}", reply.body);
    }
}

fn good_copy<'a>(signer: &Signer<'a>) -> Signer<'a> {
    Signer {
        key: signer.key,
        service: signer.service,
        region: signer.region,
        time: signer.time,
    }
}

#[tokio::test]
async fn clocks_may_differ_by_five_minutes_and_presigned_requests_wait_for_fifteen() {
    let (world, key) = world().await;
    let now = world.signer(&key, "sts").time;
    for (offset, presigned, accepted) in [
        (-300_i64, false, true),
        (-301, false, false),
        (300, false, true),
        (301, false, false),
        (-900, true, true),
        (-901, true, false),
        (301, true, false),
    ] {
        let distance = Duration::from_secs(offset.unsigned_abs());
        let time = if offset < 0 {
            now - distance
        } else {
            now + distance
        };
        let signer = Signer {
            time,
            ..world.signer(&key, "sts")
        };
        let request = if presigned {
            signer.query(get())
        } else {
            signer.header(post())
        };
        let reply = world.send(request).await;
        if accepted {
            assert_eq!(reply.status, 200, "{offset}: {}", reply.body);
            continue;
        }
        reply.assert_sts_error(403, "SignatureDoesNotMatch");
        let message = if offset < 0 {
            "Signature expired: "
        } else {
            "Signature not yet current: "
        };
        assert!(
            reply.xml("Message").unwrap().starts_with(message),
            "{}",
            reply.body
        );
    }
}

#[tokio::test]
async fn keys_that_are_unknown_incomplete_or_expired_are_told_apart() {
    let (world, key) = world().await;
    let unknown = AccessKey {
        access_key_id: "ASIAAAAAAAAAAAAAAAAA".to_owned(),
        ..key.clone()
    };
    let tokenless = AccessKey {
        session_token: None,
        ..key.clone()
    };
    let mistaken = AccessKey {
        session_token: Some("IQoJother".to_owned()),
        ..key.clone()
    };
    for key in [&unknown, &tokenless, &mistaken] {
        let reply = world.send(world.signer(key, "sts").header(post())).await;
        reply.assert_sts_error(403, "InvalidClientTokenId");
    }
    world
        .send(post())
        .await
        .assert_sts_error(403, "MissingAuthenticationToken");
    let mut cut = world.signer(&key, "sts").header(post());
    cut.headers_mut().insert(
        "authorization",
        "AWS4-HMAC-SHA256 Credential=x".parse().unwrap(),
    );
    world
        .send(cut)
        .await
        .assert_sts_error(403, "IncompleteSignature");
    world.sandbox.advance(Duration::from_secs(3_600));
    let reply = world.send(world.signer(&key, "sts").header(post())).await;
    reply.assert_sts_error(403, "ExpiredToken");
}

#[tokio::test]
async fn each_protocol_has_its_own_shape_of_the_same_refusal() {
    let (world, key) = world().await;
    let unknown = AccessKey {
        access_key_id: "ASIAAAAAAAAAAAAAAAAA".to_owned(),
        ..key
    };
    let ecr = http::Request::post("https://api.ecr.us-east-1.amazonaws.com/")
        .header("content-type", "application/x-amz-json-1.1")
        .header(
            "x-amz-target",
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
        )
        .body("{}".to_owned())
        .unwrap();
    let reply = world.send(world.signer(&unknown, "ecr").header(ecr)).await;
    assert_eq!(
        (reply.status, &reply.json()["__type"]),
        (400, &"UnrecognizedClientException".into())
    );
    let eks = http::Request::get("https://eks.us-east-1.amazonaws.com/clusters/demo")
        .body(String::new())
        .unwrap();
    let reply = world.send(world.signer(&unknown, "eks").header(eks)).await;
    assert_eq!(
        (reply.status, reply.header("x-amzn-errortype")),
        (403, "UnrecognizedClientException")
    );
}

#[tokio::test]
async fn a_path_is_encoded_twice_in_the_canonical_request() {
    let (world, key) = world().await;
    let request =
        http::Request::get("https://eks.us-east-1.amazonaws.com/clusters/my%20cl%2Fus~ter")
            .body(String::new())
            .unwrap();
    let reply: Reply = world.send(world.signer(&key, "eks").header(request)).await;
    // The signature held: the refusal is about the name.
    assert_eq!(
        (reply.status, reply.header("x-amzn-errortype")),
        (400, "InvalidParameterException"),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn a_user_signs_without_a_session_token() {
    let (world, _) = world().await;
    let user = world
        .sandbox
        .aws()
        .user("arn:aws:iam::123456789012:user/ci")
        .unwrap();
    let reply = world.send(world.signer(&user, "sts").header(post())).await;
    assert_eq!(reply.xml("Arn"), Some("arn:aws:iam::123456789012:user/ci"));
    let trust = TrustPolicy::default();
    assert!(
        world
            .sandbox
            .aws()
            .role("arn:aws:iam::1:role/x", trust)
            .is_err()
    );
}
