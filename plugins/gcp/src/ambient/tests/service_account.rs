//! Keys of service accounts: what is signed, what becomes of it, and what is refused.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::testing::NOW;

const KEY: &str = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n";
const KEY_ID: &str = "0123456789abcdef0123456789abcdef01234567";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const SCOPES: &str =
    "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email";

fn key() -> Value {
    json!({
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": KEY_ID,
        "private_key": KEY,
        "client_email": EMAIL,
        "client_id": "123456789012345678901",
        "auth_uri": "https://accounts.google.com/o/oauth2/auth",
        "token_uri": TOKEN_URI,
        "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
        "universe_domain": "googleapis.com",
    })
}

fn signing(file: &Value) -> ScriptedHost {
    holding(file).rsa_key(KEY)
}

/// Header and claims of what was signed.
fn signed(host: &ScriptedHost) -> (Value, Value) {
    let messages = host.rsa_signed();
    let [message] = &messages[..] else {
        panic!("{} signatures", messages.len());
    };
    let message = std::str::from_utf8(message).unwrap();
    let (header, claims) = message.split_once('.').unwrap();
    let part = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    (part(header), part(claims))
}

/// The token that was signed, whole.
fn jws(host: &ScriptedHost) -> String {
    let message = String::from_utf8(host.rsa_signed()[0].clone()).unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode("scripted-rs256-1"))
}

/// `iat` and `exp`: Google's clock may be ten seconds behind.
fn validity() -> (u64, u64) {
    let issued_at = NOW.as_secs() - 10;
    (issued_at, issued_at + 3_600)
}

