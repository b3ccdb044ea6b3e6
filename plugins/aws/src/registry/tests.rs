//! Which hosts are AWS's registries, and what becomes of each answer of ECR.

use super::*;
use crate::Aws;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{AwsKeys, ErrorCode, Material, Provider};

const TOKEN: &str = "QVdTOnBhOnNz"; // AWS:pa:ss

fn access() -> Credential {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: Some("session-token".into()),
    };
    let expiry = ScriptedHost::new().now() + Duration::from_secs(3600);
    Credential::new(Material::Aws(keys), expiry)
}

fn answering(status: u16, body: &str) -> ScriptedHost {
    ScriptedHost::new().answer(Response::new(status, body.as_bytes()))
}

fn private_answer(token: &str, expiry: &str) -> String {
    format!(
        r#"{{"authorizationData":[{{"authorizationToken":"{token}","expiresAt":{expiry},"proxyEndpoint":"https://x"}}]}}"#
    )
}

fn public_answer() -> String {
    format!(
        r#"{{"authorizationData":{{"authorizationToken":"{TOKEN}","expiresAt":1767268800.5}}}}"#
    )
}

fn log_in(repository: &str, request: &Request, host: &ScriptedHost) -> Result<Credential, Error> {
    let target = Aws.registry(repository, &None, request)?;
    Aws.registry_credentials(&target, &access(), &None, request, host)
}

#[test]
fn every_form_of_registry_is_known() {
    for (host, region, fips, dual_stack) in [
        (
            "1.dkr.ecr.us-east-1.amazonaws.com",
            "us-east-1",
            false,
            false,
        ),
        (
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com",
            "eu-west-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.cn-north-1.amazonaws.com.cn",
            "cn-north-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.eusc-de-east-1.amazonaws.eu",
            "eusc-de-east-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.us-iso-east-1.c2s.ic.gov",
            "us-iso-east-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.us-isob-east-1.sc2s.sgov.gov",
            "us-isob-east-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.eu-isoe-west-1.cloud.adc-e.uk",
            "eu-isoe-west-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr.us-isof-south-1.csp.hci.ic.gov",
            "us-isof-south-1",
            false,
            false,
        ),
        (
            "1.dkr.ecr-fips.us-gov-west-1.amazonaws.com",
            "us-gov-west-1",
            true,
            false,
        ),
        ("1.dkr-ecr.us-east-1.on.aws", "us-east-1", false, true),
        ("1.dkr-ecr-fips.us-east-1.on.aws", "us-east-1", true, true),
        (
            "1.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn",
            "cn-north-1",
            false,
            true,
        ),
        ("public.ecr.aws", "us-east-1", false, false),
        ("ecr-public.aws.com", "us-east-1", false, true),
    ] {
        for suffix in [
            "",
            "/",
            "/team/app",
            "/app:v1",
            "/app@sha256:00",
            "/app:v1@sha256:00",
        ] {
            let registry = Registry::parse(&format!("{host}{suffix}")).unwrap();
            assert_eq!(registry.host, host);
            assert_eq!(registry.region.name(), region, "{host}");
            assert_eq!(registry.variant, variant(fips, dual_stack), "{host}");
        }
        let upper = Registry::parse(&host.to_ascii_uppercase()).unwrap();
        assert_eq!(upper.host, host);
    }
}

