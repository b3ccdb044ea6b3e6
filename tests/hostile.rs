//! A guest that misbehaves in every way that this host claims to survive.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::config::GrantConfig;
use gatepass::environment::FixedEnvironment;
use gatepass::plugin::{Grant, GrantPolicy, Plugin, PluginLimits, PluginOptions, PluginSource};
use gatepass::{
    AccessRequest, AwsKeys, ClusterReference, CredentialRequest, CredentialRequestBuilder, Error,
    ErrorKind, Journal, Material, Network, Origination, StartingKeys,
};
use gatepass_sandbox::Fault;
use gatepass_tests::component;
use gatepass_tests::house::{House, engine, guest};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const CPU: Duration = Duration::from_millis(100);
const WALL: Duration = Duration::from_millis(500);

/// What a loaded machine may add to a limit before a test calls it broken: the limits themselves are
/// measured by the benchmarks.
const SLACK: Duration = Duration::from_secs(5);

async fn house() -> House {
    house_with("100ms", "500ms").await
}

async fn house_with(cpu: &'static str, wall: &'static str) -> House {
    let hostile = guest("hostile", |plugin| {
        plugin.grant = Some(GrantConfig {
            hosts: vec![
                "https://granted.example".into(),
                "http://169.254.169.254".into(),
            ],
            audiences: vec!["hostile".into()],
            environment: vec!["GATEPASS_TEST_GRANTED".into()],
            files: vec!["/run/granted".into(), "/run/other".into()],
            ..GrantConfig::default()
        });
        plugin.limits.cpu = cpu.parse().ok();
        plugin.limits.wall = wall.parse().ok();
        plugin.limits.max_request_bytes = Some(1024);
    });
    let hostile = hostile.unwrap();
    House::run_by("admin", |_, config| {
        config.retry.max_attempts = Some(1);
        config.plugins.push(hostile);
        FixedEnvironment::default()
            .variable("GATEPASS_TEST_GRANTED", "lent")
            .variable("GATEPASS_TEST_UNGRANTED", "canary")
            .file("/run/granted", "lent")
            .file("/run/other", "canary")
            .file("/etc/hostname", "canary")
    })
    .await
    .unwrap()
}

fn request(behaviour: &str) -> CredentialRequestBuilder {
    CredentialRequest::builder("hostile")
        .service_account("tenant-a", "workload")
        .parameter("behaviour", behaviour)
}

async fn run(house: &House, behaviour: &str) -> Result<String, Error> {
    let issued = house
        .host
        .access_token(&request(behaviour).build().unwrap())
        .await?;
    let Material::Bearer(token) = issued.value.material() else {
        panic!("{issued:?}");
    };
    Ok(token.expose().to_owned())
}

