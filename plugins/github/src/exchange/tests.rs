use super::*;
use crate::GitHub;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::testing::{self, NOW, ScriptedHost};
use gatepass_sdk::{ErrorCode, Material, Provider, Request};
use serde_json::{Value, json};
use std::time::Duration;

const BASE: &str = "https://run-actions-1-azure-eastus.actions.githubusercontent.com/52//idtoken/a/b?api-version=2.0";

fn host() -> ScriptedHost {
    ScriptedHost::new()
        .variable(URL, BASE)
        .variable(TOKEN, "request-token")
}

fn request(audience: Option<&str>) -> Request {
    Request {
        audiences: audience.map(str::to_owned).into_iter().collect(),
        ..Request::default()
    }
}

fn wire(query: &str) -> egress::Request {
    egress::Request::get(format!("{BASE}{query}"))
        .header("accept", "application/json")
        .header("authorization", "Bearer request-token")
        .build()
}

fn claims() -> Value {
    json!({
        "iss": "https://token.actions.githubusercontent.com",
        "sub": "repo:octo/app:ref:refs/heads/main",
        "aud": "sts.example",
        "exp": NOW.as_secs() + 300,
        "repository": "octo/app",
    })
}

fn jwt(claims: &Value) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!(
        "{}.{}.c2lnbmF0dXJl",
        encode(r#"{"alg":"RS256"}"#),
        encode(&claims.to_string())
    )
}

fn answer(token: &str) -> egress::Response {
    let body = json!({"count": 7, "value": token}).to_string();
    egress::Response::new(200, body.as_bytes())
}

fn run(audience: Option<&str>, host: &ScriptedHost) -> Result<Credential, Error> {
    let (subject, source) = (Subject::Ambient, Source::Ambient);
    testing::exchange_from(&GitHub, subject, source, request(audience), host)
}

fn run_with(response: egress::Response) -> Result<Credential, Error> {
    let host = host().expect(wire("&audience=sts.example"), response);
    let credential = run(Some("sts.example"), &host);
    host.finish();
    credential
}

