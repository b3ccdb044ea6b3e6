//! Which source is used, what goes over the wire for each, and what is refused.

mod refusal;
mod service_account;

use crate::Gcp;
use crate::metadata::tests::{answer, wire};
use gatepass_sdk::egress::{self, Request as Wire, Response};
use gatepass_sdk::testing::ScriptedHost;
use gatepass_sdk::{
    Credential, Error, ErrorCode, Exchange, Level, Material, Provider, Request, Source, Subject,
};
use serde_json::{Value, json};
use std::io::ErrorKind;

const EMAIL: &str = "app@my-project.iam.gserviceaccount.com";
const FILE: &str = "/etc/gcp/credentials.json";
const GCLOUD: &str = "/home/ann/.config/gcloud/application_default_credentials.json";
const TOKEN: &str = "/var/run/service-account/token";
const AUDIENCE: &str = "//iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider";
const WORKFORCE: &str =
    "//iam.googleapis.com/locations/global/workforcePools/my-pool/providers/my-provider";
const IMPERSONATION: &str = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/app@my-project.iam.gserviceaccount.com:generateAccessToken";
const METADATA_TOKEN: &str = "instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform%2Chttps%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email";

fn run(request: &Request, host: &ScriptedHost) -> Result<Credential, Error> {
    let exchange = Exchange {
        subject: Subject::Ambient,
        identity: Gcp.identity(&Subject::Ambient, &None, request)?,
        facts: None,
        source: Source::Ambient,
        request: request.clone(),
    };
    Gcp.exchange(&exchange, host)
}

fn get(host: &ScriptedHost) -> Result<Credential, Error> {
    run(&Request::default(), host)
}

fn universe(domain: &str) -> Request {
    Request {
        parameters: [("universe-domain".into(), domain.into())].into(),
        ..Request::default()
    }
}

/// A host whose variable names this credentials file, beside the token of a pod.
fn holding(file: &Value) -> ScriptedHost {
    ScriptedHost::new()
        .variable("GOOGLE_APPLICATION_CREDENTIALS", FILE)
        .file(FILE, file.to_string().as_bytes())
        .file(TOKEN, b"pod.token\n")
}

fn external() -> Value {
    json!({
        "type": "external_account",
        "audience": AUDIENCE,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": {"file": TOKEN, "format": {"type": "text"}},
        "token_info_url": "https://sts.googleapis.com/v1/introspect",
    })
}

fn impersonating() -> Value {
    with(
        external(),
        "/service_account_impersonation_url",
        json!(IMPERSONATION),
    )
}

fn user() -> Value {
    json!({
        "type": "authorized_user",
        "client_id": "client",
        "client_secret": "hunter2",
        "refresh_token": "hunter2/refresh",
    })
}

fn impersonated(source: &Value) -> Value {
    json!({
        "type": "impersonated_service_account",
        "service_account_impersonation_url": IMPERSONATION,
        "source_credentials": source,
        "delegates": ["projects/-/serviceAccounts/b@p.iam.gserviceaccount.com"],
    })
}

/// The file with another value at a path; `null` takes it out.
fn with(mut file: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = file.pointer_mut(parent).and_then(Value::as_object_mut);
    let parent = parent.unwrap();
    match value {
        Value::Null => drop(parent.remove(field)),
        value => drop(parent.insert(field.into(), value)),
    }
    file
}

fn sts(scope: &str, rest: &str) -> Wire {
    Wire::post("https://sts.googleapis.com/v1/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&audience=%2F%2Fiam.googleapis.com%2Fprojects%2F123456789012%2Flocations%2Fglobal%2FworkloadIdentityPools%2Fmy-pool%2Fproviders%2Fmy-provider&scope={scope}&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt{rest}"
        ))
        .build()
}

const CLOUD: &str = "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
const BOTH: &str = "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform+https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email";

fn oauth(token: &str) -> Response {
    let body = json!({"access_token": token, "expires_in": 3599, "token_type": "Bearer"});
    Response::new(200, body.to_string().as_bytes())
}