/// The behaviours end as said, and what the host serves after is none the worse.
async fn check(cases: &[(&str, ErrorKind, &str)]) {
    let house = house().await;
    for (behaviour, kind, words) in cases {
        let began = Instant::now();
        let error = run(&house, behaviour).await.unwrap_err();
        assert_eq!(error.kind(), *kind, "{behaviour}: {error}");
        assert!(
            error.to_string().contains(words),
            "{behaviour}: {error:?} lacks {words:?}"
        );
        assert!(
            began.elapsed() < CPU + WALL + SLACK,
            "{behaviour} took {:?}",
            began.elapsed()
        );
    }
    assert_eq!(house.host.cached().await, 0, "something was cached");
    assert_eq!(run(&house, "").await.unwrap(), "good");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_guests_that_take_too_much_are_ended() {
    check(&[
        ("spin", ErrorKind::Plugin, "processor time"),
        ("spin-in-bulk", ErrorKind::Plugin, "processor time"),
        ("allocate", ErrorKind::Plugin, "memory"),
        ("recurse", ErrorKind::Plugin, "stack"),
        ("sleep", ErrorKind::Unavailable, "500 ms"),
        ("panic", ErrorKind::Plugin, "panicked"),
        ("huge", ErrorKind::Plugin, "refuses"),
        ("million-attributes", ErrorKind::Plugin, "in exchange"),
        ("send-much", ErrorKind::Plugin, "more than 1024 bytes"),
    ])
    .await;
}

#[tokio::test]
async fn hostile_lies_are_refused() {
    check(&[
        ("expired", ErrorKind::Unavailable, "expired already"),
        ("endless", ErrorKind::Plugin, "without a time"),
        ("empty", ErrorKind::Plugin, "empty"),
        ("without-expiry", ErrorKind::Plugin, "without a time"),
        ("facts-forever", ErrorKind::Plugin, "asks for facts"),
        (
            "foreign-audience",
            ErrorKind::Egress,
            "https://kubernetes.default.svc",
        ),
        ("no-audience", ErrorKind::Plugin, "names no audience"),
        ("empty-audience", ErrorKind::Plugin, "breaks a rule"),
        ("line-break", ErrorKind::Plugin, "control characters"),
        ("throttled-forever", ErrorKind::Throttled, "slow down"),
    ])
    .await;
}

#[tokio::test]
async fn hostile_requests_are_not_sent() {
    let house = house().await;
    let cases = [
        (
            "send-ungranted",
            ErrorKind::Egress,
            "https://evil.example is not granted",
        ),
        (
            "send-wished",
            ErrorKind::Egress,
            "https://wished.example is not granted",
        ),
        (
            "send-to-metadata",
            ErrorKind::Egress,
            "http://169.254.169.254 is not granted",
        ),
        (
            "refused-then-panic",
            ErrorKind::Egress,
            "https://evil.example is not granted",
        ),
        (
            "refused-then-sleep",
            ErrorKind::Egress,
            "https://evil.example is not granted",
        ),
        (
            "steal-token",
            ErrorKind::Egress,
            "https://evil.example is not granted",
        ),
        (
            "send-plain",
            ErrorKind::Egress,
            "http://granted.example is not granted",
        ),
        ("send-to-address", ErrorKind::Plugin, "address"),
        ("send-host-header", ErrorKind::Plugin, "host"),
        ("send-token-often", ErrorKind::Plugin, "not sent"),
        ("send-line-break", ErrorKind::Plugin, "x is not valid"),
    ];
    for (behaviour, kind, words) in cases {
        let error = run(&house, behaviour).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{behaviour}: {error}");
        assert!(error.to_string().contains(words), "{behaviour}: {error}");
    }
    let sent = house
        .sandbox
        .requests()
        .into_iter()
        .filter(|request| request.host.ends_with(".example"))
        .count();
    assert_eq!(sent, 0);
}

#[tokio::test]
async fn hostile_requests_without_end_are_counted() {
    let house = house().await;
    let error = run(&house, "send-forever").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin, "{error}");
    assert!(error.to_string().contains("number of requests"), "{error}");
    let sent = house
        .sandbox
        .requests()
        .into_iter()
        .filter(|request| request.host == "granted.example")
        .count();
    assert_eq!(sent, 8);
}

#[tokio::test]
async fn a_granted_host_is_reached() {
    let house = house().await;
    assert_eq!(run(&house, "send-token").await.unwrap(), "status-404");
}

#[tokio::test]
async fn a_pure_verb_sends_nothing() {
    let house = house().await;
    let issued = house
        .host
        .access_token(&request("pure-egress").build().unwrap())
        .await
        .unwrap();
    assert_eq!(&*issued.identity, "refused: a pure verb sends nothing");
    let sent = house
        .sandbox
        .requests()
        .into_iter()
        .filter(|request| request.host == "granted.example")
        .count();
    assert_eq!(sent, 0);
}

