//! Hosts of registries, and what becomes of each answer to a login.

use super::*;
use crate::Azure;
use gatepass_sdk::egress::Response;
use gatepass_sdk::testing::{NOW, ScriptedHost};
use gatepass_sdk::{ErrorCode, Provider};
use std::collections::BTreeMap;

fn request(parameters: &[(&str, &str)]) -> Request {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        parameters: parameters.iter().map(own).collect(),
        ..Request::default()
    }
}

fn facts(pairs: &[(&str, &str)]) -> Facts {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Some(pairs.iter().map(own).collect())
}

fn target(repository: &str, facts: &Facts, request: &Request) -> Result<RegistryTarget, Error> {
    Azure.registry(repository, facts, request)
}

#[test]
fn a_registry_is_found_by_its_labels_and_its_cloud_by_its_suffix() {
    for (repository, host, cloud) in [
        ("foo.azurecr.io", "foo.azurecr.io", "public"),
        ("foo.azurecr.io/a/b:tag", "foo.azurecr.io", "public"),
        ("FOO.azurecr.IO/a", "foo.azurecr.io", "public"),
        (
            "foo-a1b2c3.azurecr.io/a@sha256:0",
            "foo-a1b2c3.azurecr.io",
            "public",
        ),
        ("foo.azurecr.cn/a", "foo.azurecr.cn", "china"),
        ("foo.azurecr.us/a", "foo.azurecr.us", "us-government"),
        (
            "foo.eastus.geo.azurecr.io/a",
            "foo.eastus.geo.azurecr.io",
            "public",
        ),
    ] {
        let target = target(repository, &None, &request(&[])).unwrap();
        assert_eq!(target.host, host);
        assert_eq!(target.cache_input, host);
        assert_eq!(
            target.access.scopes,
            ["https://containerregistry.azure.net/.default"]
        );
        let parameters: BTreeMap<String, String> = [("cloud".into(), cloud.into())].into();
        assert_eq!(target.access.parameters, parameters);
    }
}

#[test]
fn what_only_looks_like_a_registry_is_refused() {
    for repository in [
        "",
        "/",
        "azurecr.io",
        ".azurecr.io",
        "azurecr.io/foo",
        "foo.azurecr.io.evil.example/a",
        "fooazurecr.io/a",
        "foo.bar.azurecr.io/a",
        "foo.eastus.data.azurecr.io/a",
        "a.foo.eastus.geo.azurecr.io/a",
        "geo.azurecr.io.x/a",
        "foo.azurecr.de/a",
        "foo.azurecr.io:443/a",
        "foo.azurecr.io:5000/a",
        "foo.azurecr.io./a",
        "user@foo.azurecr.io/a",
        "https://foo.azurecr.io/a",
        "foo_bar.azurecr.io/a",
        "foo.azurecr.io?x",
        "evil.example/foo.azurecr.io",
        "foo.azurecr.stack.example",
        "foo.azurecr.io\n",
    ] {
        let error = target(repository, &facts(&[]), &request(&[])).unwrap_err();
        assert_eq!(
            error.code(),
            ErrorCode::InvalidConfiguration,
            "{repository}"
        );
        assert!(error.message().contains("registry of Azure"), "{error}");
    }
}

#[test]
fn a_request_about_another_cloud_or_scope_is_refused() {
    let endpoint = Request {
        endpoint: Some("https://login.chinacloudapi.cn".into()),
        ..request(&[])
    };
    let scopes = Request {
        scopes: vec!["https://vault.azure.net/.default".into()],
        ..request(&[])
    };
    for (request, word) in [
        (request(&[("cloud", "china")]), "cloud china"),
        (endpoint, "cloud china"),
        (request(&[("resource", "storage")]), "storage"),
        (request(&[("cloud", "mars")]), "mars"),
        (scopes, "vault.azure.net"),
    ] {
        let error = target("foo.azurecr.io/a", &None, &request).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{error}");
    }
    let own = request(&[("cloud", "china")]);
    assert!(target("foo.azurecr.cn/a", &None, &own).is_ok());
    let endpoint = Request {
        endpoint: Some("https://login.windows.net".into()),
        ..request(&[])
    };
    let access = target("foo.azurecr.io/a", &None, &endpoint).unwrap().access;
    assert_eq!(access.endpoint, endpoint.endpoint);
    assert!(access.parameters.is_empty());
}

#[test]
fn the_environment_file_names_registries_of_its_own() {
    let suffix = (
        "environment.container-registry-suffix",
        "azurecr.stack.example",
    );
    let manager = (
        "environment.resource-manager",
        "https://management.stack.example",
    );
    let both = facts(&[suffix, manager]);
    let found = target("foo.azurecr.stack.example/a", &both, &request(&[])).unwrap();
    assert_eq!(found.host, "foo.azurecr.stack.example");
    assert_eq!(
        found.access.scopes,
        ["https://management.stack.example/.default"]
    );
    for (repository, facts, word) in [
        ("azurecr.stack.example/a", &both, "registry of Azure"),
        ("fooazurecr.stack.example/a", &both, "registry of Azure"),
        (
            "foo.azurecr.stack.example.evil.example/a",
            &both,
            "registry of Azure",
        ),
        (
            "foo.azurecr.stack.example/a",
            &facts(&[suffix]),
            "resourceManagerEndpoint",
        ),
    ] {
        let error = target(repository, facts, &request(&[])).unwrap_err();
        assert!(error.message().contains(word), "{error}");
    }
    let error = target("foo.azurecr.stack.example/a", &None, &request(&[])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NeedsFacts);
}

