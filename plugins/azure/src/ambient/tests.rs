//! Which source is tried, which one wins, and what is told of the others.

use crate::Azure;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{
    Credential, Error, ErrorCode, Exchange, Level, Provider, Request, Source, Subject, egress,
};

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

    let host = binding(ScriptedHost::new())
        .answer(refusal(401, 700_213))
        .answer(refusal(400, 0));
    let error = ambient(&host, Request::default()).unwrap_err();
    let urls: Vec<String> = host.sent().iter().map(|sent| sent.url().into()).collect();
    assert_eq!(urls.len(), 2, "{urls:?}");
    assert!(urls.iter().all(|url| !url.contains("microsoftonline")));
    assert!(error.message().contains("for that proxy alone"), "{error}");
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
fn the_first_source_that_works_wins_and_the_log_says_why_not_the_others() {
    for (host, answers, winner, reasons) in [
        (
            with_secret(ScriptedHost::new()),
            vec![token()],
            "client-secret",
            vec![],
        ),
        (
            with_pod(with_secret(ScriptedHost::new())),
            vec![refusal(401, 7_000_215), token()],
            "workload-identity",
            vec![
                "client-secret: ",
                "AADSTS7000215",
                "AZURE_CLIENT_CERTIFICATE_PATH is not set",
            ],
        ),
        (
            with_pod(ScriptedHost::new()),
            vec![refusal(400, 90_002), token()],
            "managed-identity",
            vec!["workload-identity: ", "AADSTS90002"],
        ),
        (
            ScriptedHost::new().variable("AZURE_CLIENT_SECRET", "hunter2"),
            vec![token()],
            "managed-identity",
            vec!["client-secret: AZURE_TENANT_ID is not set"],
        ),
        (
            ScriptedHost::new(),
            vec![token()],
            "managed-identity",
            vec![
                "client-secret: AZURE_CLIENT_SECRET is not set",
                "identity-binding: AZURE_KUBERNETES_TOKEN_PROXY is not set",
                "workload-identity: AZURE_FEDERATED_TOKEN_FILE is not set",
            ],
        ),
    ] {
        let host = answers.into_iter().fold(host, ScriptedHost::answer);
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
fn when_none_works_the_error_tells_each_reason_and_the_nearest_decides() {
    use ErrorCode::{Denied, InvalidConfiguration, NotYet, Throttled, Unavailable};
    let plain = ScriptedHost::new;
    let secret = || with_secret(ScriptedHost::new());
    for (host, answers, last, expected) in [
        (plain(), vec![], Err(silence()), Unavailable),
        (plain(), vec![], Ok(refusal(400, 0)), Denied),
        (plain(), vec![], Ok(refusal(410, 0)), NotYet),
        (plain(), vec![], Ok(refusal(404, 0)), NotYet),
        (plain(), vec![], Ok(refusal(429, 0)), Throttled),
        (plain(), vec![], Ok(refusal(500, 0)), Unavailable),
        (
            secret(),
            vec![refusal(401, 7_000_215)],
            Err(silence()),
            Denied,
        ),
        (
            secret(),
            vec![refusal(401, 7_000_215)],
            Ok(refusal(500, 0)),
            Unavailable,
        ),
        (
            secret(),
            vec![refusal(400, 700_016)],
            Err(silence()),
            InvalidConfiguration,
        ),
        (secret(), vec![refusal(400, 70_021)], Err(silence()), NotYet),
        (
            secret(),
            vec![refusal(503, 0)],
            Ok(refusal(400, 0)),
            Unavailable,
        ),
    ] {
        let host = answers.into_iter().fold(host, ScriptedHost::answer);
        let identity = host.variable_client();
        let host = match last {
            Ok(response) => host.expect(metadata(&identity), response),
            Err(error) => host.expect_failure(metadata(&identity), error),
        };
        let error = ambient(&host, Request::default()).unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        for source in [
            "client-secret: ",
            "client-certificate: ",
            "identity-binding: ",
            "workload-identity: ",
            "managed-identity: ",
        ] {
            assert!(error.message().contains(source), "{error}");
        }
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(host.logged().is_empty());
        host.finish();
    }
}

/// The query by which a scripted host's managed identity is asked for.
trait Query {
    fn variable_client(&self) -> String;
}

impl Query for ScriptedHost {
    fn variable_client(&self) -> String {
        match gatepass_sdk::Environment::variable(self, "AZURE_CLIENT_ID") {
            Some(client) => format!("{MANAGEMENT}&client_id={client}"),
            None => MANAGEMENT.into(),
        }
    }
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