#[tokio::test]
async fn keys_that_a_guest_brings_sign_in_an_ambient_exchange_alone() {
    let house = house().await;
    let refused = "an ambient exchange alone signs with keys that a plugin brings";
    let pure = request("pure-rsa").build().unwrap();
    let issued = house.host.access_token(&pure).await.unwrap();
    assert_eq!(&*issued.identity, format!("refused: {refused}"));

    let tenants = request("sign-rsa-often").build().unwrap();
    let issued = house.host.access_token(&tenants).await.unwrap();
    let answers = issued.value.attributes();
    assert!(!answers.is_empty());
    assert!(answers.iter().all(|(_, answer)| answer == refused));

    let answers = ambient(&house, "sign-rsa-often").await;
    let tried = answers
        .iter()
        .filter(|(_, answer)| answer.starts_with("the private key must be"));
    assert_eq!(tried.count(), 8, "{answers:?}");
    assert!(answers.iter().all(|(_, answer)| !answer.contains("canary")));
    let spent = "the call has used up its number of signatures";
    assert_eq!(
        answers.iter().filter(|(_, answer)| answer == spent).count(),
        2
    );
}

#[tokio::test]
async fn a_guest_sees_no_environment_no_arguments_and_no_files() {
    let house = house().await;
    let issued = house
        .host
        .access_token(&request("environment").build().unwrap())
        .await
        .unwrap();
    let seen = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = [
        seen("arguments", "0"),
        seen("files", "denied"),
        seen("variables", ""),
    ];
    assert_eq!(issued.value.attributes(), expected);
}

/// The attributes of what an ambient call answers.
async fn ambient(house: &House, behaviour: &str) -> Vec<(String, String)> {
    let request = CredentialRequest::builder("hostile").parameter("behaviour", behaviour);
    let request = request.build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    issued.value.attributes().to_vec()
}

#[tokio::test]
async fn an_ambient_call_sees_the_variables_and_files_that_are_granted_and_no_others() {
    let house = house().await;
    let seen = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = ambient(&house, "environment").await;
    assert!(environment.contains(&seen("variables", "GATEPASS_TEST_GRANTED=lent")));
    let files = ambient(&house, "files").await;
    let expected = [
        seen("/run/granted", "lent"),
        seen("/etc/hostname", "PermissionDenied"),
        seen("/run/../run/granted", "PermissionDenied"),
        seen("/run/other", "PermissionDenied"),
    ];
    assert_eq!(files, expected);
}

#[tokio::test]
async fn a_call_for_a_tenant_sees_no_file() {
    let house = house().await;
    let request = request("files").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let attributes = issued.value.attributes();
    assert!(
        attributes
            .iter()
            .all(|(_, value)| value == "PermissionDenied"),
        "{attributes:?}"
    );
}

#[tokio::test]
async fn metadata_is_reached_by_an_ambient_call_alone() {
    let house = house().await;
    let request = CredentialRequest::builder("hostile").parameter("behaviour", "send-to-metadata");
    let request = request.build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    assert!(
        matches!(issued.value.material(), Material::Bearer(token) if token.expose().starts_with("status-4"))
    );
}

#[tokio::test]
async fn secret_an_answer_that_echoes_the_token_comes_without_it() {
    let house = house().await;
    let faults = house.sandbox.faults();
    faults.set("granted.example", "*", Fault::Echo);
    let request = request("echo-token").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let echoed = &issued.value.attributes()[0];
    assert_eq!(echoed, &("echo".to_owned(), "t=[subject-token]".to_owned()));
}

fn link(region: &str) -> AccessRequest {
    AccessRequest {
        region: Some(region.into()),
        parameters: [("behaviour".to_owned(), "link".to_owned())].into(),
        ..AccessRequest::default()
    }
}

fn token(material: &Material) -> &str {
    let Material::Bearer(token) = material else {
        panic!("{material:?}");
    };
    token.expose()
}

#[tokio::test]
async fn each_link_of_a_chain_starts_from_the_one_before_and_is_cached_by_itself() {
    let house = house().await;
    let chain = |links: &[&str]| {
        let first = request("link").region("one");
        let chain = links
            .iter()
            .fold(first, |chain, region| chain.link(link(region)));
        chain.build().unwrap()
    };
    let issued = house
        .host
        .access_token(&chain(&["two", "three"]))
        .await
        .unwrap();
    assert_eq!(token(issued.value.material()), "SubjectToken>one>two>three");
    assert_eq!(&*issued.identity, "three");
    assert_eq!((house.host.cached().await, house.tokens()), (3, 1));
    let shorter = house.host.access_token(&chain(&["two"])).await.unwrap();
    assert_eq!(shorter.origination, Origination::Cache);
    let other = house
        .host
        .access_token(&chain(&["other", "three"]))
        .await
        .unwrap();
    assert_eq!(
        token(other.value.material()),
        "SubjectToken>one>other>three"
    );
    assert_eq!(house.tokens(), 1, "the first link came from the cache");
}