/// A refresh token with these claims.
fn token(claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.c2ln", part(r#"{"alg":"RS256"}"#), part(claims))
}

fn body(token: &str) -> String {
    serde_json::json!({ "refresh_token": token }).to_string()
}

fn log_in(response: Response) -> (Result<Credential, Error>, ScriptedHost) {
    let host = ScriptedHost::new().answer(response);
    let access = Credential::bearer("at&+", host.now());
    let target = target("foo.azurecr.io/a", &None, &request(&[])).unwrap();
    let credential = Azure.registry_credentials(&target, &access, &None, &request(&[]), &host);
    (credential, host)
}

#[test]
fn a_login_sends_the_access_token_and_expires_with_the_refresh_token() {
    let exp = NOW.as_secs() + 3 * 3600;
    let refresh = token(&format!(r#"{{"exp":{exp},"sub":"x"}}"#));
    let (credential, host) = log_in(Response::new(200, body(&refresh).as_bytes()));
    let credential = credential.unwrap();
    let Material::Basic(basic) = &credential.material else {
        panic!("{credential:?}");
    };
    assert_eq!(basic.username, "00000000-0000-0000-0000-000000000000");
    assert_eq!(basic.password.expose(), refresh);
    let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(exp);
    assert_eq!(credential.expires_at, Some(expiry));
    let expected = egress::Request::post("https://foo.azurecr.io/oauth2/exchange")
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body("grant_type=access_token&service=foo.azurecr.io&access_token=at%26%2B")
        .build();
    assert_eq!(host.sent(), [expected]);
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    let now = NOW.as_secs();
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    for body in [
        String::new(),
        "null".into(),
        "{}".into(),
        "hunter2".into(),
        r#"{"refresh_token":null}"#.into(),
        r#"{"refresh_token":7}"#.into(),
        r#"{"refresh_token":"hunter2"#.into(),
        "[".repeat(20_000),
        body(""),
        body("hunter2"),
        body("hunter2.hunter2.hunter2"),
        body("a.b"),
        body("..."),
        body(&format!("{}\n", token(r#"{"exp":1767229200}"#))),
        body(&format!("a b{}", token(r#"{"exp":1767229200}"#))),
        body(&format!("{}.x", token(r#"{"exp":9999999999}"#))),
        body(&part(r#"{"exp":9999999999}"#)),
        body(&token("")),
        body(&token("null")),
        body(&token("{}")),
        body(&token(r#"{"exp":null}"#)),
        body(&token(r#"{"exp":"9999999999"}"#)),
        body(&token(r#"{"exp":-1}"#)),
        body(&token(r#"{"exp":1.5}"#)),
        body(&token(r#"{"exp":0}"#)),
        body(&token(r#"{"exp":18446744073709551615}"#)),
        body(&token(r#"{"exp":99999999999999999999999}"#)),
        body(&token(&format!(r#"{{"exp":{now}}}"#))),
        body(&token(&format!(r#"{{"exp":{}}}"#, now + 8 * 24 * 3600))),
        body(&token(&"{".repeat(20_000))),
    ] {
        let (outcome, _) = log_in(Response::new(200, body.as_bytes()));
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{body:.80}");
        assert!(error.message().contains("foo.azurecr.io"), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
}

#[test]
fn an_answer_that_is_cut_off_anywhere_is_an_error() {
    let whole = body(&token(r#"{"exp":1767229200}"#));
    let log_in = |body: &str| log_in(Response::new(200, body.as_bytes())).0;
    assert!(log_in(&whole).is_ok());
    for end in 0..whole.len() {
        let error = log_in(whole.split_at(end).0).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{end}");
    }
}

#[test]
fn a_refusal_of_the_registry_is_classified() {
    let body = br#"{"errors":[{"code":"UNAUTHORIZED","message":"retrieving permissions failed"}]}"#;
    for (status, expected) in [
        (401, ErrorCode::Denied),
        (403, ErrorCode::Denied),
        (404, ErrorCode::InvalidConfiguration),
        (429, ErrorCode::Throttled),
        (503, ErrorCode::Unavailable),
        (307, ErrorCode::Unavailable),
    ] {
        let (outcome, _) = log_in(Response::new(status, body));
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.message().contains("foo.azurecr.io"), "{error}");
    }
}

#[test]
fn a_credential_that_does_not_fit_is_internal_and_another_host_is_sent_nothing() {
    let host = ScriptedHost::new();
    let mut target = target("foo.azurecr.io/a", &None, &request(&[])).unwrap();
    let login = |target: &RegistryTarget, access: &Credential| {
        Azure
            .registry_credentials(target, access, &facts(&[]), &request(&[]), &host)
            .unwrap_err()
            .code()
    };
    let access = Credential::basic("user", "password", host.now());
    assert_eq!(login(&target, &access), ErrorCode::Internal);
    target.host = "evil.example".into();
    let access = Credential::bearer("at", host.now());
    assert_eq!(login(&target, &access), ErrorCode::InvalidConfiguration);
    assert!(host.sent().is_empty());
}
