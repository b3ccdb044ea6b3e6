//! Chains: what is signed and sent for a link, and what is refused before.

use super::*;
use gatepass_sdk::AwsKeys;

const OTHER: &str = "arn:aws:iam::210987654321:role/other";
const OTHER_SESSION: &str = "arn:aws:sts::210987654321:assumed-role/other/session";

fn keys(session_token: Option<&str>) -> Credential {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: session_token.map(Into::into),
    };
    let expiry = ScriptedHost::new().now() + Duration::from_secs(3600);
    Credential::new(Material::Aws(keys), expiry)
}

fn link(parameters: &[(&str, &str)]) -> Request {
    Request {
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..request()
    }
}

fn run(source: Source, request: Request, host: &ScriptedHost) -> Result<Credential, Error> {
    let exchange = Exchange {
        subject: subject(),
        identity: Aws.identity(&subject(), &None, &request)?,
        facts: None,
        source,
        request,
    };
    Aws.exchange(&exchange, host)
}

fn chained(source: Source, parameters: &[(&str, &str)]) -> (Result<Credential, Error>, String) {
    let body = answer(EXPIRATION, OTHER_SESSION).replace("WithWebIdentity", "");
    let host = ScriptedHost::new().answer(egress::Response::new(200, body.as_bytes()));
    let credential = run(source, link(parameters), &host);
    let form = host.sent().first().map(testing::body).unwrap_or_default();
    (credential, form)
}

