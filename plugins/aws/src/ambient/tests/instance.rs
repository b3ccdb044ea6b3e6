//! The metadata service of an instance, in both of its versions.

use super::container::hostile;
use super::*;

const BASE: &str = "http://169.254.169.254";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

fn put(base: &str) -> egress::Request {
    egress::Request::put(format!("{base}/latest/api/token"))
        .header("x-aws-ec2-metadata-token-ttl-seconds", "21600")
        .timeout(Duration::from_secs(1))
        .build()
}

fn get(base: &str, path: &str, token: Option<&str>) -> egress::Request {
    let builder = egress::Request::get(format!("{base}{path}")).timeout(Duration::from_secs(1));
    match token {
        None => builder.build(),
        Some(token) => builder.header("x-aws-ec2-metadata-token", token).build(),
    }
}

fn serving(base: &str, token: Option<&str>, host: ScriptedHost) -> ScriptedHost {
    host.expect(get(base, ROLES, token), ok("app\n")).expect(
        get(base, &format!("{ROLES}app"), token),
        ok(&document(EXPIRATION)),
    )
}

#[test]
fn the_instances_role_is_the_last_source() {
    let host = ScriptedHost::new().expect(put(BASE), ok("metadata-token"));
    let host = serving(BASE, Some("metadata-token"), host);
    let credential = keys(&host).unwrap();
    assert_eq!(
        shown(&credential),
        ["ASIAMETADATA", "secret/key", "session"]
    );
    assert_eq!(attribute(&credential, "source"), Some("instance"));
    host.finish();
}

#[test]
fn where_there_is_no_second_version_the_first_is_asked() {
    for status in [403, 404, 405] {
        let host = ScriptedHost::new().expect(put(BASE), egress::Response::new(status, b""));
        let host = serving(BASE, None, host);
        assert!(keys(&host).is_ok(), "{status}");
        host.finish();
    }
}

#[test]
fn the_variables_choose_among_awss_addresses_and_https() {
    let v6 = "http://[fd00:ec2::254]";
    for (name, value, base) in [
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "http://169.254.169.254/",
            BASE,
        ),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "http://[FD00:EC2:0::254]",
            v6,
        ),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "https://imds.example:8443",
            "https://imds.example:8443",
        ),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv4", BASE),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ipv6", v6),
        ("AWS_EC2_METADATA_DISABLED", "false", BASE),
    ] {
        let host = ScriptedHost::new()
            .variable(name, value)
            .expect(put(base), ok("t"));
        assert!(keys(&serving(base, Some("t"), host)).is_ok(), "{value}");
    }
    for (name, value) in [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://localhost:1338"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.170.2"),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "http://169.254.169.254:8080",
        ),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "http://169.254.169.254/latest",
        ),
        (
            "AWS_EC2_METADATA_SERVICE_ENDPOINT",
            "http://169.254.169.254.evil.example",
        ),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "169.254.169.254"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "https://a@b"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv5"),
    ] {
        let host = ScriptedHost::new().variable(name, value);
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(name), "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn a_service_that_is_turned_off_is_not_asked() {
    let host = ScriptedHost::new().variable("AWS_EC2_METADATA_DISABLED", "true");
    assert!(keys(&host).is_err());
    assert!(host.sent().is_empty());
}

#[test]
fn where_nobody_answers_there_is_no_instance() {
    for code in [
        egress::ErrorCode::Unreachable,
        egress::ErrorCode::TimedOut,
        egress::ErrorCode::NotGranted,
    ] {
        let error = egress::Error {
            code,
            message: "as told".into(),
        };
        let host = ScriptedHost::new().expect_failure(put(BASE), error);
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
        assert!(error.message().contains("instance: "), "{error}");
        assert!(error.message().contains(BASE), "{error}");
    }
}

#[test]
fn a_token_that_does_not_come_is_sorted_by_who_must_act() {
    for (status, body, expected) in [
        (200, &b""[..], ErrorCode::Unavailable),
        (200, b"a\r\nb", ErrorCode::Unavailable),
        (200, b"\xff", ErrorCode::Unavailable),
        (400, b"", ErrorCode::Denied),
        (429, b"", ErrorCode::Throttled),
        (503, b"", ErrorCode::Unavailable),
    ] {
        let host = ScriptedHost::new().answer(egress::Response::new(status, body));
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        assert_eq!(host.sent().len(), 1);
    }
}

#[test]
fn an_instance_without_a_role_says_so() {
    for (status, body, expected, word) in [
        (404, "", ErrorCode::Denied, "instance profile"),
        (410, "", ErrorCode::Denied, "410"),
        (500, "", ErrorCode::Unavailable, "500"),
        (200, "", ErrorCode::Unavailable, "no name of a role"),
        (200, "..", ErrorCode::Unavailable, "no name of a role"),
        (200, "a/../b", ErrorCode::Unavailable, "no name of a role"),
        (200, "<html>", ErrorCode::Unavailable, "no name of a role"),
        (
            200,
            &"a".repeat(65),
            ErrorCode::Unavailable,
            "no name of a role",
        ),
    ] {
        let host = ScriptedHost::new()
            .answer(ok("t"))
            .answer(egress::Response::new(status, body.as_bytes()));
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn an_instance_that_insists_on_the_second_version_is_explained() {
    let host = ScriptedHost::new()
        .answer(egress::Response::new(403, b""))
        .answer(egress::Response::new(401, b""));
    let error = keys(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    assert!(error.message().contains("hop limit"), "{error}");
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    for (body, code) in hostile() {
        let host = ScriptedHost::new()
            .answer(ok("t"))
            .answer(ok("app"))
            .answer(ok(&body));
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), code, "{error}: {body:.200}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}
