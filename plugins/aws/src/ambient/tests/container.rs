//! The agent of a container: which addresses, which token, which answers.

use super::*;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

fn host(name: &str, uri: &str) -> ScriptedHost {
    ScriptedHost::new().variable(name, uri)
}

#[test]
fn the_agent_is_where_the_variables_say() {
    for (name, uri, url) in [
        (
            RELATIVE,
            "/v2/credentials/1",
            "http://169.254.170.2/v2/credentials/1",
        ),
        (
            RELATIVE,
            "/@evil.example/",
            "http://169.254.170.2/@evil.example/",
        ),
        (
            FULL,
            "http://169.254.170.23/v1/credentials",
            "http://169.254.170.23/v1/credentials",
        ),
        (FULL, "http://169.254.170.2/x?y", "http://169.254.170.2/x?y"),
        (
            FULL,
            "http://[fd00:ec2::23]/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
        ),
        (FULL, "http://localhost:51679/x", "http://localhost:51679/x"),
        (FULL, "http://127.0.0.2/x", "http://127.0.0.2/x"),
        (FULL, "http://[::1]:8080/x", "http://[::1]:8080/x"),
        (
            FULL,
            "https://keys.example:8443/x",
            "https://keys.example:8443/x",
        ),
    ] {
        let host = host(name, uri).answer(ok(&document(EXPIRATION)));
        let credential = keys(&host).unwrap();
        assert_eq!(
            shown(&credential),
            ["ASIAMETADATA", "secret/key", "session"]
        );
        assert_eq!(attribute(&credential, "source"), Some("container"));
        assert_eq!(lifetime(&credential), Duration::from_secs(6 * 3600));
        let sent = host.sent();
        assert_eq!((sent[0].method(), sent[0].url()), ("GET", url));
        assert_eq!(sent[0].timeout(), Some(Duration::from_secs(2)));
        assert_eq!(testing::header(&sent[0], "authorization"), None);
    }
}

#[test]
fn the_path_goes_before_the_address() {
    let host = host(RELATIVE, "/a")
        .variable(FULL, "http://169.254.170.23/b")
        .answer(ok(&document(EXPIRATION)));
    keys(&host).unwrap();
    assert_eq!(host.sent()[0].url(), "http://169.254.170.2/a");
}

#[test]
fn another_agent_is_refused_before_anything_is_sent() {
    for (name, uri) in [
        (RELATIVE, "v2"),
        (RELATIVE, "@evil.example/"),
        (RELATIVE, "/a b"),
        (RELATIVE, "/a\r\nhost: x"),
        (FULL, "http://evil.example/"),
        (FULL, "http://169.254.169.254/latest"),
        (FULL, "http://169.254.170.23:8080/v1"),
        (FULL, "http://169.254.170.23.evil.example/"),
        (FULL, "http://localhost.evil.example/"),
        (FULL, "http://x:hunter2@169.254.170.23/"),
        (FULL, "http://169.254.170.23@evil.example/"),
        (FULL, "http://10.0.0.1/"),
        (FULL, "ftp://169.254.170.23/"),
        (FULL, "169.254.170.23/v1"),
        (FULL, "/v1"),
    ] {
        let host = host(name, uri);
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(name), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(host.sent().is_empty(), "{uri}");
    }
}

#[test]
fn the_token_of_the_file_goes_before_that_of_the_variable() {
    let full = || host(FULL, "http://169.254.170.23/v1").answer(ok(&document(EXPIRATION)));
    let both = full()
        .variable(TOKEN, "Basic variable")
        .variable(TOKEN_FILE, "/token")
        .file("/token", b"file");
    let variable = full().variable(TOKEN, "Basic variable");
    for (host, expected) in [(both, "file"), (variable, "Basic variable")] {
        keys(&host).unwrap();
        let token = testing::header(&host.sent()[0], "authorization");
        assert_eq!(token.as_deref(), Some(expected));
    }
}