#[tokio::test]
async fn a_chain_that_comes_back_is_refused_before_anything_is_asked_for() {
    let house = house().await;
    let circle = request("link")
        .link(link("a"))
        .link(link("b"))
        .link(link("a"));
    let error = house
        .host
        .access_token(&circle.build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("comes back to a"), "{error}");
    assert_eq!((house.host.cached().await, house.tokens()), (0, 0));
}

#[tokio::test]
async fn secret_keys_of_the_caller_begin_a_chain_and_are_told_apart() {
    let house = house().await;
    let chain = |id: &str, secret: &str| {
        let keys = StartingKeys::new(AwsKeys {
            access_key_id: id.into(),
            secret_access_key: secret.into(),
            session_token: None,
        });
        let chain = CredentialRequest::builder("hostile").start_with(keys);
        chain.link(link("role")).build().unwrap()
    };
    let first = house
        .host
        .access_token(&chain("AKIA1", "canary-1"))
        .await
        .unwrap();
    assert_eq!(token(first.value.material()), "AKIA1>role");
    for (id, secret, expected) in [
        ("AKIA1", "canary-1", Origination::Cache),
        ("AKIA1", "canary-2", Origination::Exchange),
        ("AKIA2", "canary-1", Origination::Exchange),
    ] {
        let journal = Journal::on();
        let host = house.host.explaining(journal.clone());
        let issued = host.access_token(&chain(id, secret)).await.unwrap();
        assert_eq!(issued.origination, expected, "{id} {secret}");
        let told = format!("{:?} {:?}", journal.steps(), chain(id, secret));
        assert!(!told.contains("canary"), "{told}");
    }
}

#[tokio::test]
async fn facts_are_discovered_once_when_they_are_needed() {
    let house = house().await;
    let ask = async |lifetime| {
        let request = request("facts").token_lifetime(Duration::from_secs(lifetime));
        house
            .host
            .access_token(&request.build().unwrap())
            .await
            .unwrap()
            .identity
    };
    let first = ask(600).await;
    assert!(first.contains("time"), "{first}");
    house.advance(Duration::from_secs(10));
    assert_eq!(
        ask(601).await,
        first,
        "the facts hold the time at which they were discovered"
    );
}

#[tokio::test]
async fn no_signer_is_no_signature() {
    let house = house().await;
    let error = run(&house, "sign").await.unwrap_err();
    assert!(
        error.to_string().contains("no signer is configured"),
        "{error}"
    );
}

#[tokio::test]
async fn secret_the_subject_token_is_never_shown_to_the_guest() {
    let house = house().await;
    let request = request("tell-token").build().unwrap();
    let repository = "registry.example/a".parse().unwrap();
    let issued = house
        .host
        .registry_credential(&request, &repository)
        .await
        .unwrap();
    let login = issued.value.login();
    assert_eq!(
        login.attributes(),
        [("seen".to_owned(), "SubjectToken".to_owned())]
    );
    assert!(
        matches!(login.material(), Material::Bearer(token) if token.expose().starts_with("eyJ"))
    );
}

#[tokio::test]
async fn words_of_a_guest_are_harmless_on_a_terminal() {
    let house = house().await;
    let error = run(&house, "control-characters").await.unwrap_err();
    assert!(
        !error.to_string().chars().any(char::is_control),
        "{error:?}"
    );
}

/// Counts lines of guests.
#[derive(Default)]
struct Lines(AtomicUsize);