fn iam(bearer: &str, body: &str) -> Wire {
    Wire::post(IMPERSONATION)
        .header("authorization", format!("Bearer {bearer}"))
        .header("content-type", "application/json")
        .body(body)
        .build()
}

fn token() -> Response {
    Response::new(
        200,
        br#"{"accessToken":"impersonated","expireTime":"2026-01-01T01:00:00Z"}"#,
    )
}

fn secret(credential: &Credential) -> &str {
    match &credential.material {
        Material::Bearer(token) => token.expose(),
        other => panic!("{other:?}"),
    }
}

fn source(credential: &Credential) -> &str {
    let mut attributes = credential.attributes.iter();
    attributes
        .find(|(name, _)| name == "source")
        .map_or("", |(_, value)| value.as_str())
}

#[test]
fn the_first_source_that_is_there_is_used_and_said() {
    let user_file = user().to_string();
    let gcloud = |host: ScriptedHost| {
        host.variable("HOME", "/home/ann/")
            .file(GCLOUD, user_file.as_bytes())
            .answer(oauth("t"))
    };
    let server = ScriptedHost::new().expect(wire(METADATA_TOKEN), answer_of("t"));
    for (host, name, words) in [
        (
            gcloud(holding(&external())),
            "GOOGLE_APPLICATION_CREDENTIALS (external_account)",
            &[][..],
        ),
        (
            gcloud(ScriptedHost::new().variable("GOOGLE_APPLICATION_CREDENTIALS", "")),
            "gcloud's file (authorized_user)",
            &["GOOGLE_APPLICATION_CREDENTIALS is not set"],
        ),
        (
            server,
            "metadata server",
            &[
                "GOOGLE_APPLICATION_CREDENTIALS is not set",
                "HOME is not set",
            ],
        ),
        (
            ScriptedHost::new()
                .variable("HOME", "/home/ann")
                .expect(wire(METADATA_TOKEN), answer_of("t")),
            "metadata server",
            &[GCLOUD, "entity not found"],
        ),
    ] {
        let credential = get(&host).unwrap();
        assert_eq!(secret(&credential), "t");
        assert_eq!(source(&credential), name);
        let [(Level::Info, line)] = &host.logged()[..] else {
            panic!("{:?}", host.logged());
        };
        for word in words.iter().chain([&name]) {
            assert!(line.contains(word), "{word}: {line}");
        }
        host.finish();
    }
}

#[test]
fn a_file_of_gcloud_that_is_there_and_cannot_be_read_is_the_answer() {
    for (kind, passed_over) in [
        (ErrorKind::NotFound, true),
        (ErrorKind::PermissionDenied, true),
        (ErrorKind::Other, false),
        (ErrorKind::FileTooLarge, false),
    ] {
        let host = ScriptedHost::new()
            .variable("HOME", "/home/ann")
            .unreadable(GCLOUD, kind)
            .answer(answer_of("t"));
        let outcome = get(&host);
        assert_eq!(host.sent().len(), usize::from(passed_over), "{kind}");
        match outcome {
            Ok(credential) => {
                assert!(passed_over, "{kind}");
                assert_eq!(source(&credential), "metadata server");
            }
            Err(error) => {
                assert!(!passed_over, "{error}");
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
                assert!(error.message().contains(GCLOUD), "{error}");
            }
        }
    }
}

fn answer_of(token: &str) -> Response {
    answer(&json!({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}).to_string())
}

