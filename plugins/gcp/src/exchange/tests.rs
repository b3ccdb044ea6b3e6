//! What goes over the wire to Google, and what becomes of each answer.

use crate::Gcp;
use crate::discover::tests::facts;
use gatepass_sdk::egress::{Request as Wire, Response};
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{
    AwsKeys, Credential, Error, ErrorCode, Exchange, Facts, Material, Provider, Request, Source,
    Subject,
};
use std::time::Duration;

const EMAIL: &str = "app@my-project.iam.gserviceaccount.com";
const OTHER: &str = "other@my-project.iam.gserviceaccount.com";
const NAME: &str =
    "projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider";
const ACCOUNT: (&str, &str) = ("iam.gke.io/gcp-service-account", EMAIL);
const PROVIDER: (&str, &str) = ("gcp.auth.fluxcd.io/workload-identity-provider", NAME);

/// What the token service is sent, written by hand.
fn sts(host: &str, audience: &str, scope: &str) -> Wire {
    Wire::post(format!("https://{host}/v1/token"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&audience={audience}&scope={scope}&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt&subject_token="
        ))
        .body_token()
        .build()
}

const AUDIENCE: &str = "%2F%2Fiam.googleapis.com%2Fprojects%2F123456789012%2Flocations%2Fglobal%2FworkloadIdentityPools%2Fmy-pool%2Fproviders%2Fmy-provider";
const GKE_AUDIENCE: &str = "identitynamespace%3Amy-project.svc.id.goog%3Ahttps%3A%2F%2Fcontainer.googleapis.com%2Fv1%2Fprojects%2Fmy-project%2Flocations%2Feurope-west1%2Fclusters%2Fprod";
const CLOUD: &str = "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
const BOTH: &str = "https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform+https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email";
const SCOPES: &str = r#"["https://www.googleapis.com/auth/cloud-platform","https://www.googleapis.com/auth/userinfo.email"]"#;

/// What IAM Credentials is sent.
fn iam(host: &str, email: &str, bearer: &str, body: &str) -> Wire {
    Wire::post(format!(
        "https://{host}/v1/projects/-/serviceAccounts/{email}:generateAccessToken"
    ))
    .header("authorization", format!("Bearer {bearer}"))
    .header("content-type", "application/json")
    .body(body)
    .build()
}

fn federated() -> Response {
    Response::new(
        200,
        br#"{"access_token":"federated","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3599}"#,
    )
}

fn impersonated() -> Response {
    Response::new(
        200,
        br#"{"accessToken":"impersonated","expireTime":"2026-01-01T00:30:00Z"}"#,
    )
}

fn run(
    annotations: &[(&str, &str)],
    facts: Facts,
    request: Request,
    host: &ScriptedHost,
) -> Result<Credential, Error> {
    let subject = testing::service_account("team-a", "app", annotations);
    start(subject, facts, Source::SubjectToken, request, host)
}

fn start(
    subject: Subject,
    facts: Facts,
    source: Source,
    request: Request,
    host: &ScriptedHost,
) -> Result<Credential, Error> {
    let exchange = Exchange {
        identity: Gcp.identity(&subject, &facts, &request)?,
        subject,
        facts,
        source,
        request,
    };
    Gcp.exchange(&exchange, host)
}

fn with(parameters: &[(&str, &str)]) -> Request {
    Request {
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..Request::default()
    }
}

