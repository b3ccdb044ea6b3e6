//! Files and sources that are wrong: each is refused, with what to correct and no secret.

use super::*;

#[test]
fn a_url_that_is_not_googles_gets_no_token() {
    let token_url = "/token_url";
    let impersonation_url = "/service_account_impersonation_url";
    let email = "v1/projects/-/serviceAccounts/app@my-project.iam.gserviceaccount.com";
    for (pointer, value) in [
        (token_url, "https://evil.example/v1/token".to_owned()),
        (token_url, "https://sts.googleapis.com.evil.example/v1/token".into()),
        (token_url, "https://evil.example/sts.googleapis.com/v1/token".into()),
        (token_url, "https://sts.googleapis.com@evil.example/v1/token".into()),
        (token_url, "https://sts.googleapis.com:8443/v1/token".into()),
        (token_url, "https://sts.a.b.rep.googleapis.com/v1/token".into()),
        (token_url, "https://sts.s3nsapis.fr/v1/token".into()),
        (token_url, "https://sts.googleapis.com/v1/token?x=y".into()),
        (token_url, "https://sts.googleapis.com/v1/token#x".into()),
        (token_url, "https://sts.googleapis.com/v1/introspect".into()),
        (token_url, "https://sts.googleapis.com".into()),
        (token_url, "http://sts.googleapis.com/v1/token".into()),
        (token_url, "sts.googleapis.com/v1/token".into()),
        (token_url, String::new()),
        (impersonation_url, format!("https://evil.example/{email}:generateAccessToken")),
        (impersonation_url, format!("https://iamcredentials.googleapis.com.evil.example/{email}:generateAccessToken")),
        (impersonation_url, format!("http://iamcredentials.googleapis.com/{email}:generateAccessToken")),
        (impersonation_url, format!("https://iamcredentials.googleapis.com/{email}:generateIdToken")),
        (impersonation_url, format!("https://iamcredentials.googleapis.com/{email}")),
        (impersonation_url, "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/../x:generateAccessToken".into()),
        (impersonation_url, "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/ann@example.com:generateAccessToken".into()),
        (impersonation_url, format!("{IMPERSONATION}?x=y")),
        (impersonation_url, String::new()),
    ] {
        let file = with(impersonating(), pointer, json!(value));
        let host = holding(&file);
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        let field = pointer.trim_start_matches('/');
        assert!(error.message().contains(field), "{error}");
        assert!(host.sent().is_empty(), "{value}");
    }
    for value in [
        "https://sts.mtls.googleapis.com/v1/token",
        "https://sts.europe-west1.rep.googleapis.com/v1/token",
    ] {
        let host = holding(&with(external(), token_url, json!(value))).answer(oauth("t"));
        get(&host).unwrap();
        assert_eq!(host.sent()[0].url(), value);
    }
}