impl Subscriber for &'static Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "gatepass::guest"
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_flood_of_log_lines_is_cut() {
    static LINES: Lines = Lines(AtomicUsize::new(0));
    let house = house_with("10s", "30s").await;
    let guard = tracing::subscriber::set_default(&LINES);
    assert_eq!(run(&house, "flood-the-log").await.unwrap(), "flooded");
    drop(guard);
    assert_eq!(LINES.0.load(Ordering::SeqCst), 32);
}

#[tokio::test]
async fn lies_about_registries_and_clusters_are_refused() {
    let house = house().await;
    let repository = "registry.example/a".parse().unwrap();
    let refused = |error: Error| assert_eq!(error.kind(), ErrorKind::Plugin, "{error}");
    for behaviour in ["broken-host", "other-host", "broken-access", "custom-login"] {
        let request = request(behaviour).build().unwrap();
        let outcome = house.host.registry_credential(&request, &repository).await;
        refused(outcome.unwrap_err());
    }
    let cluster = ClusterReference {
        address: Some("https://cluster.example".into()),
        ..ClusterReference::default()
    };
    for behaviour in [
        "plain-server",
        "broken-ca",
        "no-access",
        "much-access",
        "tell-token",
    ] {
        let request = request(behaviour).build().unwrap();
        let outcome = house.host.cluster_access(&request, &cluster).await;
        refused(outcome.unwrap_err());
    }
    assert!(
        house
            .host
            .cluster_access(&request("").build().unwrap(), &cluster)
            .await
            .is_ok()
    );
}

fn options() -> PluginOptions {
    PluginOptions {
        grant: GrantPolicy::Exactly(Grant::nothing()),
        limits: PluginLimits::default(),
        network: Network::default(),
    }
}

async fn load(bytes: Vec<u8>) -> Result<Plugin, Error> {
    let source = PluginSource::from_bytes(bytes, None)?;
    Plugin::load(&engine()?, source, options()).await
}

#[tokio::test]
async fn files_that_are_no_plugins_are_refused_with_a_reason() {
    let component = component::guest("hostile").unwrap();
    let module = b"\0asm\x01\0\0\0".to_vec();
    let empty_component = b"\0asm\x0d\0\x01\0".to_vec();
    let cut_off = component[..component.len() / 2].to_vec();
    let other_version = replaced(
        &component,
        b"gatepass:provider/provider@0.1.0",
        b"gatepass:provider/provider@0.2.0",
    );
    let cases = [
        (Vec::new(), "empty"),
        (b"#!/bin/sh".to_vec(), "not WebAssembly"),
        (module, "core WebAssembly module"),
        (empty_component, "no provider"),
        (cut_off, "does not compile"),
        (other_version, "0.2.0"),
        (vec![0; (32 << 20) + 1], "larger"),
    ];
    for (bytes, words) in cases {
        let error = load(bytes).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Plugin, "{error}");
        assert!(error.to_string().contains(words), "{error} lacks {words}");
    }
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut changed = bytes.to_vec();
    let mut found = 0;
    for start in 0..bytes.len() - from.len() {
        if &bytes[start..start + from.len()] == from {
            changed[start..start + from.len()].copy_from_slice(to);
            found += 1;
        }
    }
    assert!(
        found > 0,
        "the component does not name what is to be replaced"
    );
    changed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_that_spin_on_two_threads_do_not_stop_a_neighbour() {
    let house = house_with("60s", "60s").await;
    let spinners: Vec<_> = (0..8)
        .map(|index| {
            let host = house.host.clone();
            let request = request("spin").token_lifetime(Duration::from_secs(600 + index));
            tokio::spawn(async move {
                host.access_token(&request.build().unwrap())
                    .await
                    .map(|_| ())
            })
        })
        .collect();
    for index in 0..10 {
        let good = request("")
            .token_lifetime(Duration::from_secs(900 + index))
            .build()
            .unwrap();
        house.host.access_token(&good).await.unwrap();
    }
    // Without giving way, two spinners would hold both threads until their minute is over.
    assert!(spinners.iter().all(|spinner| !spinner.is_finished()));
    spinners.iter().for_each(tokio::task::JoinHandle::abort);
}