#[test]
fn the_keys_before_become_those_of_the_links_role() {
    let source = Source::Credential(keys(None));
    let (credential, form) = chained(source, &[("role-arn", OTHER)]);
    let credential = credential.unwrap();
    assert!(matches!(credential.material, Material::Aws(_)));
    let expected = [
        ("assumed-role-arn", OTHER_SESSION),
        ("account", "210987654321"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(credential.attributes, expected);
    assert_eq!(
        form,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A210987654321%3Arole%2Fother&RoleSessionName=app.team-a.us-east-1.gatepass"
    );
}

#[test]
fn every_parameter_of_a_link_is_in_the_form() {
    let (credential, form) = chained(
        Source::Credential(keys(Some("session"))),
        &[
            ("role-arn", OTHER),
            ("session-name", "cluster-spinner.acme.com"),
            ("external-id", "7a5b:816a"),
            ("source-identity", "alice@acme"),
            ("duration-seconds", "3600"),
            ("policy", "{}"),
            ("policy-arns", "arn:aws:iam::aws:policy/A"),
            ("tags", r"company=acme industries,a\=b="),
            ("transitive-tags", "a=b"),
        ],
    );
    credential.unwrap();
    assert_eq!(
        form,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A210987654321%3Arole%2Fother&RoleSessionName=cluster-spinner.acme.com&PolicyArns.member.1.arn=arn%3Aaws%3Aiam%3A%3Aaws%3Apolicy%2FA&Policy=%7B%7D&DurationSeconds=3600&ExternalId=7a5b%3A816a&SourceIdentity=alice%40acme&Tags.member.1.Key=company&Tags.member.2.Key=a%3Db&Tags.member.1.Value=acme+industries&Tags.member.2.Value=&TransitiveTagKeys.member.1=a%3Db"
    );
}

#[test]
fn a_link_is_signed_for_the_host_that_it_is_sent_to() {
    for (endpoint, url, scope) in [
        (
            None,
            "https://sts.eu-west-1.amazonaws.com/",
            "/eu-west-1/sts/",
        ),
        (
            Some("https://sts.amazonaws.com"),
            "https://sts.amazonaws.com/",
            "/us-east-1/sts/",
        ),
    ] {
        let request = Request {
            region: Some("eu-west-1".into()),
            endpoint: endpoint.map(str::to_owned),
            ..link(&[("role-arn", OTHER)])
        };
        let body = answer(EXPIRATION, OTHER_SESSION).replace("WithWebIdentity", "");
        let host = ScriptedHost::new().answer(egress::Response::new(200, body.as_bytes()));
        run(Source::Credential(keys(Some("session"))), request, &host).unwrap();
        let sent = host.sent();
        assert_eq!(sent[0].url(), url);
        let authorization = testing::header(&sent[0], "authorization").unwrap();
        let credential = format!("Credential=AKIDEXAMPLE/20260101{scope}aws4_request, ");
        assert!(authorization.contains(&credential), "{authorization}");
        let token = testing::header(&sent[0], "x-amz-security-token");
        assert_eq!(token.as_deref(), Some("session"));
        assert_eq!(
            testing::header(&sent[0], "content-type").as_deref(),
            Some("application/x-www-form-urlencoded")
        );
    }
}

#[test]
fn a_session_gets_no_longer_one_than_an_hour() {
    let long = [("role-arn", OTHER), ("duration-seconds", "3601")];
    let (error, form) = chained(Source::Credential(keys(Some("session"))), &long);
    let error = error.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    assert!(error.message().contains("3601"), "{error}");
    assert_eq!(form, "");
    let (credential, form) = chained(Source::Credential(keys(None)), &long);
    assert!(
        credential.is_ok() && form.contains("DurationSeconds=3601"),
        "{form}"
    );
}

#[test]
fn a_link_stands_after_the_first_and_nowhere_else() {
    for (source, parameters, code, word) in [
        (
            Source::SubjectToken,
            &[("role-arn", OTHER)][..],
            ErrorCode::InvalidConfiguration,
            "role-arn",
        ),
        (
            Source::Ambient,
            &[("role-arn", OTHER)],
            ErrorCode::InvalidConfiguration,
            "role-arn",
        ),
        (
            Source::Credential(keys(None)),
            &[],
            ErrorCode::InvalidConfiguration,
            "role-arn",
        ),
        (
            Source::Credential(Credential::subject_token()),
            &[("role-arn", OTHER)],
            ErrorCode::Internal,
            "keys",
        ),
        (Source::Signer, &[], ErrorCode::Unsupported, "signer"),
    ] {
        let (error, form) = chained(source, parameters);
        let error = error.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{error}");
        assert_eq!(form, "");
    }
}

#[test]
fn a_refused_link_says_which_role_and_which_keys() {
    let body = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User is not authorized</Message></Error></ErrorResponse>";
    let host = ScriptedHost::new().answer(egress::Response::new(403, body.as_bytes()));
    let error = run(
        Source::Credential(keys(None)),
        link(&[("role-arn", OTHER)]),
        &host,
    );
    let error = error.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    for word in [OTHER, "AKIDEXAMPLE", "external ID"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(!error.message().contains("wJalr"), "{error}");
}

#[test]
fn a_session_of_another_account_is_no_answer() {
    let body = answer(EXPIRATION, ASSUMED).replace("WithWebIdentity", "");
    let host = ScriptedHost::new().answer(egress::Response::new(200, body.as_bytes()));
    let error = run(
        Source::Credential(keys(None)),
        link(&[("role-arn", OTHER)]),
        &host,
    );
    assert_eq!(error.unwrap_err().code(), ErrorCode::Unavailable);
}

#[test]
fn a_hostile_answer_to_a_link_is_an_error_that_shows_nothing_of_it() {
    for body in hostile() {
        let body = body.replace("WithWebIdentity", "");
        let host = ScriptedHost::new().answer(egress::Response::new(200, body.as_bytes()));
        let request = link(&[("role-arn", ROLE)]);
        let error = run(Source::Credential(keys(None)), request, &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable, "{error}: {body:.200}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}

fn caller(account: &str) -> String {
    format!(
        "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult><Arn>{ASSUMED}</Arn><UserId>AROA:app</UserId><Account>{account}</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"
    )
}

fn expecting(status: u16, body: &str) -> Result<Credential, Error> {
    let session = answer(EXPIRATION, ASSUMED);
    let host = ScriptedHost::new()
        .answer(egress::Response::new(200, session.as_bytes()))
        .answer(egress::Response::new(status, body.as_bytes()));
    let request = link(&[("expected-account", "123456789012")]);
    let credential = run(Source::SubjectToken, request, &host);
    let sent = host.sent();
    assert_eq!(
        testing::body(&sent[1]),
        "Action=GetCallerIdentity&Version=2011-06-15"
    );
    let authorization = testing::header(&sent[1], "authorization").unwrap();
    assert!(
        authorization.contains("Credential=ASIAEXAMPLE/"),
        "{authorization}"
    );
    credential
}

#[test]
fn keys_of_the_expected_account_are_handed_out() {
    let credential = expecting(200, &caller("123456789012")).unwrap();
    let accounts = credential
        .attributes
        .iter()
        .filter(|(name, _)| name == "account");
    assert_eq!(accounts.count(), 1);
}

#[test]
fn keys_of_another_account_are_refused() {
    for (status, body, code) in [
        (200, caller("210987654321"), ErrorCode::Denied),
        (200, caller(""), ErrorCode::Unavailable),
        (200, caller("secret"), ErrorCode::Unavailable),
        (200, String::new(), ErrorCode::Unavailable),
        (200, "<a>".repeat(20_000), ErrorCode::Unavailable),
        (403, String::new(), ErrorCode::Denied),
        (503, String::new(), ErrorCode::Unavailable),
    ] {
        let error = expecting(status, &body).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(!error.message().contains("secret"), "{error}");
    }
}