/// A file, the kind of error, and a word of it.
fn wrong_files() -> Vec<(Value, ErrorCode, &'static str)> {
    use ErrorCode::{InvalidConfiguration as Invalid, Unsupported};
    let external_with = |pointer: &str, value: Value| with(external(), pointer, value);
    let source = |value: Value| external_with("/credential_source", value);
    let format = |value: Value| source(json!({"file": TOKEN, "format": value}));
    let lifetime = |seconds: Value| json!({"token_lifetime_seconds": seconds});
    let options = "/service_account_impersonation";
    vec![
        (json!(null), Invalid, "credentials file"),
        (json!([]), Invalid, "credentials file"),
        (json!({}), Invalid, "type"),
        (json!({"type": 7}), Invalid, "credentials file"),
        (
            json!({"type": "gdch_service_account"}),
            Unsupported,
            "gdch_service_account",
        ),
        (
            json!({"type": "external_account_authorized_user"}),
            Unsupported,
            "not served",
        ),
        (external_with("/audience", json!(null)), Invalid, "audience"),
        (
            external_with("/audience", json!("//evil.example/x")),
            Invalid,
            "audience",
        ),
        (
            external_with("/audience", json!("//iam.googleapis.com/")),
            Invalid,
            "audience",
        ),
        (external_with("/audience", json!("x")), Invalid, "audience"),
        (
            external_with("/subject_token_type", json!(null)),
            Invalid,
            "subject_token_type",
        ),
        (
            external_with(
                "/subject_token_type",
                json!("urn:ietf:params:aws:token-type:aws4_request"),
            ),
            Unsupported,
            "aws4_request",
        ),
        (
            external_with("/token_url", json!(null)),
            Invalid,
            "token_url",
        ),
        (
            external_with("/credential_source", json!(null)),
            Invalid,
            "credential_source",
        ),
        (
            external_with("/client_id", json!("id")),
            Invalid,
            "client_secret",
        ),
        (
            external_with("/workforce_pool_user_project", json!("p")),
            Invalid,
            "workforce",
        ),
        (
            external_with("/universe_domain", json!("s3nsapis.fr")),
            Invalid,
            "universe-domain",
        ),
        (
            external_with("/universe_domain", json!("x")),
            Invalid,
            "universe_domain 'x'",
        ),
        (
            external_with(options, lifetime(json!(600))),
            Invalid,
            "no effect",
        ),
        (
            with(impersonating(), options, lifetime(json!(599))),
            Invalid,
            "599",
        ),
        (
            with(impersonating(), options, lifetime(json!(43201))),
            Invalid,
            "43201",
        ),
        (
            with(impersonating(), options, lifetime(json!(-1))),
            Invalid,
            "credentials file",
        ),
        (source(json!({})), Invalid, "one of file and url"),
        (
            source(json!({"file": TOKEN, "url": "https://x"})),
            Invalid,
            "one of file and url",
        ),
        (
            source(json!({"file": "/nowhere"})),
            Invalid,
            "GATEPASS_GCP_SUBJECT_TOKEN_FILE",
        ),
        (
            source(json!({"executable": {"command": "/bin/hunter2"}})),
            Unsupported,
            "no program",
        ),
        (
            source(json!({"certificate": {}})),
            Unsupported,
            "certificate",
        ),
        (
            source(json!({"environment_id": "aws1", "url": "http://169.254.169.254"})),
            Unsupported,
            "AWS",
        ),
        (format(json!({"type": "xml"})), Invalid, "'xml'"),
        (
            format(json!({"type": "json"})),
            Invalid,
            "subject_token_field_name",
        ),
        (
            format(json!({"type": "json", "subject_token_field_name": "value"})),
            Invalid,
            "field value",
        ),
        (
            with(user(), "/client_id", json!(null)),
            Invalid,
            "client_id",
        ),
        (
            with(user(), "/client_secret", json!(null)),
            Invalid,
            "client_secret",
        ),
        (
            with(user(), "/refresh_token", json!(null)),
            Invalid,
            "refresh_token",
        ),
        (
            with(user(), "/refresh_token", json!(["hunter2"])),
            Invalid,
            "credentials file",
        ),
        (
            impersonated(&impersonated(&user())),
            Unsupported,
            "delegates",
        ),
        (
            impersonated(&json!({"type": "service_account"})),
            Invalid,
            "client_email",
        ),
        (impersonated(&json!(null)), Invalid, "source_credentials"),
        (
            with(impersonated(&user()), "/delegates", json!(["x"])),
            Invalid,
            "delegates",
        ),
        (
            with(
                impersonated(&user()),
                "/service_account_impersonation_url",
                json!(null),
            ),
            Invalid,
            "service_account_impersonation_url",
        ),
    ]
}

#[test]
fn a_file_that_is_wrong_says_what_to_correct_and_no_secret() {
    for (file, code, word) in wrong_files() {
        let host = holding(&file);
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        for word in [word, "GOOGLE_APPLICATION_CREDENTIALS: "] {
            assert!(error.message().contains(word), "{word}: {error}");
        }
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(!error.message().contains("pod.token"), "{error}");
        assert!(host.sent().is_empty(), "{file}");
    }
    let cut: String = external().to_string().chars().take(80).collect();
    for content in ["", "{", "\u{0}", &cut, &"[".repeat(10_000)] {
        let host = ScriptedHost::new()
            .variable("GOOGLE_APPLICATION_CREDENTIALS", FILE)
            .file(FILE, content.as_bytes());
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
    }
}

#[test]
fn a_source_without_token_is_refused() {
    let huge = "t".repeat((64 << 10) + 1);
    for content in [&b""[..], b"\n", &[0xff, 0xfe], huge.as_bytes()] {
        let host = holding(&external()).file(TOKEN, content);
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains("no token"), "{error}");
    }
    let format = json!({"type": "json", "subject_token_field_name": "value"});
    let source = json!({"file": TOKEN, "format": format});
    let file = with(external(), "/credential_source", source);
    for content in [
        "",
        "{}",
        "[]",
        r#"{"value":7}"#,
        r#"{"value":""}"#,
        r#"{"value":"#,
    ] {
        let host = holding(&file).file(TOKEN, content.as_bytes());
        let error = get(&host).unwrap_err();
        assert!(error.message().contains("no token"), "{error}");
    }
}
