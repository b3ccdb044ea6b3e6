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
    let mut seen = BTreeSet::new();
    for step in steps {
        assert_eq!(step["ok"], true, "{step}");
        assert_eq!(
            (&step["subject"], &step["error"]),
            (&"service-account".into(), &Value::Null)
        );
        assert!(step["ms"].as_f64().unwrap() >= 0.0);
        let text = |name: &str| step[name].as_str().unwrap().to_owned();
        seen.insert((
            text("provider"),
            text("verb"),
            step["cached"].as_bool().unwrap(),
        ));
    }
    let refusals = steps
        .iter()
        .filter(|step| step["identity"].is_null())
        .count();
    assert_eq!(
        (seen.len(), refusals),
        (12, 1),
        "two providers, three verbs, cloud and cache"
    );
}

#[test]
fn the_table_is_for_people() {
    let table = run("demo").ok();
    for expected in [
        "PROVIDER",
        "kubeconfig",
        "cache",
        "denied, as it must be",
        "25 of 25 steps",
    ] {
        assert!(table.contains(expected), "{expected} in {table}");
    }
}
