//! Which source is tried, which one wins, and what is told of the others.

use crate::Azure;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{
    Credential, Error, ErrorCode, Exchange, Level, Provider, Request, Source, Subject, egress,
};
use std::io::ErrorKind;

const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";
const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
const TOKEN_FILE: &str = "/var/run/secrets/azure/wi/token/azure-identity-token";
const ANSWER: &str = r#"{"token_type":"Bearer","expires_in":3599,"access_token":"at"}"#;

fn token() -> egress::Response {
    egress::Response::new(200, ANSWER.as_bytes())
}

fn refusal(status: u16, number: u64) -> egress::Response {
    let body = format!(r#"{{"error":"x","error_codes":[{number}]}}"#);
    egress::Response::new(status, body.as_bytes())
}

fn silence() -> egress::Error {
    egress::Error {
        code: egress::ErrorCode::Unreachable,
        message: "no route".into(),
    }
}

fn principal(host: ScriptedHost) -> ScriptedHost {
    host.variable("AZURE_TENANT_ID", "contoso.com")
        .variable("AZURE_CLIENT_ID", CLIENT)
}

fn with_secret(host: ScriptedHost) -> ScriptedHost {
    principal(host).variable("AZURE_CLIENT_SECRET", "hunter2&x")
}

fn with_pod(host: ScriptedHost) -> ScriptedHost {
    principal(host)
        .variable("AZURE_FEDERATED_TOKEN_FILE", TOKEN_FILE)
        .file(TOKEN_FILE, format!("{TOKEN}\n").as_bytes())
}

fn ambient(host: &ScriptedHost, request: Request) -> Result<Credential, Error> {
    let exchange = Exchange {
        subject: Subject::Ambient,
        identity: "ambient".into(),
        facts: Azure.discover(host).map(Some)?,
        source: Source::Ambient,
        request,
    };
    Azure.exchange(&exchange, host)
}

fn metadata(query: &str) -> egress::Request {
    egress::Request::get(format!(
        "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&{query}"
    ))
    .header("metadata", "true")
    .timeout(std::time::Duration::from_secs(3))
    .build()
}

/// What a managed identity is asked for where the environment names one.
fn with_client() -> String {
    format!("{MANAGEMENT}&client_id={CLIENT}")
}

const MANAGEMENT: &str = "resource=https%3A%2F%2Fmanagement.core.windows.net%2F";

fn source(credential: &Credential) -> &str {
    let mut attributes = credential.attributes.iter();
    let found = attributes.find(|(name, _)| name == "source");
    found.map_or("", |(_, value)| value.as_str())
}

#[test]
fn a_secret_of_the_environment_is_sent_in_the_form() {
    let host = with_secret(ScriptedHost::new()).answer(token());
    let credential = ambient(&host, Request::default()).unwrap();
    assert_eq!(source(&credential), "client-secret");
    let [sent] = host.sent().try_into().unwrap();
    assert_eq!(
        sent.url(),
        "https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token"
    );
    assert_eq!(
        testing::body(&sent),
        format!(
            "client_id={CLIENT}&scope=https%3A%2F%2Fmanagement.core.windows.net%2F%2F.default&grant_type=client_credentials&client_secret=hunter2%26x"
        )
    );
}

#[test]
fn the_pods_token_is_sent_without_its_end_of_line_to_the_hosts_authority() {
    let host = with_pod(ScriptedHost::new())
        .variable("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.us/")
        .answer(token());
    let credential = ambient(&host, Request::default()).unwrap();
    assert_eq!(source(&credential), "workload-identity");
    let [sent] = host.sent().try_into().unwrap();
    assert_eq!(
        sent.url(),
        "https://login.microsoftonline.us/contoso.com/oauth2/v2.0/token"
    );
    let end = format!("jwt-bearer&client_assertion={TOKEN}");
    assert!(testing::body(&sent).ends_with(&end));
}

#[test]
fn an_identity_binding_sends_the_pods_token_to_that_proxy_alone() {
    let binding = |host| {
        with_pod(host)
            .variable("AZURE_KUBERNETES_TOKEN_PROXY", "https://10.0.0.1:443/")
            .variable("AZURE_KUBERNETES_SNI_NAME", "abc.ests.aks")
            .variable("AZURE_KUBERNETES_CA_FILE", "/ca.crt")
    };
    let host = binding(ScriptedHost::new()).answer(token());
    let credential = ambient(&host, Request::default()).unwrap();
    assert_eq!(source(&credential), "identity-binding");
    let [sent] = host.sent().try_into().unwrap();
    let url = "https://abc.ests.aks/contoso.com/oauth2/v2.0/token";
    assert_eq!(sent.url(), url);

    let host = binding(ScriptedHost::new()).answer(refusal(401, 700_213));
    assert!(ambient(&host, Request::default()).is_err());
    let [sent] = host.sent().try_into().unwrap();
    assert_eq!(sent.url(), url);

    let host = binding(ScriptedHost::new())
        .variable("AZURE_FEDERATED_TOKEN_FILE", "/none")
        .expect(metadata(&with_client()), refusal(400, 0));
    let error = ambient(&host, Request::default()).unwrap_err();
    assert!(error.message().contains("for that proxy alone"), "{error}");
    host.finish();
}

#[test]
fn a_managed_identity_needs_no_configuration() {
    let host = ScriptedHost::new().expect(
        metadata(MANAGEMENT),
        egress::Response::new(
            200,
            br#"{"access_token":"at","expires_in":"86400","expires_on":"1767312000","not_before":"1767225600","resource":"x","token_type":"Bearer","client_id":"y"}"#,
        ),
    );
    let credential = ambient(&host, Request::default()).unwrap();
    assert_eq!(source(&credential), "managed-identity");
    let lifetime = credential.expires_at.unwrap().duration_since(host.now());
    assert_eq!(lifetime.unwrap().as_secs(), 86_400);
    host.finish();
}

#[test]
fn a_managed_identity_is_chosen_by_its_client_id_and_told_what_for() {
    let query = format!("resource=https%3A%2F%2Fvault.azure.net&client_id={CLIENT}");
    let host = ScriptedHost::new()
        .variable("AZURE_CLIENT_ID", CLIENT)
        .expect(metadata(&query), token());
    let request = Request {
        scopes: vec!["https://vault.azure.net/.default".into()],
        ..Request::default()
    };
    let credential = ambient(&host, request).unwrap();
    let client = ("client-id".to_owned(), CLIENT.to_owned());
    assert!(credential.attributes.contains(&client));
    host.finish();
}

#[test]
fn the_first_source_that_is_there_wins_and_the_log_says_why_not_the_others() {
    let without_file = |name| principal(ScriptedHost::new()).variable(name, "/none");
    for (host, winner, reasons) in [
        (
            with_pod(with_secret(ScriptedHost::new())),
            "client-secret",
            &[][..],
        ),
        (
            with_pod(ScriptedHost::new()),
            "workload-identity",
            &[
                "client-secret: AZURE_CLIENT_SECRET is not set",
                "AZURE_CLIENT_CERTIFICATE_PATH is not set",
            ],
        ),
        (
            ScriptedHost::new().variable("AZURE_CLIENT_SECRET", "hunter2"),
            "managed-identity",
            &["client-secret: AZURE_TENANT_ID is not set"],
        ),
        (
            without_file("AZURE_FEDERATED_TOKEN_FILE"),
            "managed-identity",
            &["workload-identity: AZURE_FEDERATED_TOKEN_FILE: the file '/none' cannot be read"],
        ),
        (
            without_file("AZURE_CLIENT_CERTIFICATE_PATH"),
            "managed-identity",
            &["client-certificate: AZURE_CLIENT_CERTIFICATE_PATH: the file '/none' cannot be"],
        ),
        (
            with_pod(ScriptedHost::new()).unreadable(TOKEN_FILE, ErrorKind::PermissionDenied),
            "managed-identity",
            &["is it granted?"],
        ),
        (
            ScriptedHost::new(),
            "managed-identity",
            &[
                "client-secret: AZURE_CLIENT_SECRET is not set",
                "identity-binding: AZURE_KUBERNETES_TOKEN_PROXY is not set",
                "workload-identity: AZURE_FEDERATED_TOKEN_FILE is not set",
            ],
        ),
    ] {
        let host = host.answer(token());
        let credential = ambient(&host, Request::default()).unwrap();
        assert_eq!(source(&credential), winner);
        let [(level, line)] = host.logged().try_into().unwrap();
        assert_eq!(level, Level::Info);
        assert!(
            line.starts_with(&format!("the token is of source {winner}")),
            "{line}"
        );
        for reason in reasons {
            assert!(line.contains(reason), "{line}");
        }
        assert!(!line.contains("hunter2"), "{line}");
        host.finish();
    }
}

#[test]
fn a_source_that_is_there_and_fails_is_the_error_and_nobody_else_is_asked() {
    use ErrorCode::{Denied, InvalidConfiguration, NotYet, Unavailable};
    let plain = ScriptedHost::new;
    let secret = || with_pod(with_secret(plain()));
    let binding = || with_pod(plain()).variable("AZURE_KUBERNETES_SNI_NAME", "abc.ests.aks");
    let broken = |kind| with_pod(plain()).unreadable(TOKEN_FILE, kind);
    let certificate = || {
        with_pod(plain())
            .variable("AZURE_CLIENT_CERTIFICATE_PATH", "/x.pem")
            .file("/x.pem", b"hunter2")
    };
    for (host, answer, source, expected) in [
        (secret(), Some((503, 0)), "client-secret", Unavailable),
        (secret(), Some((401, 7_000_215)), "client-secret", Denied),
        (
            secret(),
            Some((400, 700_016)),
            "client-secret",
            InvalidConfiguration,
        ),
        (secret(), Some((400, 70_021)), "client-secret", NotYet),
        (
            secret().variable("AZURE_CLIENT_ID", "app"),
            None,
            "client-secret",
            InvalidConfiguration,
        ),
        (
            certificate(),
            None,
            "client-certificate",
            InvalidConfiguration,
        ),
        (binding(), None, "identity-binding", InvalidConfiguration),
        (
            with_pod(plain()),
            Some((503, 0)),
            "workload-identity",
            Unavailable,
        ),
        (
            broken(ErrorKind::Other),
            None,
            "workload-identity",
            InvalidConfiguration,
        ),
        (
            broken(ErrorKind::FileTooLarge),
            None,
            "workload-identity",
            InvalidConfiguration,
        ),
    ] {
        let sent = usize::from(answer.is_some());
        let host = match answer {
            Some((status, number)) => host.answer(refusal(status, number)),
            None => host,
        };
        // The machine has an identity too, which must not be taken.
        let host = host.answer(token());
        let error = ambient(&host, Request::default()).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        let start = format!("source {source} of the environment failed: ");
        assert!(error.message().starts_with(&start), "{error}");
        let passed = error.message().contains("; client-secret: ");
        assert_eq!(passed, source != "client-secret", "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
        assert_eq!(host.sent().len(), sent, "{error}");
        assert!(host.logged().is_empty());
    }
}

#[test]
fn an_unreachable_authority_is_no_reason_to_become_the_machine() {
    let endpoint = "https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token";
    let body = format!(
        "client_id={CLIENT}&scope=https%3A%2F%2Fmanagement.core.windows.net%2F%2F.default&grant_type=client_credentials&client_secret=hunter2%26x"
    );
    let request = egress::Request::post(endpoint)
        .header("accept", "application/json")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .build();
    let host = with_secret(ScriptedHost::new())
        .expect_failure(request, silence())
        .answer(token());
    let error = ambient(&host, Request::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
    assert_eq!(host.sent().len(), 1);
}

#[test]
fn without_another_source_the_metadata_service_decides_and_each_reason_is_told() {
    use ErrorCode::{Denied, InvalidConfiguration, NotYet, Throttled, Unavailable};
    let silent = |code| {
        Err(egress::Error {
            code,
            message: "as told".into(),
        })
    };
    for (answer, expected) in [
        (silent(egress::ErrorCode::Unreachable), Unavailable),
        (silent(egress::ErrorCode::TimedOut), Unavailable),
        (silent(egress::ErrorCode::NotGranted), Unavailable),
        (Ok(refusal(400, 0)), Denied),
        (Ok(refusal(410, 0)), NotYet),
        (Ok(refusal(404, 0)), NotYet),
        (Ok(refusal(429, 0)), Throttled),
        (Ok(refusal(500, 0)), Unavailable),
    ] {
        let host = match answer {
            Ok(response) => ScriptedHost::new().expect(metadata(MANAGEMENT), response),
            Err(error) => ScriptedHost::new().expect_failure(metadata(MANAGEMENT), error),
        };
        let error = ambient(&host, Request::default()).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        for source in [
            "client-secret: ",
            "client-certificate: ",
            "identity-binding: ",
            "workload-identity: ",
            "managed-identity",
        ] {
            assert!(error.message().contains(source), "{error}");
        }
        assert!(host.logged().is_empty());
        host.finish();
    }
    let host = ScriptedHost::new().variable("AZURE_CLIENT_ID", "app");
    let error = ambient(&host, Request::default()).unwrap_err();
    assert_eq!(error.code(), InvalidConfiguration, "{error}");
}

#[test]
fn a_wait_that_was_asked_for_is_kept() {
    let busy = refusal(429, 0).header("retry-after", "7");
    let host = ScriptedHost::new().answer(busy);
    let error = ambient(&host, Request::default()).unwrap_err();
    assert_eq!(error.wait(), Some(std::time::Duration::from_secs(7)));
}

#[test]
fn what_is_wrong_with_a_source_is_named() {
    let pod = |content: &[u8]| {
        principal(ScriptedHost::new())
            .variable("AZURE_FEDERATED_TOKEN_FILE", TOKEN_FILE)
            .file(TOKEN_FILE, content)
    };
    let secret = |tenant: &str, client: &str| {
        ScriptedHost::new()
            .variable("AZURE_CLIENT_SECRET", "hunter2")
            .variable("AZURE_CLIENT_ID", client)
            .variable("AZURE_TENANT_ID", tenant)
    };
    let unreadable = principal(ScriptedHost::new()).variable("AZURE_FEDERATED_TOKEN_FILE", "/none");
    for (host, word) in [
        (pod(b""), "does not hold a token"),
        (pod(b"\n"), "does not hold a token"),
        (pod(b"hunter2"), "does not hold a token"),
        (pod(b"a.b.c.d"), "does not hold a token"),
        (pod(b"a..c"), "does not hold a token"),
        (pod(b"a.b.c&x=y"), "does not hold a token"),
        (pod(b"a.b\n.c"), "does not hold a token"),
        (pod(&[0xff, 0xfe]), "does not hold a token"),
        (unreadable, "cannot be read"),
        (secret("contoso.com", ""), "AZURE_CLIENT_ID is not set"),
        (secret("contoso.com", "app"), "AZURE_CLIENT_ID 'app'"),
        (secret("", CLIENT), "AZURE_TENANT_ID is not set"),
    ] {
        let host = host.answer(refusal(400, 0));
        let error = ambient(&host, Request::default()).unwrap_err();
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
}
