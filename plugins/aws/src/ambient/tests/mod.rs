//! Which source gives the keys, and what becomes of each that fails.

use crate::Aws;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{Credential, Error, ErrorCode, Exchange, Level, Material, Provider, Request};
use gatepass_sdk::{Source, Subject, egress};
use std::collections::BTreeMap;
use std::time::Duration;

mod container;
mod discover;
mod instance;
mod profile;
mod web_identity;

const ROLE: &str = "arn:aws:iam::123456789012:role/app";
const SESSION: &str = "arn:aws:sts::123456789012:assumed-role/app/ambient.us-east-1.gatepass";
const EXPIRATION: &str = "2026-01-01T06:00:00Z";

fn request() -> Request {
    Request {
        region: Some("us-east-1".into()),
        ..Request::default()
    }
}

fn keys(host: &ScriptedHost) -> Result<Credential, Error> {
    let facts = Some(BTreeMap::new());
    let identity = Aws.identity(&Subject::Ambient, &facts, &request())?;
    let exchange = Exchange {
        subject: Subject::Ambient,
        identity,
        facts,
        source: Source::Ambient,
        request: request(),
    };
    Aws.exchange(&exchange, host)
}

/// Access key, secret key and session token, shown.
fn shown(credential: &Credential) -> [&str; 3] {
    let Material::Aws(keys) = &credential.material else {
        panic!("{credential:?}");
    };
    let token = keys.session_token.as_ref().map(|token| token.expose());
    [
        &keys.access_key_id,
        keys.secret_access_key.expose(),
        token.unwrap_or_default(),
    ]
}

fn attribute<'a>(credential: &'a Credential, name: &str) -> Option<&'a str> {
    let mut attributes = credential.attributes.iter();
    attributes
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

fn lifetime(credential: &Credential) -> Duration {
    let expiry = credential.expires_at.unwrap();
    expiry.duration_since(ScriptedHost::new().now()).unwrap()
}

/// What a metadata service answers.
fn document(expiration: &str) -> String {
    format!(
        r#"{{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"ASIAMETADATA","SecretAccessKey":"secret/key","Token":"session","Expiration":"{expiration}"}}"#
    )
}

/// What STS answers.
fn session(action: &str, arn: &str) -> String {
    format!(
        "<{action}Response><{action}Result><AssumedRoleUser><Arn>{arn}</Arn></AssumedRoleUser><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role/key</SecretAccessKey><SessionToken>role-session</SessionToken><Expiration>{EXPIRATION}</Expiration></Credentials></{action}Result></{action}Response>"
    )
}

fn ok(body: &str) -> egress::Response {
    egress::Response::new(200, body.as_bytes())
}

fn environment() -> ScriptedHost {
    ScriptedHost::new()
        .variable("AWS_ACCESS_KEY_ID", "AKIDENV")
        .variable("AWS_SECRET_ACCESS_KEY", "env/secret")
}

#[test]
fn keys_of_the_environment_go_first_and_are_read_again_after_an_hour() {
    let host = environment()
        .variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2")
        .variable("AWS_WEB_IDENTITY_TOKEN_FILE", "/token");
    let credential = keys(&host).unwrap();
    assert_eq!(shown(&credential), ["AKIDENV", "env/secret", ""]);
    assert_eq!(lifetime(&credential), Duration::from_secs(3600));
    assert_eq!(attribute(&credential, "source"), Some("environment"));
    assert!(host.sent().is_empty());
}

#[test]
fn a_session_in_the_environment_may_say_when_it_ends() {
    let host = environment()
        .variable("AWS_SESSION_TOKEN", "env-session")
        .variable("AWS_CREDENTIAL_EXPIRATION", "2026-01-01T00:10:00+00:00");
    let credential = keys(&host).unwrap();
    assert_eq!(shown(&credential)[2], "env-session");
    assert_eq!(lifetime(&credential), Duration::from_secs(600));
}

