//! `gatepass workload-api`, and `gatepass oci` with what an agent says.

use crate::agent::{
    Agent, Answer, Call, INVALID_ARGUMENT, PERMISSION_DENIED, UNAVAILABLE, UNIMPLEMENTED, field,
    status_without_metadata,
};
use crate::world::{Ran, program};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_tests::http::{self, Server};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const ID: &str = "spiffe://example.org/ns/team-a/sa/app";
const OTHER: &str = "spiffe://example.org/ns/team-a/sa/other";
/// 2100-01-01.
const FAR: i64 = 4_102_444_800;

/// A token of this subject, for the audiences of the call.
fn token(subject: &str, audiences: &[String], expiry: i64) -> String {
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({ "alg": "RS256", "kid": "k", "typ": "JWT" }));
    let claims = part(json!({ "sub": subject, "aud": audiences, "exp": expiry }));
    format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode("canary"))
}

fn jwt_svid(subject: &str, token: &str) -> Vec<u8> {
    let svid = [field(1, subject.as_bytes()), field(2, token.as_bytes())].concat();
    field(1, &svid)
}

/// The token that is asked for.
fn jwt(call: &Call) -> Answer {
    let asked = call.texts(2);
    let subject = asked.first().map_or(ID, String::as_str);
    Answer::Message(jwt_svid(subject, &token(subject, &call.texts(1), FAR)))
}

/// Certificates of both identities, under one authority.
struct Certificates {
    message: Vec<u8>,
}

impl Certificates {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let authority = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let svids = [ID, OTHER].map(|id| svid(id, &issuer, authority.der()));
        Self {
            message: svids.concat(),
        }
    }
}

fn svid(id: &str, issuer: &Issuer<'_, KeyPair>, authority: &[u8]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::URI(id.try_into().unwrap())];
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().unwrap();
    let leaf = params.signed_by(&key, issuer).unwrap();
    let fields = [
        field(1, id.as_bytes()),
        field(2, leaf.der()),
        field(3, key.serialized_der()),
        field(4, authority),
    ];
    field(1, &fields.concat())
}

/// An agent that knows this workload.
fn agent() -> Agent {
    let certificates = Certificates::new();
    Agent::start(move |call, _| match call.method.as_str() {
        "FetchJWTSVID" => jwt(call),
        "FetchX509SVID" => Answer::Message(certificates.message.clone()),
        _ => Answer::Status(UNIMPLEMENTED, "no such method"),
    })
}

