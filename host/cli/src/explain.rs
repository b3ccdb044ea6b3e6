//! `gatepass explain`: the decisions behind a request, instead of its credential.

use crate::answer::{Answer, Wanted};
use crate::arguments::{Explain, Explained, Format, Global};
use crate::failure::Failure;
use crate::output::table;
use crate::session::Session;
use crate::terminal::visible;
use crate::{exit, git, kubeconfig, output, registry, terminal};
use gatepass::{Journal, Step, TrustPolicy, Verdict};
use serde_json::{Value, json};

const FORMATS: &[Format] = &[Format::Table, Format::Json];

/// Does what the explained command does, prints its decisions, and ends as it would.
pub(crate) async fn run(global: &Global, flags: &Explain) -> Result<(), Failure> {
    let format = output::choose(global.output, FORMATS, "explain")?;
    let verb = &flags.verb;
    match (flags.trust, &flags.issuer) {
        (true, issuer) => return trust(global, verb, issuer.as_deref(), format).await,
        (false, Some(_)) => return Err(Failure::usage("--issuer is for --trust alone")),
        (false, None) => {}
    }
    let journal = Journal::on();
    let outcome = ask(global, verb, &journal).await;
    let text = match format {
        Format::Json => in_json(&journal.steps(), &outcome)?,
        _ => in_words(&journal.steps(), &outcome),
    };
    terminal::print(&text)?;
    outcome.map(drop)
}

/// Prints what the other side must be told. Alone it is data, for a file or a pipe; for whom it is, is
/// talk.
async fn trust(
    global: &Global,
    verb: &Explained,
    issuer: Option<&str>,
    format: Format,
) -> Result<(), Failure> {
    let (session, _) = open(global, verb).await?;
    let policy = session.trust(issuer).await?;
    if format == Format::Json {
        let told = json!({
            "identity": *policy.identity,
            "issuer": policy.issuer,
            "audiences": *policy.audiences,
            "policy": policy.text,
        });
        return output::release(&output::json_text(&told)?);
    }
    terminal::talk(&for_whom(&policy));
    terminal::print(&lines(&policy.text))
}

fn for_whom(policy: &TrustPolicy) -> String {
    let pairs = [
        ("identity", policy.identity.to_string()),
        ("issuer", policy.issuer.clone()),
        ("audiences", policy.audiences.join(", ")),
    ];
    table::pairs(&pairs.map(|(name, value)| (name.to_owned(), value)))
}

/// Text of others that has lines of its own.
fn lines(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

async fn ask(global: &Global, verb: &Explained, journal: &Journal) -> Result<Outcome, Failure> {
    let (session, wanted) = open(global, verb).await?;
    let answer = session.ask_explaining(&wanted, journal).await?;
    Ok(Outcome::of(&answer, session.flags.provider()))
}

/// Puts together what the explained command would.
async fn open(global: &Global, verb: &Explained) -> Result<(Session, Wanted), Failure> {
    let (flags, wanted, connection) = match verb {
        Explained::Token(flags) => (flags.request.clone(), Wanted::Token, None),
        Explained::Registry(flags) => (flags.request.clone(), registry::wanted(flags)?, None),
        Explained::Git(flags) => (flags.request.clone(), git::wanted(flags)?, None),
        Explained::Kubeconfig(flags) => {
            let asked = kubeconfig::asked(global, flags).await?;
            (
                asked.flags,
                Wanted::Cluster(asked.cluster),
                asked.connection,
            )
        }
    };
    let session = Session::open(global, &flags, &wanted, connection).await?;
    Ok((session, wanted))
}

/// What came out, without the secret.
#[derive(Debug)]
struct Outcome {
    identity: String,
    from: &'static str,
    kind: &'static str,
    expires_at: String,
}

impl Outcome {
    fn of(answer: &Answer, provider: &str) -> Self {
        let issue = answer.issue(provider);
        Self {
            identity: issue.identity.to_owned(),
            from: issue.from(),
            kind: issue.material.kind(),
            expires_at: output::time::rfc3339(issue.expires_at),
        }
    }
}

fn in_words(steps: &[Step], outcome: &Result<Outcome, Failure>) -> String {
    let mut text = String::new();
    for (index, step) in steps.iter().enumerate() {
        let verdict = match step.verdict {
            Verdict::Passed => "ok",
            Verdict::Refused => "REFUSED",
        };
        text.push_str(&format!("{}. {}: {verdict}\n", index + 1, step.name));
        for (name, value) in &step.details {
            text.push_str(&format!("     {}: {}\n", visible(name), visible(value)));
        }
    }
    text.push_str(&match outcome {
        Ok(outcome) => format!(
            "=> a credential of kind {} for {}, from the {}, until {}\n",
            outcome.kind,
            visible(&outcome.identity),
            outcome.from,
            outcome.expires_at
        ),
        Err(failure) => format!("=> no credential (exit code {})\n", exit::code(failure)),
    });
    text
}

fn in_json(steps: &[Step], outcome: &Result<Outcome, Failure>) -> Result<String, Failure> {
    let steps: Vec<Value> = steps.iter().map(step).collect();
    let outcome = match outcome {
        Ok(outcome) => json!({
            "ok": true,
            "exitCode": 0,
            "identity": outcome.identity,
            "from": outcome.from,
            "kind": outcome.kind,
            "expiresAt": outcome.expires_at,
        }),
        Err(failure) => json!({
            "ok": false,
            "exitCode": exit::code(failure),
            "error": failure.to_string(),
            "causes": failure.causes(),
            "change": failure.advice(),
        }),
    };
    let text = output::json_text(&json!({ "steps": steps, "outcome": outcome }))?;
    Ok(text.expose().to_owned())
}

/// Details are a list, since a name may come twice.
fn step(step: &Step) -> Value {
    let detail = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    json!({
        "name": step.name,
        "ok": step.verdict == Verdict::Passed,
        "details": step.details.iter().map(detail).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Step> {
        vec![
            Step {
                name: "gate",
                verdict: Verdict::Passed,
                details: vec![("open".into(), "true".into())],
            },
            Step {
                name: "egress",
                verdict: Verdict::Refused,
                details: vec![("url".into(), "https://x\u{1b}".into())],
            },
        ]
    }

    #[test]
    fn each_decision_is_told_with_its_inputs_and_the_end() {
        let told = in_words(&steps(), &Err(Failure::usage("x")));
        let expected = "\
1. gate: ok
     open: true
2. egress: REFUSED
     url: https://x\\u{1b}
=> no credential (exit code 2)
";
        assert_eq!(told, expected);
    }

    #[test]
    fn a_policy_is_told_with_for_whom_it_is() {
        let policy = TrustPolicy {
            identity: "role".into(),
            issuer: "https://issuer.example".into(),
            audiences: vec!["a".into(), "b".into()].into(),
            text: "{\n  \"x\": \"\u{202e}\"\n}".into(),
        };
        let expected = "identity   role\nissuer     https://issuer.example\naudiences  a, b\n";
        assert_eq!(for_whom(&policy), expected);
        assert_eq!(lines(&policy.text), "{\n  \"x\": \"\\u{202e}\"\n}\n");
    }

    #[test]
    fn json_holds_the_same() {
        let text = in_json(&steps(), &Err(Failure::usage("x").fix("y"))).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["steps"][1]["ok"], false);
        assert_eq!(value["steps"][0]["details"][0]["name"], "open");
        assert_eq!(value["outcome"]["change"], "y");
        assert_eq!(value["outcome"]["exitCode"], 2);
    }
}