#[test]
fn what_the_key_signs_is_exchanged() {
    for (scopes, scope) in [
        (vec![], SCOPES),
        (
            vec!["openid".to_owned(), "email".to_owned()],
            "openid email",
        ),
    ] {
        let host = signing(&key()).answer(oauth("t"));
        let request = Request {
            scopes,
            ..Request::default()
        };
        let credential = run(&request, &host).unwrap();
        assert_eq!(secret(&credential), "t");
        assert_eq!(
            source(&credential),
            "GOOGLE_APPLICATION_CREDENTIALS (service_account)"
        );
        let account = ("service-account".to_owned(), EMAIL.to_owned());
        assert!(credential.attributes.contains(&account));
        let (iat, exp) = validity();
        let (header, claims) = signed(&host);
        assert_eq!(header, json!({"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}));
        assert_eq!(
            claims,
            json!({"iss": EMAIL, "scope": scope, "aud": TOKEN_URI, "iat": iat, "exp": exp})
        );
        let wire = Wire::post(TOKEN_URI)
            .form("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .form("assertion", &jws(&host))
            .build();
        assert_eq!(host.sent(), [wire]);
        host.finish();
    }
}

#[test]
fn a_file_without_token_uri_and_universe_is_googles() {
    for pointer in ["/token_uri", "/universe_domain", "/project_id"] {
        let host = signing(&with(key(), pointer, json!(null))).answer(oauth("t"));
        get(&host).unwrap();
        assert_eq!(host.sent()[0].url(), TOKEN_URI);
        assert_eq!(signed(&host).1["aud"], TOKEN_URI);
    }
}

#[test]
fn in_another_universe_the_signed_token_is_the_credential() {
    let file = with(key(), "/universe_domain", json!("s3nsapis.fr"));
    let host = signing(&file);
    let credential = run(&universe("s3nsapis.fr"), &host).unwrap();
    assert!(host.sent().is_empty());
    assert_eq!(secret(&credential), jws(&host));
    let (iat, exp) = validity();
    assert_eq!(
        signed(&host).1,
        json!({"iss": EMAIL, "sub": EMAIL, "scope": SCOPES, "iat": iat, "exp": exp})
    );
    let end = host.now() + std::time::Duration::from_secs(3_590);
    assert_eq!(credential.expires_at, Some(end));

    for (file, request) in [(key(), universe("s3nsapis.fr")), (file, Request::default())] {
        let host = signing(&file);
        let error = run(&request, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains("universe_domain"), "{error}");
        assert!(host.rsa_signed().is_empty());
    }
}

#[test]
fn an_account_is_impersonated_with_a_key() {
    let host = signing(&impersonated(&key()))
        .answer(oauth("caller"))
        .answer(token());
    assert_eq!(secret(&get(&host).unwrap()), "impersonated");
    let (_, claims) = signed(&host);
    let cloud_platform = "https://www.googleapis.com/auth/cloud-platform";
    assert_eq!(claims["scope"], cloud_platform);
    let authorization = gatepass_sdk::testing::header(&host.sent()[1], "authorization");
    assert_eq!(authorization.as_deref(), Some("Bearer caller"));
    host.finish();
}

#[test]
fn a_field_that_is_wrong_is_named_and_nothing_is_signed() {
    let long = "a".repeat(101);
    for (pointer, value) in [
        ("/client_email", json!(null)),
        ("/client_email", json!("")),
        ("/client_email", json!("ann@example.com")),
        (
            "/client_email",
            json!("app@my-project.iam.gserviceaccount.com.evil.example"),
        ),
        ("/private_key_id", json!(null)),
        ("/private_key_id", json!("")),
        ("/private_key_id", json!("a b")),
        ("/private_key_id", json!("a\"b")),
        ("/private_key_id", json!(long)),
        ("/private_key", json!(null)),
        ("/private_key", json!("")),
        ("/private_key", json!(KEY.replace('\n', "\\n"))),
        ("/token_uri", json!("")),
        ("/token_uri", json!("http://oauth2.googleapis.com/token")),
        ("/token_uri", json!("https://oauth2.googleapis.com/token/")),
        (
            "/token_uri",
            json!("https://oauth2.googleapis.com/token?x=hunter2"),
        ),
        (
            "/token_uri",
            json!("https://oauth2.googleapis.com:443/token"),
        ),
        (
            "/token_uri",
            json!("https://oauth2.googleapis.com.evil.example/token"),
        ),
        (
            "/token_uri",
            json!("https://oauth2.googleapis.com@evil.example/token"),
        ),
        (
            "/token_uri",
            json!("https://evil.example/oauth2.googleapis.com/token"),
        ),
        (
            "/token_uri",
            json!("https://accounts.google.com/o/oauth2/token"),
        ),
        ("/universe_domain", json!("x")),
    ] {
        let host = signing(&with(key(), pointer, value.clone()));
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        let field = pointer.trim_start_matches('/');
        for word in [field, "GOOGLE_APPLICATION_CREDENTIALS: "] {
            assert!(error.message().contains(word), "{word}: {error}");
        }
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(
            host.sent().is_empty() && host.rsa_signed().is_empty(),
            "{value}"
        );
    }
    for pointer in [
        "/client_email",
        "/private_key_id",
        "/private_key",
        "/token_uri",
    ] {
        for value in [json!(7), json!(["hunter2"]), json!({"a": "hunter2"})] {
            let error = get(&signing(&with(key(), pointer, value))).unwrap_err();
            assert!(error.message().contains("not the JSON"), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
    }
}

#[test]
fn answers_that_are_no_token_are_errors() {
    let revoked = br#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#;
    let silent = egress::Error {
        code: egress::ErrorCode::TimedOut,
        message: "too slow".into(),
    };
    let short = r#"{"access_token":"t","expires_in":0,"token_type":"Bearer"}"#;
    for (response, code, word) in [
        (
            Response::new(400, revoked),
            ErrorCode::Denied,
            "key of the file",
        ),
        (
            Response::new(400, br#"{"error":"invalid_scope"}"#),
            ErrorCode::InvalidConfiguration,
            "scopes",
        ),
        (Response::new(429, b""), ErrorCode::Throttled, KEY_ID),
        (
            Response::new(503, b"hunter2"),
            ErrorCode::Unavailable,
            EMAIL,
        ),
        (Response::new(200, b"{"), ErrorCode::Unavailable, "no token"),
        (
            Response::new(200, br#"{"id_token":"hunter2"}"#),
            ErrorCode::Unavailable,
            "no token",
        ),
        (
            Response::new(200, short.as_bytes()),
            ErrorCode::Unavailable,
            "expired",
        ),
    ] {
        let error = get(&signing(&key()).answer(response)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
    let probe = signing(&key()).answer(oauth("t"));
    get(&probe).unwrap();
    let host = signing(&key()).expect_failure(probe.sent().remove(0), silent);
    let error = get(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
    assert!(error.message().contains("too slow"), "{error}");
}