#[test]
fn the_line_break_at_the_end_of_a_file_is_no_part_of_the_token() {
    for content in ["good\n", "good\r\n", "good"] {
        let host = host(FULL, "http://169.254.170.23/v1")
            .variable(TOKEN_FILE, "/t")
            .file("/t", content.as_bytes())
            .answer(ok(&document(EXPIRATION)));
        keys(&host).unwrap();
        let token = testing::header(&host.sent()[0], "authorization");
        assert_eq!(token.as_deref(), Some("good"), "{content:?}");
    }
}

#[test]
fn a_token_that_no_header_can_hold_is_refused() {
    let full = || host(FULL, "http://169.254.170.23/v1").variable(TOKEN, "good");
    let mut hosts = vec![full().variable(TOKEN_FILE, "/missing")];
    for token in [
        &b"hid\nden"[..],
        b"\n",
        b"hidden\r\nx: y",
        b"",
        b"\xffhidden",
        b"hidden\0",
        "hid\u{e9}den".as_bytes(),
    ] {
        hosts.push(full().variable(TOKEN_FILE, "/t").file("/t", token));
    }
    hosts.push(full().variable(TOKEN, "hidden\n"));
    for host in hosts {
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(TOKEN), "{error}");
        assert!(!error.message().contains("hidden"), "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn a_refusal_is_sorted_by_who_must_act() {
    for (status, expected) in [
        (302, ErrorCode::Unavailable),
        (400, ErrorCode::Denied),
        (403, ErrorCode::Denied),
        (404, ErrorCode::Denied),
        (429, ErrorCode::Throttled),
        (500, ErrorCode::Unavailable),
    ] {
        let host = host(RELATIVE, "/a").answer(egress::Response::new(status, b"{}"));
        assert_eq!(keys(&host).unwrap_err().code(), expected, "{status}");
    }
}

#[test]
fn the_account_in_an_answer_is_told() {
    let body = document(EXPIRATION).replace("{", r#"{"AccountId":"123456789012","#);
    let host = host(RELATIVE, "/a").answer(ok(&body));
    let credential = keys(&host).unwrap();
    assert_eq!(attribute(&credential, "account"), Some("123456789012"));
}

/// Answers of either metadata service that are no keys.
pub(super) fn hostile() -> Vec<(String, ErrorCode)> {
    let good = document(EXPIRATION);
    let mut bodies: Vec<(String, ErrorCode)> =
        ["AccessKeyId", "SecretAccessKey", "Token", "Expiration"]
            .into_iter()
            .flat_map(|name| {
                let value = |text: &str| {
                    let mut document: serde_json::Value = serde_json::from_str(&good).unwrap();
                    document[name] = serde_json::from_str(text).unwrap();
                    document.to_string()
                };
                [
                    value("null"),
                    value("\"\""),
                    value("7"),
                    value("[\"secret\"]"),
                ]
            })
            .map(|body| (body, ErrorCode::Unavailable))
            .collect();
    bodies.extend(
        [
            String::new(),
            "null".into(),
            "[]".into(),
            "{}".into(),
            "<html>".into(),
            "[".repeat(20_000),
            good.replace('}', ""),
            document("soon"),
            document("2026-01-01T00:00:00Z"),
            document("1969-01-01T00:00:00Z"),
            document("99999-01-01T00:00:00Z"),
        ]
        .map(|body| (body, ErrorCode::Unavailable)),
    );
    for code in ["AssumeRoleUnauthorizedAccess", "<script>"] {
        bodies.push((good.replace("Success", code), ErrorCode::Denied));
    }
    bodies
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    for (body, code) in hostile() {
        let host = host(RELATIVE, "/a").answer(ok(&body));
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), code, "{error}: {body:.200}");
        assert!(!error.message().contains("secret"), "{error}");
        assert!(!error.message().contains("script>"), "{error}");
    }
}
