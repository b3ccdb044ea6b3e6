//! What goes over the wire to Entra, and what becomes of each answer.

use crate::Azure;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{
    Credential, Error, ErrorCode, Exchange, Facts, Material, Provider, Request, Source, Subject,
    egress,
};
use std::time::Duration;

const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";

fn subject() -> Subject {
    testing::service_account(
        "team-a",
        "app",
        &[
            ("azure.workload.identity/client-id", CLIENT),
            ("azure.workload.identity/tenant-id", "contoso.com"),
        ],
    )
}

fn request(parameters: &[(&str, &str)]) -> Request {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        parameters: parameters.iter().map(own).collect(),
        ..Request::default()
    }
}

/// What Entra is sent, written by hand: one text before the token, none after.
fn wire(host: &str, scope: &str) -> egress::Request {
    let form = format!(
        "client_id={CLIENT}&scope={scope}&grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion="
    );
    egress::Request::post(format!("https://{host}/contoso.com/oauth2/v2.0/token"))
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form)
        .body_token()
        .build()
}

const ARM: &str = "https%3A%2F%2Fmanagement.core.windows.net%2F%2F.default";
const ANSWER: &str =
    r#"{"token_type":"Bearer","expires_in":3599,"ext_expires_in":3599,"access_token":"at"}"#;

fn exchange_with(response: egress::Response) -> Result<Credential, Error> {
    let sent = wire("login.microsoftonline.com", ARM);
    let host = ScriptedHost::new().expect(sent, response);
    let credential = testing::exchange(&Azure, subject(), request(&[("cloud", "public")]), &host);
    host.finish();
    credential
}

#[test]
fn a_token_of_the_cluster_becomes_a_token_of_entra() {
    let credential = exchange_with(egress::Response::new(200, ANSWER.as_bytes())).unwrap();
    assert_eq!(credential.material, Material::Bearer("at".into()));
    let expiry = ScriptedHost::new().now() + Duration::from_secs(3599);
    assert_eq!(credential.expires_at, Some(expiry));
    let expected = [
        ("tenant-id", "contoso.com"),
        ("client-id", CLIENT),
        ("source", "service-account-token"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(credential.attributes, expected);
}

#[test]
fn cloud_endpoint_and_scope_choose_where_and_what_for() {
    let endpoint = Request {
        endpoint: Some("https://login.windows.net/".into()),
        ..request(&[])
    };
    let scopes = Request {
        scopes: vec!["https://vault.azure.net/.default".into()],
        ..request(&[("cloud", "us-government")])
    };
    for (request, host, scope) in [
        (
            request(&[("cloud", "china")]),
            "login.chinacloudapi.cn",
            "https%3A%2F%2Fmanagement.core.chinacloudapi.cn%2F%2F.default",
        ),
        (
            request(&[("cloud", "public"), ("resource", "kubernetes")]),
            "login.microsoftonline.com",
            "6dae42f8-4368-4678-94ff-3960e28e3630%2F.default",
        ),
        (endpoint, "login.windows.net", ARM),
        (
            scopes,
            "login.microsoftonline.us",
            "https%3A%2F%2Fvault.azure.net%2F.default",
        ),
    ] {
        let answer = egress::Response::new(200, ANSWER.as_bytes());
        let scripted = ScriptedHost::new().expect(wire(host, scope), answer);
        testing::exchange(&Azure, subject(), request, &scripted).unwrap();
        scripted.finish();
    }
}

#[test]
fn sources_that_do_not_fit_the_subject_are_unsupported() {
    let credential = Credential::subject_token();
    for (subject, source) in [
        (subject(), Source::Ambient),
        (subject(), Source::Signer),
        (subject(), Source::Credential(credential.clone())),
        (Subject::Ambient, Source::SubjectToken),
        (Subject::Ambient, Source::Credential(credential)),
    ] {
        let exchange = Exchange {
            subject,
            identity: format!("contoso.com/{CLIENT}"),
            facts: Some(Default::default()),
            source,
            request: request(&[]),
        };
        let error = Azure.exchange(&exchange, &ScriptedHost::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported, "{error}");
    }
}

#[test]
fn an_identity_that_this_provider_did_not_answer_is_sent_nowhere() {
    for identity in ["", "ambient", "contoso.com", "../x/y", "a b/c"] {
        let exchange = Exchange {
            subject: subject(),
            identity: identity.into(),
            facts: Facts::None,
            source: Source::SubjectToken,
            request: request(&[("cloud", "public")]),
        };
        let host = ScriptedHost::new();
        assert!(Azure.exchange(&exchange, &host).is_err(), "{identity}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn a_refusal_says_for_whom_and_what_to_check() {
    let body = r#"{"error":"invalid_client","error_description":"AADSTS700213: No matching federated identity record found for presented assertion subject 'system:serviceaccount:team-a:app'. Trace ID: 1","error_codes":[700213]}"#;
    let error = exchange_with(egress::Response::new(401, body.as_bytes())).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    for word in [CLIENT, "contoso.com", "AADSTS700213", "team-a:app", "case"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(!error.message().contains("Trace"), "{error}");
}

#[test]
fn a_hostile_answer_is_unavailable() {
    for body in ["", "{}", "null", r#"{"access_token":"at","expires_in":0}"#] {
        let error = exchange_with(egress::Response::new(200, body.as_bytes())).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
        assert!(error.message().contains(CLIENT), "{error}");
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
        let sent = wire("login.microsoftonline.com", ARM);
        let host = ScriptedHost::new().expect_failure(sent, error);
        let error = testing::exchange(&Azure, subject(), request(&[("cloud", "public")]), &host);
        assert_eq!(error.unwrap_err().code(), expected);
    }
}