fn ask(agent: &Agent, line: &str) -> Ran {
    let mut command = program();
    command
        .env("SPIFFE_ENDPOINT_SOCKET", agent.address())
        .arg("workload-api")
        .args(line.split_whitespace());
    Ran::of(&mut command)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_printed_in_every_form_that_fits_and_shown_in_no_table() {
    let agent = agent();
    let whole = token(ID, &["a".into(), "b".into()], FAR);
    let table = ask(&agent, "jwt --audience a,b").ok();
    assert!(table.contains(ID), "{table}");
    assert!(table.contains("2100-01-01T00:00:00Z"), "{table}");
    assert!(table.contains(&agent.address()), "{table}");
    assert!(!table.contains(&whole), "{table}");
    let raw = ask(&agent, "jwt --audience a,b -o token").ok();
    assert_eq!(raw, format!("{whole}\n"));
    let value = ask(&agent, "jwt --audience a --audience b -o json").json();
    assert_eq!(value["token"], whole);
    assert_eq!(value["identity"], ID);
    assert_eq!(value["attributes"]["audience"], "a,b");
    let exec = ask(&agent, "jwt --audience a,b -o exec-credential").json();
    assert_eq!(exec["kind"], "ExecCredential");
    assert_eq!(exec["status"]["token"], whole);
    ask(&agent, "jwt --audience a -o env").refused(2, &["exec-credential"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_may_be_named_and_the_flag_beats_the_variable() {
    let agent = agent();
    let line = format!(
        "workload-api jwt --audience a --spiffe-id {OTHER} --socket {} -o json",
        agent.address()
    );
    let mut command = program();
    command
        .env("SPIFFE_ENDPOINT_SOCKET", "unix:///nonexistent")
        .args(line.split_whitespace());
    assert_eq!(Ran::of(&mut command).json()["identity"], OTHER);
    let value = ask(&agent, &format!("x509 --spiffe-id {OTHER} -o json")).json();
    assert_eq!(value["identity"], OTHER);
    ask(&agent, "x509 --spiffe-id spiffe://example.org/none").refused(4, &[ID, OTHER]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_printed_or_written_for_its_owner_alone() {
    let agent = agent();
    let table = ask(&agent, "x509").ok();
    assert!(table.contains(ID) && !table.contains("BEGIN"), "{table}");
    let value = ask(&agent, "x509 -o json").json();
    let key = value["x509"]["privateKey"].as_str().unwrap();
    assert!(KeyPair::from_pem(key).is_ok());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("identity");
    let told = ask(&agent, &format!("x509 --out {}", out.display())).ok();
    assert!(!told.contains("BEGIN"), "{told}");
    for (name, begins) in [
        ("tls.crt", "-----BEGIN CERTIFICATE-----\n"),
        ("tls.key", "-----BEGIN PRIVATE KEY-----\n"),
        ("bundle.crt", "-----BEGIN CERTIFICATE-----\n"),
    ] {
        let path = out.join(name);
        let content = fs::read_to_string(&path).unwrap();
        assert!(content.starts_with(begins), "{name}");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::read_dir(&out).unwrap().count(), 3);
    ask(&agent, "x509 --out x -o json").refused(2, &["table"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_is_sent_and_what_lacks_it_is_refused() {
    let agent = agent();
    assert_eq!(status_without_metadata(&agent).await, "3");
    ask(&agent, "x509").ok();
    assert_eq!(agent.calls().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_is_registered_late_gets_its_identity() {
    for status in [PERMISSION_DENIED, UNAVAILABLE] {
        let agent = Agent::start(move |call, before| match before {
            0 | 1 => Answer::Status(status, "no identity issued"),
            _ => jwt(call),
        });
        ask(&agent, "jwt --audience a").ok();
        assert_eq!(agent.calls().len(), 3, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_has_its_code_and_says_what_to_do() {
    for (answer, code, calls, words) in [
        (
            Answer::Status(PERMISSION_DENIED, "no identity issued"),
            4,
            3,
            &["has no identity", "register the workload"][..],
        ),
        (
            Answer::Status(PERMISSION_DENIED, "pod not found"),
            4,
            3,
            &["pod not found"],
        ),
        (
            Answer::Status(UNAVAILABLE, "starting"),
            9,
            3,
            &["not ready", "starting"],
        ),
        (
            Answer::Status(INVALID_ARGUMENT, "bad audience"),
            3,
            1,
            &["invalid", "bad audience", "--audience"],
        ),
        (
            Answer::Status(UNIMPLEMENTED, "no"),
            3,
            1,
            &["does not serve", "SPIFFE_ENDPOINT_SOCKET"],
        ),
        (Answer::Silence, 9, 1, &["did not answer in time"]),
    ] {
        let agent = Agent::start(move |_, _| answer.clone());
        // Time for attempts after 100 and 300 ms, and none for a fourth after 700 ms.
        ask(&agent, "jwt --audience a --timeout 690ms").refused(code, words);
        let came = agent.calls().len();
        assert!(came <= calls && came >= 1, "{words:?}: {came}");
        ask(&agent, "x509 --timeout 690ms").refused(code, words);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_the_standard_does_not_allow_is_refused_and_not_shown() {
    let audience = || vec!["a".to_owned()];
    for (message, word) in [
        (vec![], "svids"),
        (jwt_svid("", &token(ID, &audience(), FAR)), "spiffe_id"),
        (jwt_svid(ID, ""), "JWTSVID.svid"),
        (jwt_svid(ID, "canary"), "JWT-SVID"),
        (jwt_svid(ID, &token("canary", &audience(), FAR)), "JWT-SVID"),
        (jwt_svid(ID, &token(ID, &[], FAR)), "JWT-SVID"),
        (jwt_svid(ID, &token(ID, &["b".into()], FAR)), "audience"),
        (jwt_svid(ID, &token(ID, &audience(), 1)), "expired"),
        (jwt_svid(ID, &token(ID, &audience(), -1)), "JWT-SVID"),
        (vec![0xff; 100], "not ready"),
        (field(1, &vec![b'x'; 5 << 20]), "does not allow"),
    ] {
        let agent = Agent::start(move |_, _| Answer::Message(message.clone()));
        let ran = ask(&agent, "jwt --audience a --timeout 2s");
        assert!(!ran.stderr.contains("canary"), "{ran:?}");
        ran.refused(9, &[word]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_socket_it_is_said_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    let missing = format!("unix://{}/agent.sock", folder.path().display());
    for (address, words) in [
        (None, &["SPIFFE_ENDPOINT_SOCKET", "--socket"][..]),
        (Some(""), &["SPIFFE_ENDPOINT_SOCKET", "--socket"]),
        (Some("unix:agent.sock"), &["unix:///PATH"]),
        (Some("tcp://localhost:80"), &["IP address"]),
        (Some(missing.as_str()), &["there is no Workload API"]),
    ] {
        let mut command = program();
        command.args("workload-api jwt --audience a".split_whitespace());
        if let Some(address) = address {
            command.env("SPIFFE_ENDPOINT_SOCKET", address);
        }
        Ran::of(&mut command).refused(3, words);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_gone_is_out_of_reach() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut command = program();
    command
        .env(
            "SPIFFE_ENDPOINT_SOCKET",
            format!("unix://{}", path.display()),
        )
        .args("workload-api x509 --timeout 50ms".split_whitespace());
    Ran::of(&mut command).refused(9, &["nobody answers", "start the agent"]);
}

/// A registry that takes the JWT-SVID of our workload, for this repository.
async fn registry() -> Server {
    Server::start(|request| async move {
        let host = request.header("host").unwrap_or_default();
        let expected = token(ID, &[format!("{host}/team/app")], FAR);
        let is_ours = request.header("authorization") == Some(&format!("Bearer {expected}"));
        match (is_ours, request.target.split('?').next()) {
            (true, Some("/v2/team/app/tags/list")) => http::Answer::new(
                200,
                json!({ "name": "team/app", "tags": ["v1"] }).to_string(),
            ),
            (true, _) => http::Answer::new(404, "{}"),
            (false, _) => {
                http::Answer::new(401, "{}").with("www-authenticate", "Bearer realm=\"x\"")
            }
        }
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_takes_the_token_of_the_agent() {
    let (agent, registry) = (agent(), registry().await);
    let list = |flags: &str| {
        let mut command = program();
        let line = format!(
            "oci list {}/team/app --plain-http -o json --creds=SpiffeJWT {flags}",
            registry.address()
        );
        command
            .env("SPIFFE_ENDPOINT_SOCKET", agent.address())
            .args(line.split_whitespace());
        Ran::of(&mut command)
    };
    assert_eq!(list("").json()["tags"], json!([{ "tag": "v1" }]));
    assert_eq!(agent.calls().len(), 1);
    list("--audiences other").refused(4, &["does not accept the login"]);
    list("--sa-name app").refused(2, &["--sa-name has no effect"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_dialled_with_the_certificate_of_the_agent() {
    let agent = agent();
    let mut command = program();
    // Nobody listens on port 1 of this machine.
    let line = "oci list 127.0.0.1:1/team/app --creds=SpiffeCertificate";
    command
        .env("SPIFFE_ENDPOINT_SOCKET", agent.address())
        .args(line.split_whitespace());
    Ran::of(&mut command).refused(9, &["127.0.0.1:1"]);
    let methods: Vec<String> = agent.calls().into_iter().map(|call| call.method).collect();
    assert_eq!(methods, ["FetchX509SVID"]);
}