#[test]
fn what_only_looks_like_a_registry_of_aws_is_refused() {
    for repository in [
        "",
        "/",
        "gcr.io/project/app",
        "1.dkr.ecr.us-east-1.amazonaws.com.example.org/app",
        "1.dkr.ecr.us-east-1.amazonaws.com.cn/app",
        "1.dkr.ecr.cn-north-1.amazonaws.com/app",
        "1.dkr.ecr.us-east-1.on.aws/app",
        "1.dkr-ecr.us-east-1.amazonaws.com/app",
        "1.dkr-ecr.eusc-de-east-1.on.aws/app",
        "1.dkr.ecr.us-east-1.amazonaws.com:443/app",
        "1.dkr.ecr.us-east-1.amazonaws.com./app",
        "evil@1.dkr.ecr.us-east-1.amazonaws.com/app",
        "x1.dkr.ecr.us-east-1.amazonaws.com/app",
        ".dkr.ecr.us-east-1.amazonaws.com/app",
        "evil.1.dkr.ecr.us-east-1.amazonaws.com/app",
        "1.dkr.ecr..amazonaws.com/app",
        "1xdkr.ecr.us-east-1.amazonaws.com/app",
        "1.dkr.ecr.us-east-1.evil.amazonaws.com/app",
        "1.dkr.ecr.s3.amazonaws.com/app",
        "1.dkr.ecr.s3-us-west-2.amazonaws.com/app",
        "https://1.dkr.ecr.us-east-1.amazonaws.com/app",
        "oci://public.ecr.aws/app",
        "xpublic.ecr.aws",
        "public.ecr.aws.example",
        "example/public.ecr.aws",
    ] {
        let error = Aws
            .registry(repository, &None, &Request::default())
            .unwrap_err();
        assert_eq!(
            error.code(),
            ErrorCode::InvalidConfiguration,
            "{repository}"
        );
        assert!(error.message().contains(repository), "{error}");
    }
}

#[test]
fn the_keys_are_asked_for_in_the_registrys_region_with_the_callers_limits() {
    let request = Request {
        endpoint: Some("https://vpce-1.sts.eu-west-1.vpce.amazonaws.com".into()),
        parameters: [("duration-seconds".to_owned(), "900".to_owned())].into(),
        ..Request::default()
    };
    for (repository, region, cache_input) in [
        (
            "1.dkr.ecr.eu-west-1.amazonaws.com/app",
            "eu-west-1",
            "eu-west-1",
        ),
        ("public.ecr.aws/app", "us-east-1", "public.ecr.aws"),
        ("ecr-public.aws.com/app", "us-east-1", "public.ecr.aws"),
    ] {
        let target = Aws.registry(repository, &None, &request).unwrap();
        assert_eq!(target.cache_input, cache_input);
        let expected = Request {
            region: Some(region.into()),
            ..request.clone()
        };
        assert_eq!(target.access, expected, "{repository}");
    }
}

