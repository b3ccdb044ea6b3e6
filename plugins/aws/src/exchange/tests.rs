//! What goes over the wire to STS, and what becomes of each answer.

use crate::Aws;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{Credential, Error, ErrorCode, Exchange, Material, Provider, Request, Source};
use gatepass_sdk::{Subject, egress};
use std::time::Duration;

mod link;

const ROLE: &str = "arn:aws:iam::123456789012:role/app";
const ASSUMED: &str = "arn:aws:sts::123456789012:assumed-role/app/app.team-a.us-east-1.gatepass";
const EXPIRATION: &str = "2026-01-01T01:00:00Z";

fn subject() -> Subject {
    testing::service_account("team-a", "app", &[("eks.amazonaws.com/role-arn", ROLE)])
}

fn request() -> Request {
    Request {
        region: Some("us-east-1".into()),
        ..Request::default()
    }
}

/// What STS is sent, written by hand: one text before the token, none after.
fn wire(host: &str, form: &str) -> egress::Request {
    egress::Request::post(format!("https://{host}/"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .body_token()
        .build()
}

fn usual_wire() -> egress::Request {
    wire(
        "sts.us-east-1.amazonaws.com",
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fapp&RoleSessionName=app.team-a.us-east-1.gatepass&WebIdentityToken=",
    )
}

fn answer(expiration: &str, assumed: &str) -> String {
    format!(
        r#"<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>system:serviceaccount:team-a:app</SubjectFromWebIdentityToken>
    <Audience>sts.amazonaws.com</Audience>
    <AssumedRoleUser><AssumedRoleId>AROA:app</AssumedRoleId><Arn>{assumed}</Arn></AssumedRoleUser>
    <Credentials>
      <SessionToken>session&#43;token==</SessionToken>
      <SecretAccessKey>secret/key</SecretAccessKey>
      <Expiration>{expiration}</Expiration>
      <AccessKeyId>ASIAEXAMPLE</AccessKeyId>
    </Credentials>
    <Provider>arn:aws:iam::123456789012:oidc-provider/issuer.example</Provider>
    <SessionTokenUtilization>11</SessionTokenUtilization>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>"#
    )
}

fn exchange_with(response: egress::Response) -> Result<Credential, Error> {
    let host = ScriptedHost::new().expect(usual_wire(), response);
    let credential = testing::exchange(&Aws, subject(), request(), &host);
    host.finish();
    credential
}

#[test]
fn a_token_becomes_the_keys_of_a_session() {
    let body = answer(EXPIRATION, ASSUMED);
    let credential = exchange_with(egress::Response::new(200, body.as_bytes())).unwrap();
    let Material::Aws(keys) = &credential.material else {
        panic!("{credential:?}");
    };
    assert_eq!(keys.access_key_id, "ASIAEXAMPLE");
    assert_eq!(keys.secret_access_key.expose(), "secret/key");
    let session_token = keys.session_token.as_ref().map(|token| token.expose());
    assert_eq!(session_token, Some("session+token=="));
    let expiry = ScriptedHost::new().now() + Duration::from_secs(3600);
    assert_eq!(credential.expires_at, Some(expiry));
    let expected = [("assumed-role-arn", ASSUMED), ("account", "123456789012")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(credential.attributes, expected);
}

#[test]
fn every_parameter_is_in_the_form() {
    let request = Request {
        endpoint: Some("https://vpce-1.sts.us-east-1.vpce.amazonaws.com".into()),
        parameters: [
            ("duration-seconds", "900"),
            ("policy", r#"{"Version": "2012-10-17"}"#),
            (
                "policy-arns",
                "arn:aws:iam::aws:policy/A,arn:aws:iam::aws:policy/B",
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        ..request()
    };
    let sent = wire(
        "vpce-1.sts.us-east-1.vpce.amazonaws.com",
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fapp&RoleSessionName=app.team-a.us-east-1.gatepass&PolicyArns.member.1.arn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FA&PolicyArns.member.2.arn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FB&Policy=%7B%22Version%22%3A+%222012-10-17%22%7D&DurationSeconds=900&WebIdentityToken=",
    );
    let body = answer(EXPIRATION, ASSUMED);
    let host = ScriptedHost::new().expect(sent, egress::Response::new(200, body.as_bytes()));
    testing::exchange(&Aws, subject(), request, &host).unwrap();
    host.finish();
}

#[test]
fn fips_and_dual_stack_choose_the_host() {
    let request = Request {
        parameters: [("fips", "true"), ("dual-stack", "true")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..request()
    };
    let body = answer(EXPIRATION, ASSUMED);
    let host = ScriptedHost::new().answer(egress::Response::new(200, body.as_bytes()));
    testing::exchange(&Aws, subject(), request, &host).unwrap();
    let urls: Vec<String> = host.sent().iter().map(|sent| sent.url().into()).collect();
    assert_eq!(urls, ["https://sts-fips.us-east-1.api.aws/"]);
}

#[test]
fn an_expiry_may_have_a_fraction() {
    for expiration in ["2026-01-01T01:00:00.123Z", "2026-01-01T01:00:00+00:00"] {
        let body = answer(expiration, ASSUMED);
        let credential = exchange_with(egress::Response::new(200, body.as_bytes())).unwrap();
        let lifetime = credential
            .expires_at
            .unwrap()
            .duration_since(ScriptedHost::new().now())
            .unwrap();
        assert_eq!(lifetime.as_secs(), 3600, "{expiration}");
    }
}

/// Answers that are no session of the role.
fn hostile() -> Vec<String> {
    let good = answer(EXPIRATION, ASSUMED);
    let cut = |at: &str| good.split(at).next().unwrap().to_owned();
    let without = |text: &str| good.replacen(text, "", 1);
    vec![
        String::new(),
        "{}".into(),
        "<html></html>".into(),
        "<a>".repeat(20_000),
        cut("</SecretAccessKey>"),
        cut("</AssumeRoleWithWebIdentityResponse>"),
        without("<AccessKeyId>ASIAEXAMPLE</AccessKeyId>"),
        without("ASIAEXAMPLE"),
        without("<SecretAccessKey>secret/key</SecretAccessKey>"),
        without("secret/key"),
        without("session&#43;token=="),
        without("<Expiration>2026-01-01T01:00:00Z</Expiration>"),
        without(&format!("<Arn>{ASSUMED}</Arn>")),
        good.replace("<AccessKeyId>", "<AccessKeyId><x>secret/key</x>"),
        good.replace(
            "<Expiration>",
            "<AccessKeyId>AGAIN</AccessKeyId><Expiration>",
        ),
        answer("", ASSUMED),
        answer("tomorrow", ASSUMED),
        answer("1767229200", ASSUMED),
        answer("2026-01-01T01:00:00", ASSUMED),
        answer("99999-01-01T00:00:00Z", ASSUMED),
        answer("2026-01-01T00:00:00Z", ASSUMED),
        answer("1969-01-01T00:00:00Z", ASSUMED),
        answer(EXPIRATION, "arn:aws:sts::999999999999:assumed-role/app/x"),
        answer(EXPIRATION, "secret/key"),
    ]
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    for body in hostile() {
        let error = exchange_with(egress::Response::new(200, body.as_bytes())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}: {body:.200}");
        assert!(error.message().contains(ROLE), "{error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
    let bytes = egress::Response::new(200, &[0xff; 16]);
    assert_eq!(
        exchange_with(bytes).unwrap_err().code(),
        ErrorCode::Unavailable
    );
}

#[test]
fn a_refusal_says_which_role_and_what_to_check() {
    let body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized to perform sts:AssumeRoleWithWebIdentity</Message></Error></ErrorResponse>";
    let error = exchange_with(egress::Response::new(403, body.as_bytes())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    for word in [ROLE, "AccessDenied", "Not authorized", "trust policy"] {
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn no_answer_is_passed_on_as_the_host_reports_it() {
    for (code, expected) in [
        (egress::ErrorCode::Unreachable, ErrorCode::Unavailable),
        (egress::ErrorCode::TimedOut, ErrorCode::Unavailable),
        (egress::ErrorCode::NotGranted, ErrorCode::Denied),
        (egress::ErrorCode::TooLarge, ErrorCode::Unavailable),
    ] {
        let error = egress::Error {
            code,
            message: "as told".into(),
        };
        let host = ScriptedHost::new().expect_failure(usual_wire(), error);
        let error = testing::exchange(&Aws, subject(), request(), &host).unwrap_err();
        assert_eq!(error.code(), expected);
    }
}