#[test]
fn half_of_a_source_is_an_error_and_no_other_is_tried() {
    for (variables, word) in [
        (&[("AWS_ACCESS_KEY_ID", "x")][..], "AWS_SECRET_ACCESS_KEY"),
        (&[("AWS_SECRET_ACCESS_KEY", "x")], "AWS_ACCESS_KEY_ID"),
        (
            &[
                ("AWS_ACCESS_KEY_ID", "x"),
                ("AWS_SECRET_ACCESS_KEY", "hidden"),
                ("AWS_CREDENTIAL_EXPIRATION", "soon"),
            ],
            "AWS_CREDENTIAL_EXPIRATION",
        ),
        (&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")], "AWS_ROLE_ARN"),
        (&[("AWS_PROFILE", "app")], "AWS_PROFILE"),
        (&[("AWS_CONFIG_FILE", "/missing")], "/missing"),
        (
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "v2")],
            "slash first",
        ),
        (
            &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://10.0.0.1")],
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        ),
    ] {
        let host = variables
            .iter()
            .fold(ScriptedHost::new(), |host, (name, value)| {
                host.variable(name, value)
            });
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{error}");
        assert!(!error.message().contains("hidden"), "{error}");
        assert!(host.sent().is_empty(), "{error}");
    }
}

#[test]
fn expired_keys_of_the_environment_are_no_keys() {
    let host = environment().variable("AWS_CREDENTIAL_EXPIRATION", "2026-01-01T00:00:00Z");
    assert_eq!(keys(&host).unwrap_err().code(), ErrorCode::Unavailable);
}

#[test]
fn empty_variables_are_none() {
    let host = ScriptedHost::new()
        .variable("AWS_ACCESS_KEY_ID", "")
        .variable("AWS_SECRET_ACCESS_KEY", "")
        .variable("AWS_PROFILE", "")
        .variable("AWS_WEB_IDENTITY_TOKEN_FILE", "")
        .variable("AWS_EC2_METADATA_DISABLED", "TRUE");
    let error = keys(&host).unwrap_err();
    assert!(error.message().contains("has no keys"), "{error}");
}

#[test]
fn without_any_source_the_error_says_what_was_tried_and_what_to_set() {
    let host = ScriptedHost::new().variable("AWS_EC2_METADATA_DISABLED", "true");
    let error = keys(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    for word in [
        "environment: AWS_ACCESS_KEY_ID is not set",
        "profile: AWS_PROFILE is not set",
        "web-identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set",
        "container: neither",
        "instance: AWS_EC2_METADATA_DISABLED is true",
        "grant",
    ] {
        assert!(error.message().contains(word), "{word}: {error}");
    }
    assert!(host.sent().is_empty());
}

#[test]
fn the_log_says_which_source_it_is_and_why_it_is_no_other() {
    let host = ScriptedHost::new()
        .variable(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1",
        )
        .answer(ok(&document(EXPIRATION)));
    keys(&host).unwrap();
    let (level, line) = host.logged().pop().unwrap();
    assert_eq!(level, Level::Info);
    for word in [
        "source container gave the keys",
        "environment: AWS_ACCESS_KEY_ID is not set",
        "profile: ",
        "web-identity: ",
    ] {
        assert!(line.contains(word), "{line}");
    }
    assert!(!line.contains("secret"), "{line}");
}

#[test]
fn the_log_says_which_source_failed() {
    let host = ScriptedHost::new()
        .variable(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1",
        )
        .answer(egress::Response::new(403, b""));
    assert_eq!(keys(&host).unwrap_err().code(), ErrorCode::Denied);
    let (level, line) = host.logged().pop().unwrap();
    assert_eq!(level, Level::Warn);
    assert!(
        line.contains("source container is configured and failed"),
        "{line}"
    );
    assert_eq!(host.sent().len(), 1);
}

#[test]
fn the_account_of_ambient_keys_is_checked_too() {
    let caller = |account: &str| {
        ok(&format!(
            "<R><GetCallerIdentityResult><Account>{account}</Account></GetCallerIdentityResult></R>"
        ))
    };
    for (account, expected) in [("123456789012", None), ("1", Some(ErrorCode::Denied))] {
        let host = environment().answer(caller(account));
        let exchange = Exchange {
            subject: Subject::Ambient,
            identity: "ambient".into(),
            facts: Some(BTreeMap::new()),
            source: Source::Ambient,
            request: Request {
                parameters: [("expected-account".into(), "123456789012".into())].into(),
                ..request()
            },
        };
        let credential = Aws.exchange(&exchange, &host);
        assert_eq!(credential.as_ref().err().map(Error::code), expected);
        if let Ok(credential) = credential {
            assert_eq!(attribute(&credential, "account"), Some(account));
        }
    }
}