fn secret(credential: &Credential) -> &str {
    match &credential.material {
        Material::Bearer(token) => token.expose(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_becomes_that_of_its_principal() {
    let host = ScriptedHost::new().expect(sts("sts.googleapis.com", AUDIENCE, BOTH), federated());
    let credential = run(&[PROVIDER], None, Request::default(), &host).unwrap();
    assert_eq!(secret(&credential), "federated");
    let expiry = host.now() + Duration::from_secs(3599);
    assert_eq!(credential.expires_at, Some(expiry));
    let principal = "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-pool/subject/system:serviceaccount:team-a:app";
    assert_eq!(
        credential.attributes,
        [
            ("principal".to_owned(), principal.to_owned()),
            ("universe-domain".to_owned(), "googleapis.com".to_owned())
        ]
    );
    host.finish();

    let host =
        ScriptedHost::new().expect(sts("sts.googleapis.com", GKE_AUDIENCE, BOTH), federated());
    let credential = run(&[], facts(), Request::default(), &host).unwrap();
    assert_eq!(secret(&credential), "federated");
    host.finish();
}

#[test]
fn a_token_becomes_that_of_a_service_account() {
    let body = format!(r#"{{"lifetime":"3600s","scope":{SCOPES}}}"#);
    let usual = || iam("iamcredentials.googleapis.com", EMAIL, "federated", &body);
    for (annotations, facts, audience) in [
        (&[ACCOUNT, PROVIDER][..], None, AUDIENCE),
        (&[ACCOUNT], facts(), GKE_AUDIENCE),
    ] {
        let host = ScriptedHost::new()
            .expect(sts("sts.googleapis.com", audience, CLOUD), federated())
            .expect(usual(), impersonated());
        let credential = run(annotations, facts, Request::default(), &host).unwrap();
        assert_eq!(secret(&credential), "impersonated");
        let expiry = host.now() + Duration::from_secs(1800);
        assert_eq!(credential.expires_at, Some(expiry));
        let expected = [
            ("service-account".to_owned(), EMAIL.to_owned()),
            ("universe-domain".to_owned(), "googleapis.com".to_owned()),
        ];
        assert_eq!(credential.attributes, expected);
        host.finish();
    }
}

#[test]
fn every_field_of_a_request_is_on_the_wire() {
    let request = Request {
        scopes: vec!["openid".into(), "email".into()],
        region: Some("europe-west1".into()),
        parameters: with(&[
            ("lifetime-seconds", "43200"),
            (
                "delegates",
                "b@p.iam.gserviceaccount.com,c@p.iam.gserviceaccount.com",
            ),
            ("universe-domain", "s3nsapis.fr"),
        ])
        .parameters,
        ..Request::default()
    };
    let body = r#"{"delegates":["projects/-/serviceAccounts/b@p.iam.gserviceaccount.com","projects/-/serviceAccounts/c@p.iam.gserviceaccount.com"],"lifetime":"43200s","scope":["openid","email"]}"#;
    let host = ScriptedHost::new()
        .expect(
            sts("sts.europe-west1.rep.s3nsapis.fr", AUDIENCE, CLOUD),
            federated(),
        )
        .expect(
            iam("iamcredentials.s3nsapis.fr", EMAIL, "federated", body),
            impersonated(),
        );
    let credential = run(&[ACCOUNT, PROVIDER], None, request, &host).unwrap();
    let universe = ("universe-domain".to_owned(), "s3nsapis.fr".to_owned());
    assert!(credential.attributes.contains(&universe));
    host.finish();

    let request = Request {
        scopes: vec!["openid".into()],
        endpoint: Some("https://sts.mtls.googleapis.com".into()),
        ..Request::default()
    };
    let direct = sts("sts.mtls.googleapis.com", AUDIENCE, "openid");
    let host = ScriptedHost::new().expect(direct, federated());
    run(&[PROVIDER], None, request, &host).unwrap();
    host.finish();
}

#[test]
fn a_further_link_impersonates_with_the_token_before_it() {
    let earlier = Credential::bearer("earlier", ScriptedHost::new().now());
    let body = format!(r#"{{"lifetime":"600s","scope":{SCOPES}}}"#);
    for subject in [
        Subject::Ambient,
        testing::service_account("team-a", "app", &[ACCOUNT, PROVIDER]),
    ] {
        let wire = iam("iamcredentials.googleapis.com", OTHER, "earlier", &body);
        let host = ScriptedHost::new().expect(wire, impersonated());
        let request = with(&[("impersonate", OTHER), ("lifetime-seconds", "600")]);
        let source = Source::Credential(earlier.clone());
        let credential = start(subject, None, source, request, &host).unwrap();
        assert_eq!(secret(&credential), "impersonated");
        host.finish();
    }
}

#[test]
fn a_link_stays_in_the_universe_of_the_token_before_it() {
    let earlier = |universe: Option<&str>| {
        let credential = Credential::bearer("hunter2", ScriptedHost::new().now());
        match universe {
            Some(universe) => credential.attribute("universe-domain", universe),
            None => credential,
        }
    };
    for (before, link, fits) in [
        (None, None, true),
        (None, Some("googleapis.com"), true),
        (Some("googleapis.com"), None, true),
        (Some("s3nsapis.fr"), Some("s3nsapis.fr"), true),
        (None, Some("s3nsapis.fr"), false),
        (Some("googleapis.com"), Some("s3nsapis.fr"), false),
        (Some("s3nsapis.fr"), None, false),
        (Some("s3nsapis.fr"), Some("apis-berlin-build0.goog"), false),
        (Some("S3nsapis.fr"), Some("s3nsapis.fr"), false),
        (Some(""), None, false),
    ] {
        let mut request = with(&[("impersonate", OTHER)]);
        if let Some(link) = link {
            let universe = ("universe-domain".to_owned(), link.to_owned());
            request.parameters.extend([universe]);
        }
        let host = ScriptedHost::new().answer(impersonated());
        let source = Source::Credential(earlier(before));
        let outcome = start(Subject::Ambient, None, source, request, &host);
        assert_eq!(host.sent().len(), usize::from(fits), "{before:?} {link:?}");
        match outcome {
            Ok(credential) => {
                assert!(fits, "{before:?} {link:?}");
                let universe = link.unwrap_or("googleapis.com").to_owned();
                let universe = ("universe-domain".to_owned(), universe);
                assert!(credential.attributes.contains(&universe));
            }
            Err(error) => {
                assert!(!fits, "{error}");
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
                assert!(error.message().contains("universe"), "{error}");
                assert!(!error.message().contains("hunter2"), "{error}");
            }
        }
    }
}

#[test]
fn keys_of_another_cloud_begin_no_chain_of_google() {
    let now = ScriptedHost::new().now();
    let keys = Material::Aws(AwsKeys {
        access_key_id: "AKIA".into(),
        secret_access_key: "hunter2".into(),
        session_token: None,
    });
    let login = Material::Custom(vec![("token".into(), "hunter2".into())]);
    for material in [keys, login] {
        let source = Source::Credential(Credential::new(material, now));
        let host = ScriptedHost::new();
        let link = with(&[("impersonate", OTHER)]);
        let error = start(Subject::Ambient, None, source, link, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(
            error.message().contains("access token of Google"),
            "{error}"
        );
        assert!(host.sent().is_empty());
    }
}

#[test]
fn a_source_that_does_not_fit_is_refused_before_anything_is_sent() {
    let account = || testing::service_account("team-a", "app", &[PROVIDER]);
    let bearer = || Credential::bearer("t", ScriptedHost::new().now());
    let link = || with(&[("impersonate", OTHER)]);
    let plain = Request::default;
    for (subject, source, request, code) in [
        (
            account(),
            Source::SubjectToken,
            link(),
            ErrorCode::InvalidConfiguration,
        ),
        (
            Subject::Ambient,
            Source::Ambient,
            link(),
            ErrorCode::InvalidConfiguration,
        ),
        (
            account(),
            Source::Credential(bearer()),
            plain(),
            ErrorCode::InvalidConfiguration,
        ),
        (
            account(),
            Source::Credential(Credential::subject_token()),
            link(),
            ErrorCode::InvalidConfiguration,
        ),
        (account(), Source::Ambient, plain(), ErrorCode::Unsupported),
        (account(), Source::Signer, plain(), ErrorCode::Unsupported),
        (
            Subject::Ambient,
            Source::SubjectToken,
            plain(),
            ErrorCode::Unsupported,
        ),
    ] {
        let host = ScriptedHost::new();
        let error = start(subject, None, source, request, &host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn an_identity_that_is_not_the_subjects_is_refused() {
    let exchange = Exchange {
        subject: testing::service_account("team-a", "app", &[ACCOUNT, PROVIDER]),
        identity: OTHER.into(),
        facts: None,
        source: Source::SubjectToken,
        request: Request::default(),
    };
    let error = Gcp.exchange(&exchange, &ScriptedHost::new()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
}

#[test]
fn a_refusal_says_where_it_came_from_and_what_to_check() {
    let denied = br#"{"error":"invalid_grant","error_description":"The audience in ID Token does not match."}"#;
    let host = ScriptedHost::new().answer(Response::new(400, denied));
    let error = run(&[ACCOUNT, PROVIDER], None, Request::default(), &host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    for word in [NAME, "sts.googleapis.com", "does not match", "issuer"] {
        assert!(error.message().contains(word), "{error}");
    }

    let denied = br#"{"error":{"code":403,"message":"Permission 'iam.serviceAccounts.getAccessToken' denied","status":"PERMISSION_DENIED"}}"#;
    let host = ScriptedHost::new()
        .answer(federated())
        .answer(Response::new(403, denied));
    let error = run(&[ACCOUNT, PROVIDER], None, Request::default(), &host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    for word in [EMAIL, "getAccessToken", "roles/iam.workloadIdentityUser"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(!error.message().contains("federated\""), "{error}");
}

#[test]
fn a_hostile_answer_of_either_service_is_unavailable() {
    for body in [
        "",
        "null",
        "{}",
        "<html>",
        r#"{"access_token":"","expires_in":1}"#,
        r#"{"access_token":"t","expires_in":0}"#,
        r#"{"access_token":"t","expires_in":3600"#,
    ] {
        let answer = || Response::new(200, body.as_bytes());
        let first = ScriptedHost::new().answer(answer());
        let second = ScriptedHost::new().answer(federated()).answer(answer());
        for host in [first, second] {
            let error = run(&[ACCOUNT, PROVIDER], None, Request::default(), &host).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unavailable, "{error}: {body}");
        }
    }
}
