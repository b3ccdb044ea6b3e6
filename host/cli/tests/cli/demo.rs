//! `gatepass demo`.

use crate::world::run;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_step_ends_as_it_must_and_json_stands_alone() {
    let ran = run("demo --json");
    assert_eq!(ran.stderr, "");
    let report = ran.json();
    assert_eq!(
        report.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["steps"]
    );
    let steps = report["steps"].as_array().unwrap();
    let (mut seen, mut cached) = (BTreeSet::new(), BTreeSet::new());
    for step in steps {
        assert_eq!(step["ok"], true, "{step}");
        assert_eq!(step["error"], Value::Null);
        assert!(step["ms"].as_f64().unwrap() >= 0.0);
        let text = |name: &str| step[name].as_str().unwrap().to_owned();
        seen.insert((text("subject"), text("provider"), text("verb")));
        let is_cached = step["cached"].as_bool().unwrap();
        cached.extend(is_cached.then(|| (text("subject"), text("provider"), text("verb"))));
    }
    let refusals = steps
        .iter()
        .filter(|step| step["identity"].is_null())
        .count();
    assert_eq!(seen, claimed(), "what README's table claims");
    assert_eq!(cached, seen, "each comes from the cache the second time");
    assert_eq!(refusals, 3, "one in each cloud");
}

/// Subject, provider and verbs, row by row as README has them.
fn claimed() -> BTreeSet<(String, String, String)> {
    let all = ["token", "registry", "git", "kubeconfig"];
    let without_git = ["token", "registry", "kubeconfig"];
    let rows: [(&str, &str, &[&str]); 12] = [
        ("service-account", "aws", &all),
        ("ambient", "aws", &all),
        ("chain", "aws", &all),
        ("service-account", "azure", &all),
        ("ambient", "azure", &all),
        ("service-account", "gcp", &without_git),
        ("ambient", "gcp", &without_git),
        ("chain", "gcp", &without_git),
        ("service-account", "generic", &without_git),
        ("ambient", "generic", &without_git),
        ("object", "spiffe", &without_git),
        ("ambient", "github", &without_git),
    ];
    let own = str::to_owned;
    rows.into_iter()
        .flat_map(|(subject, provider, verbs)| {
            let row = move |verb: &&str| (own(subject), own(provider), own(verb));
            verbs.iter().map(row)
        })
        .collect()
}

#[test]
fn the_table_is_for_people() {
    let table = run("demo").ok();
    for expected in [
        "PROVIDER",
        "kubeconfig",
        "cache",
        "denied, as it must be",
        "steps ended as they must",
    ] {
        assert!(table.contains(expected), "{expected} in {table}");
    }
}