#[test]
fn a_file_that_is_named_and_cannot_be_read_is_the_answer() {
    let host = ScriptedHost::new()
        .variable("GOOGLE_APPLICATION_CREDENTIALS", FILE)
        .variable("HOME", "/home/ann")
        .file(GCLOUD, user().to_string().as_bytes());
    let error = get(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    for word in [FILE, "GOOGLE_APPLICATION_CREDENTIALS", "grant"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(host.sent().is_empty());
}

#[test]
fn when_nothing_works_each_source_has_its_reason() {
    let silent = egress::Error {
        code: egress::ErrorCode::Unreachable,
        message: "no route".into(),
    };
    let unreachable = || {
        ScriptedHost::new()
            .variable("HOME", "/home/ann")
            .expect_failure(wire(METADATA_TOKEN), silent.clone())
    };
    let missing = || ScriptedHost::new().variable("HOME", "/home/ann");
    for (host, code, word) in [
        (unreachable(), ErrorCode::Unavailable, "no route"),
        (
            missing().answer(Response::new(404, b"")),
            ErrorCode::Denied,
            "no default service account",
        ),
        (
            missing().answer(oauth("t")),
            ErrorCode::Unavailable,
            "Metadata-Flavor",
        ),
        (
            missing().answer(answer("{}")),
            ErrorCode::Unavailable,
            "no token",
        ),
    ] {
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        for word in [
            word,
            "metadata server: ",
            "GOOGLE_APPLICATION_CREDENTIALS is not set",
            GCLOUD,
        ] {
            assert!(error.message().contains(word), "{word}: {error}");
        }
        assert!(host.logged().is_empty());
    }
}

#[test]
fn an_external_account_exchanges_the_token_of_its_source() {
    let host = holding(&external()).expect(sts(BOTH, "&subject_token=pod.token"), oauth("t"));
    assert_eq!(secret(&get(&host).unwrap()), "t");
    host.finish();

    let body = r#"{"lifetime":"3600s","scope":["https://www.googleapis.com/auth/cloud-platform","https://www.googleapis.com/auth/userinfo.email"]}"#;
    let host = holding(&impersonating())
        .expect(sts(CLOUD, "&subject_token=pod.token"), oauth("federated"))
        .expect(iam("federated", body), token());
    let credential = get(&host).unwrap();
    assert_eq!(secret(&credential), "impersonated");
    let account = ("service-account".to_owned(), EMAIL.to_owned());
    assert!(credential.attributes.contains(&account));
    host.finish();

    let options = json!({"token_lifetime_seconds": 1800});
    let file = with(impersonating(), "/service_account_impersonation", options);
    let host = holding(&file)
        .answer(oauth("federated"))
        .expect(iam("federated", &body.replace("3600", "1800")), token());
    get(&host).unwrap();
    host.finish();
}

#[test]
fn a_workforce_names_its_project_and_its_client() {
    let file = with(external(), "/audience", json!(WORKFORCE));
    let file = with(file, "/workforce_pool_user_project", json!("billed"));
    let file = with(file, "/client_id", json!("id"));
    let file = with(file, "/client_secret", json!("secret"));
    let host = holding(&file).answer(oauth("t"));
    get(&host).unwrap();
    let sent = &host.sent()[0];
    let authorization = gatepass_sdk::testing::header(sent, "authorization");
    assert_eq!(authorization.as_deref(), Some("Basic aWQ6c2VjcmV0"));
    let body = gatepass_sdk::testing::body(sent);
    let options = "&options=%7B%22userProject%22%3A%22billed%22%7D&subject_token=pod.token";
    assert!(body.ends_with(options), "{body}");
}

#[test]
fn a_token_comes_from_a_file_or_a_url_as_text_or_json() {
    let url = "https://pipelines.actions.githubusercontent.com/token?audience=x";
    let field = json!({"type": "json", "subject_token_field_name": "value"});
    let of = |source: Value| with(external(), "/credential_source", source);
    let from_file = of(json!({"file": "/token.json", "format": field}));
    let host = holding(&from_file)
        .file("/token.json", br#"{"other": 7, "value": "pod.token"}"#)
        .expect(sts(BOTH, "&subject_token=pod.token"), oauth("t"));
    get(&host).unwrap();
    host.finish();

    let headers = json!({"Authorization": "Bearer hunter2", "Accept": "application/json"});
    let from_url = of(json!({"url": url, "headers": headers, "format": field}));
    let request = Wire::get(url)
        .header("Accept", "application/json")
        .header("Authorization", "Bearer hunter2")
        .build();
    let host = holding(&from_url)
        .expect(request, Response::new(200, br#"{"value":"pod.token"}"#))
        .expect(sts(BOTH, "&subject_token=pod.token"), oauth("t"));
    get(&host).unwrap();
    host.finish();

    let host = holding(&from_url).answer(Response::new(401, b"hunter2"));
    let error = get(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    assert!(error.message().contains("credential_source"), "{error}");
    assert!(!error.message().contains("audience=x"), "{error}");
    assert!(!error.message().contains("hunter2"), "{error}");
}

#[test]
fn a_user_is_refreshed_with_the_scopes_that_were_chosen() {
    let form = "grant_type=refresh_token&client_id=client&client_secret=hunter2&refresh_token=hunter2%2Frefresh";
    for (scopes, form) in [
        (vec![], form.to_owned()),
        (
            vec!["openid".to_owned(), "email".to_owned()],
            format!("{form}&scope=openid+email"),
        ),
    ] {
        let wire = Wire::post("https://oauth2.googleapis.com/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
            .build();
        let host = holding(&user()).expect(wire, oauth("t"));
        let request = Request {
            scopes,
            ..Request::default()
        };
        assert_eq!(secret(&run(&request, &host).unwrap()), "t");
        host.finish();
    }
    let revoked =
        br#"{"error":"invalid_grant","error_description":"Token has been expired or revoked."}"#;
    let host = holding(&user()).answer(Response::new(400, revoked));
    let error = get(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    assert!(error.message().contains("gcloud auth"), "{error}");
    assert!(!error.message().contains("hunter2"), "{error}");
}

#[test]
fn an_account_is_impersonated_with_the_credentials_in_the_file() {
    let body = r#"{"delegates":["projects/-/serviceAccounts/b@p.iam.gserviceaccount.com"],"lifetime":"3600s","scope":["openid"]}"#;
    let request = Request {
        scopes: vec!["openid".into()],
        ..Request::default()
    };
    for (inner, caller) in [(user(), None), (external(), Some(CLOUD))] {
        let mut host = holding(&impersonated(&inner));
        host = match caller {
            Some(scope) => host.expect(sts(scope, "&subject_token=pod.token"), oauth("caller")),
            None => host.answer(oauth("caller")),
        };
        let host = host.expect(iam("caller", body), token());
        let credential = run(&request, &host).unwrap();
        assert_eq!(secret(&credential), "impersonated");
        assert_eq!(
            source(&credential),
            "GOOGLE_APPLICATION_CREDENTIALS (impersonated_service_account)"
        );
        host.finish();
    }
}

#[test]
fn every_source_is_of_the_requests_universe() {
    let s3ns = universe("s3nsapis.fr");
    let file = with(external(), "/universe_domain", json!("s3nsapis.fr"));
    let file = with(
        file,
        "/token_url",
        json!("https://sts.s3nsapis.fr/v1/token"),
    );
    let host = holding(&file).answer(oauth("t"));
    run(&s3ns, &host).unwrap();
    for file in [external(), user(), impersonated(&user())] {
        let error = run(&s3ns, &holding(&file)).unwrap_err();
        assert!(error.message().contains("universe"), "{error}");
    }
    let sovereign = with(user(), "/universe_domain", json!("s3nsapis.fr"));
    let error = run(&s3ns, &holding(&sovereign)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);

    let asked = wire("universe/universe-domain");
    let host = ScriptedHost::new()
        .expect(asked.clone(), answer("s3nsapis.fr\n"))
        .expect(wire(METADATA_TOKEN), answer_of("t"));
    run(&s3ns, &host).unwrap();
    host.finish();
    for response in [answer("googleapis.com"), Response::new(404, b"")] {
        let host = ScriptedHost::new().expect(asked.clone(), response);
        let error = run(&s3ns, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
    }
}