#[test]
fn a_job_gets_its_token() {
    let token = jwt(&claims());
    let credential = run_with(answer(&token)).unwrap();
    assert_eq!(credential.material, Material::Bearer(token.into()));
    let expiry = ScriptedHost::new().now() + Duration::from_secs(300);
    assert_eq!(credential.expires_at, Some(expiry));
    let expected = [
        ("issuer", "https://token.actions.githubusercontent.com"),
        ("subject", "repo:octo/app:ref:refs/heads/main"),
        ("audience", "sts.example"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(credential.attributes, expected);
}

#[test]
fn the_audience_is_one_value_of_the_query() {
    for (audience, query) in [
        (None, ""),
        (Some("sts.example"), "&audience=sts.example"),
        (
            Some("oci://ghcr.io/a b&c=d#é"),
            "&audience=oci%3A%2F%2Fghcr.io%2Fa%20b%26c%3Dd%23%C3%A9",
        ),
    ] {
        let mut claims = claims();
        claims["aud"] = audience.unwrap_or("https://github.com/octo").into();
        let host = host().expect(wire(query), answer(&jwt(&claims)));
        assert!(run(audience, &host).is_ok(), "{query}");
        host.finish();
    }
    let bare = "https://pipelines.actions.githubusercontent.com/x";
    assert_eq!(url(bare, Some("a")), Ok(format!("{bare}?audience=a")));
}

#[test]
fn outside_a_job_the_variable_is_named() {
    for (host, name) in [
        (ScriptedHost::new(), URL),
        (ScriptedHost::new().variable(URL, " "), URL),
        (ScriptedHost::new().variable(URL, BASE), TOKEN),
        (host().variable(TOKEN, ""), TOKEN),
    ] {
        let error = run(None, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains(name), "{error}");
        assert!(error.message().contains("id-token: write"), "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn the_request_token_goes_to_github_alone() {
    for base in [
        "http://pipelines.actions.githubusercontent.com/x?a=b",
        "HTTPS://pipelines.actions.githubusercontent.com/x?a=b",
        "https://actions.githubusercontent.com/x?a=b",
        "https://a.b.actions.githubusercontent.com/x?a=b",
        "https://.actions.githubusercontent.com/x",
        "https://pipelines.actions.githubusercontent.com.example.org/x",
        "https://pipelines.actions.githubusercontent.com:8443/x",
        "https://example.org/pipelines.actions.githubusercontent.com",
        "https://example.org?pipelines.actions.githubusercontent.com",
        "https://user@pipelines.actions.githubusercontent.com/x",
        "https://pipelines.actions.githubusercontent.com@example.org/x",
        "https://example.org#.actions.githubusercontent.com",
        "https://example.org\\.actions.githubusercontent.com",
        "https://pipelines.actions.githubusercontent.com/x?a=b#c",
        "https://pipelines.actions.githubusercontent.com/a b",
        "https://pipelinesXactions.githubusercontent.com/",
        "https://",
        "pipelines.actions.githubusercontent.com/x",
    ] {
        let host = host().variable(URL, base);
        let error = run(None, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{base}");
        assert!(!error.message().contains("example.org"), "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn a_refusal_is_sorted_by_who_must_act() {
    for (status, code) in [
        (400, ErrorCode::InvalidConfiguration),
        (401, ErrorCode::Denied),
        (403, ErrorCode::Denied),
        (404, ErrorCode::Denied),
        (408, ErrorCode::Unavailable),
        (410, ErrorCode::Denied),
        (422, ErrorCode::InvalidConfiguration),
        (429, ErrorCode::Throttled),
        (500, ErrorCode::Unavailable),
        (502, ErrorCode::Unavailable),
        (503, ErrorCode::Unavailable),
        (504, ErrorCode::Unavailable),
        (599, ErrorCode::Unavailable),
        (204, ErrorCode::Unavailable),
        (302, ErrorCode::Unavailable),
        (100, ErrorCode::Unavailable),
    ] {
        let error = run_with(egress::Response::new(status, b"canary")).unwrap_err();
        assert_eq!(error.code(), code, "{status}");
        assert!(error.message().contains(&status.to_string()), "{error}");
        assert!(!error.message().contains("canary"), "{error}");
    }
    for status in [429, 503] {
        let response = egress::Response::new(status, b"").header("retry-after", "7");
        let error = run_with(response).unwrap_err();
        assert_eq!(error.wait(), Some(Duration::from_secs(7)));
    }
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        answer(&jwt(&claims))
    };
    let without = |name: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        answer(&jwt(&claims))
    };
    let raw = |body: &str| egress::Response::new(200, body.as_bytes());
    let good = jwt(&claims());
    let now = NOW.as_secs();
    for response in [
        raw(""),
        raw("canary"),
        raw("{}"),
        raw("null"),
        raw(r#"{"value":null}"#),
        raw(r#"{"value":7}"#),
        raw(r#"{"value":["canary"]}"#),
        raw(r#"{"value":"cana"#),
        raw(&"[".repeat(10_000)),
        egress::Response::new(200, &[0xff; 16]),
        answer(""),
        answer("canary"),
        answer("canary.canary.canary"),
        answer(&format!("{good}.canary")),
        answer(&good.replace("c2lnbmF0dXJl", "")),
        answer(&good.replace("c2lnbmF0dXJl", "sig\r\nx: canary")),
        answer(good.trim_end_matches("c2lnbmF0dXJl")),
        without("exp"),
        without("sub"),
        without("iss"),
        without("aud"),
        with("exp", Value::Null),
        with("exp", json!("canary")),
        with("exp", json!(-1)),
        with("exp", json!(0)),
        with("exp", json!(now)),
        with("exp", json!(u64::MAX)),
        with("exp", json!(1e300)),
        with("sub", json!(["canary"])),
        with("sub", json!("")),
        with("sub", json!("canary\u{1b}[0m")),
        with("aud", json!("canary")),
        with("aud", json!(["sts.example"])),
    ] {
        let error = run_with(response).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
        assert!(!error.message().contains("canary"), "{error}");
    }
}

#[test]
fn no_answer_is_passed_on_as_the_host_reports_it() {
    for (code, expected) in [
        (egress::ErrorCode::Unreachable, ErrorCode::Unavailable),
        (egress::ErrorCode::TimedOut, ErrorCode::Unavailable),
        (egress::ErrorCode::NotGranted, ErrorCode::Denied),
    ] {
        let error = egress::Error {
            code,
            message: "as told".into(),
        };
        let host = host().expect_failure(wire(""), error);
        assert_eq!(run(None, &host).unwrap_err().code(), expected);
    }
}

#[test]
fn other_sources_and_subjects_are_unsupported() {
    let account = testing::service_account("team-a", "app", &[]);
    let credential = Source::Credential(Credential::subject_token());
    for (subject, source) in [
        (Subject::Ambient, Source::SubjectToken),
        (Subject::Ambient, Source::Signer),
        (Subject::Ambient, credential),
        (account, Source::Ambient),
    ] {
        let exchange = Exchange {
            subject,
            identity: String::new(),
            facts: None,
            source,
            request: Request::default(),
        };
        let error = GitHub.exchange(&exchange, &host()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
    }
}