#[test]
fn a_login_is_signed_and_sent_to_the_registrys_own_endpoint() {
    let fips = Request {
        parameters: [("fips".to_owned(), "true".to_owned())].into(),
        ..Request::default()
    };
    let plain = Request::default();
    for (repository, request, url, scope, target) in [
        (
            "1.dkr.ecr.eu-west-1.amazonaws.com/app",
            &plain,
            "https://api.ecr.eu-west-1.amazonaws.com/",
            "/eu-west-1/ecr/",
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
        ),
        (
            "1.dkr.ecr-fips.us-gov-west-1.amazonaws.com",
            &plain,
            "https://api.ecr-fips.us-gov-west-1.amazonaws.com/",
            "/us-gov-west-1/ecr/",
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
        ),
        (
            "1.dkr-ecr.eu-west-1.on.aws",
            &fips,
            "https://ecr-fips.eu-west-1.api.aws/",
            "/eu-west-1/ecr/",
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
        ),
        (
            "public.ecr.aws/team/app",
            &plain,
            "https://api.ecr-public.us-east-1.amazonaws.com/",
            "/us-east-1/ecr-public/",
            "SpencerFrontendService.GetAuthorizationToken",
        ),
        (
            "ecr-public.aws.com/team/app",
            &plain,
            "https://ecr-public.us-east-1.api.aws/",
            "/us-east-1/ecr-public/",
            "SpencerFrontendService.GetAuthorizationToken",
        ),
    ] {
        let answer = match scope.contains("public") {
            true => public_answer(),
            false => private_answer(TOKEN, "1767268800.5"),
        };
        let host = answering(200, &answer);
        let credential = log_in(repository, request, &host).unwrap();
        let expiry = Duration::from_millis(1_767_268_800_500);
        let expected = Credential::basic("AWS", "pa:ss", SystemTime::UNIX_EPOCH + expiry);
        assert_eq!(credential, expected);

        let sent = host.sent();
        let [sent] = sent.as_slice() else { panic!() };
        assert_eq!((sent.method(), sent.url()), ("POST", url));
        assert_eq!(testing::body(sent), "{}");
        let header = |name| testing::header(sent, name).unwrap();
        assert_eq!(header("content-type"), "application/x-amz-json-1.1");
        assert_eq!(header("x-amz-target"), target);
        assert_eq!(header("x-amz-date"), "20260101T000000Z");
        assert_eq!(header("x-amz-security-token"), "session-token");
        let authorization = header("authorization");
        let credential = format!("Credential=AKIDEXAMPLE/20260101{scope}aws4_request, ");
        assert!(authorization.contains(&credential), "{authorization}");
        let signed =
            "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, ";
        assert!(authorization.contains(signed), "{authorization}");
    }
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    let encode = |text: &[u8]| private_answer(&STANDARD.encode(text), "1767268800");
    let bodies = [
        String::new(),
        "null".into(),
        "[]".into(),
        "{}".into(),
        "<html></html>".into(),
        "[".repeat(20_000),
        r#"{"authorizationData":[]}"#.into(),
        r#"{"authorizationData":null}"#.into(),
        r#"{"authorizationData":[{}]}"#.into(),
        r#"{"authorizationData":[null]}"#.into(),
        r#"{"authorizationData":[{"authorizationToken":"secret"}]}"#.into(),
        r#"{"authorizationData":[{"expiresAt":1767268800}]}"#.into(),
        r#"{"authorizationData":[{"authorizationToken":7,"expiresAt":1767268800}]}"#.into(),
        r#"{"authorizationData":[{"authorizationToken":"x","authorizationToken":"y","expiresAt":1}]}"#.into(),
        public_answer(),
        private_answer(TOKEN, "\"soon\""),
        private_answer(TOKEN, "null"),
        private_answer(TOKEN, "-1"),
        private_answer(TOKEN, "1e300"),
        private_answer(TOKEN, "1e400"),
        private_answer(TOKEN, "0"),
        private_answer(TOKEN, "1767225600"),
        private_answer("secret!", "1767268800"),
        encode(b"AWS"),
        encode(b"AWS:"),
        encode(b":secret"),
        encode(b"aws:secret"),
        encode(b"root:secret"),
        encode(b"\xff\xfe:secret"),
    ];
    for body in bodies {
        let host = answering(200, &body);
        let error = log_in(
            "1.dkr.ecr.us-east-1.amazonaws.com",
            &Request::default(),
            &host,
        );
        let error = error.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}: {body:.200}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}

#[test]
fn a_refusal_of_ecr_is_classified() {
    for (status, body, expected) in [
        (
            500,
            r#"{"__type":"ServerException"}"#,
            ErrorCode::Unavailable,
        ),
        (
            400,
            r#"{"__type":"ThrottlingException"}"#,
            ErrorCode::Throttled,
        ),
        (
            400,
            r#"{"__type":"InvalidParameterException"}"#,
            ErrorCode::InvalidConfiguration,
        ),
        (
            400,
            r#"{"__type":"AccessDeniedException"}"#,
            ErrorCode::Denied,
        ),
        (301, "", ErrorCode::Unavailable),
    ] {
        let host = answering(status, body);
        let error = log_in("public.ecr.aws", &Request::default(), &host).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.message().contains("public.ecr.aws"), "{error}");
    }
}

#[test]
fn a_credential_without_keys_is_internal() {
    let target = Aws
        .registry("public.ecr.aws", &None, &Request::default())
        .unwrap();
    let access = Credential::subject_token();
    let host = answering(200, &public_answer());
    let error = Aws
        .registry_credentials(&target, &access, &None, &Request::default(), &host)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
    assert!(host.sent().is_empty());
}
