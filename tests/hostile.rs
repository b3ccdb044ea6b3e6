//! A guest that misbehaves in every way that this host claims to survive.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::plugin::{Grant, GrantPolicy, Plugin, PluginLimits, PluginOptions, PluginSource};
use gatepass::{ClusterReference, Error, ErrorKind, Material, Network};
use gatepass_sandbox::Fault;
use gatepass_tests::component;
use gatepass_tests::hostile::{house, house_with, request};
use gatepass_tests::house::{House, engine};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

const CPU: Duration = Duration::from_millis(100);
const WALL: Duration = Duration::from_millis(500);

/// What a loaded machine may add to a limit before a test calls it broken: the limits themselves are
/// measured by the benchmarks.
const SLACK: Duration = Duration::from_secs(5);

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
    let house = house().await.unwrap();
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
    let house = house().await.unwrap();
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
    let house = house().await.unwrap();
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
    let house = house().await.unwrap();
    assert_eq!(run(&house, "send-token").await.unwrap(), "status-404");
}

#[tokio::test]
async fn a_pure_verb_sends_nothing() {
    let house = house().await.unwrap();
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
async fn secret_an_answer_that_echoes_the_token_comes_without_it() {
    let house = house().await.unwrap();
    let faults = house.sandbox.faults();
    faults.set("granted.example", "*", Fault::Echo);
    let request = request("echo-token").build().unwrap();
    let issued = house.host.access_token(&request).await.unwrap();
    let echoed = &issued.value.attributes()[0];
    assert_eq!(echoed, &("echo".to_owned(), "t=[subject-token]".to_owned()));
}

#[tokio::test]
async fn secret_the_subject_token_is_never_shown_to_the_guest() {
    let house = house().await.unwrap();
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
    let house = house().await.unwrap();
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
    let house = house_with("10s", "30s").await.unwrap();
    let guard = tracing::subscriber::set_default(&LINES);
    assert_eq!(run(&house, "flood-the-log").await.unwrap(), "flooded");
    drop(guard);
    assert_eq!(LINES.0.load(Ordering::SeqCst), 32);
}

#[tokio::test]
async fn lies_about_registries_and_clusters_are_refused() {
    let house = house().await.unwrap();
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
    let house = house_with("60s", "60s").await.unwrap();
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
