//! The demonstration's table and JSON.

use super::scenario::Who;
use crate::failure::Failure;
use crate::output::{self, table};
use serde_json::{Value, json};

/// What came of a step that ended as it must.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) identity: Option<String>,
    pub(crate) from: Option<&'static str>,
    pub(crate) lifetime: Option<String>,
}

impl Outcome {
    /// Nothing, as it must be.
    pub(crate) fn denied() -> Self {
        Self {
            identity: None,
            from: None,
            lifetime: None,
        }
    }
}

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) provider: String,
    pub(crate) verb: &'static str,
    pub(crate) who: Who,
    pub(crate) is_refusal: bool,
    pub(crate) millis: f64,
    pub(crate) outcome: Result<Outcome, String>,
}

impl Row {
    pub(crate) fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    fn cells(&self) -> Vec<String> {
        let outcome = self.outcome.as_ref();
        let identity = match (outcome, self.is_refusal) {
            (Err(error), _) => error.clone(),
            (Ok(_), true) => "denied, as it must be: it is tenant-b's".to_owned(),
            (Ok(outcome), false) => outcome.identity.clone().unwrap_or_default(),
        };
        let outcome = outcome.ok();
        let dash = || "-".to_owned();
        vec![
            self.provider.clone(),
            self.verb.to_owned(),
            self.who.name.clone(),
            identity,
            outcome
                .and_then(|outcome| outcome.from)
                .map_or_else(dash, str::to_owned),
            outcome
                .and_then(|outcome| outcome.lifetime.clone())
                .unwrap_or_else(dash),
            format!("{:.1}", self.millis),
            if self.is_ok() { "ok" } else { "FAILED" }.to_owned(),
        ]
    }

    fn object(&self) -> Value {
        let outcome = self.outcome.as_ref();
        json!({
            "provider": self.provider,
            "verb": self.verb,
            "subject": self.who.kind,
            "name": self.who.name,
            "ok": self.is_ok(),
            "cached": outcome.is_ok_and(|outcome| outcome.from == Some("cache")),
            // Microseconds are as much as a wall clock tells.
            "ms": (self.millis * 1000.0).round() / 1000.0,
            "identity": outcome.ok().and_then(|outcome| outcome.identity.as_deref()),
            "error": outcome.err(),
        })
    }
}

const HEADS: [&str; 8] = [
    "PROVIDER", "VERB", "SUBJECT", "IDENTITY", "FROM", "LIFETIME", "MS", "OK",
];

/// A table, and a line that sums it up.
pub(crate) fn in_words(rows: &[Row]) -> String {
    let table = table::columns(&HEADS, &[6], rows.iter().map(Row::cells));
    let ok = rows.iter().filter(|row| row.is_ok()).count();
    format!("{table}\n{ok} of {} steps ended as they must\n", rows.len())
}

/// All steps, and nothing else.
pub(crate) fn in_json(rows: &[Row]) -> Result<String, Failure> {
    let steps: Vec<Value> = rows.iter().map(Row::object).collect();
    Ok(output::json_text(&json!({ "steps": steps }))?
        .expose()
        .to_owned())
}

#[cfg(test)]
pub(crate) fn sample(error: Option<&str>) -> Row {
    let outcome = Outcome {
        identity: Some("role/app".into()),
        from: Some("cache"),
        lifetime: Some("59m59s".into()),
    };
    Row {
        provider: "aws".into(),
        verb: "token",
        who: Who {
            kind: "service-account",
            name: "tenant-a/app".into(),
        },
        is_refusal: false,
        millis: 1.23456,
        outcome: error.map_or(Ok(outcome), |error| Err(error.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_names_every_step_with_its_fields() {
        let text = in_json(&[sample(None), sample(Some("no route"))]).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let good = json!({
            "provider": "aws", "verb": "token", "subject": "service-account", "name": "tenant-a/app",
            "ok": true, "cached": true, "ms": 1.235, "identity": "role/app", "error": null,
        });
        assert_eq!(value["steps"][0], good);
        assert_eq!(
            (&value["steps"][1]["ok"], &value["steps"][1]["error"]),
            (&json!(false), &json!("no route"))
        );
    }

    #[test]
    fn the_table_says_what_failed_and_what_was_refused() {
        let refusal = Row {
            is_refusal: true,
            outcome: Ok(Outcome::denied()),
            ..sample(None)
        };
        let told = in_words(&[sample(Some("no route")), refusal]);
        for expected in [
            "no route",
            "FAILED",
            "denied, as it must be",
            "1 of 2 steps",
        ] {
            assert!(told.contains(expected), "{told}");
        }
    }
}
