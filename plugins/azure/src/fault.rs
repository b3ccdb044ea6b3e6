//! What Azure's errors mean: who must act, and how.

mod code;

use code::Verdict;
use gatepass_sdk::{Error, egress::Response};
use serde::Deserialize;
use std::time::Duration;

/// Longest wait that is passed on; who asks for more is asked again after it.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Longest message of Azure that is passed on, in characters.
const MAX_MESSAGE: usize = 400;

/// A word of this length may be a token or a secret, which a message must not show.
const MAX_WORD: usize = 160;

/// Longest error code that is taken for one.
const MAX_CODE: usize = 100;

/// Who answered: codes and statuses mean something else to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The token service.
    Entra,
    /// The metadata service of a machine.
    Metadata,
    /// A container registry.
    Registry,
    /// The resource manager.
    ResourceManager,
}

/// The error that an answer without success means. `doing` says what was being done to what:
/// `logging in to X`.
pub(crate) fn classify(service: Service, doing: &str, response: &Response) -> Error {
    let fault = Fault::read(response);
    let verdict = code::verdict(service, &fault.code, response.status());
    let message = fault.message(doing, response.status(), verdict);
    match verdict {
        Verdict::Throttled => Error::throttled(message).retry_after(wait(response)),
        Verdict::NotYet(_) => Error::not_yet(message).retry_after(wait(response)),
        Verdict::Unavailable(_) => Error::unavailable(message).retry_after(wait(response)),
        Verdict::Denied(_) => Error::denied(message),
        Verdict::Configuration(_) => Error::invalid_configuration(message),
    }
}

/// How long Azure asks to wait.
fn wait(response: &Response) -> Option<Duration> {
    response.retry_after().map(|wait| wait.min(MAX_WAIT))
}

/// What Azure says of an error; empty where it says nothing that is understood.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fault {
    code: String,
    words: Option<String>,
}

impl Fault {
    fn read(response: &Response) -> Self {
        let body: Body = response.json().unwrap_or_default();
        let detail = body.detail();
        Self {
            code: detail.code.as_deref().and_then(code).unwrap_or_default(),
            words: detail.message.as_deref().and_then(presentable),
        }
    }

    fn message(&self, doing: &str, status: u16, verdict: Verdict) -> String {
        let mut message = format!("{doing}: Azure answered status {status}");
        if !self.code.is_empty() {
            message.push_str(&format!(", {}", self.code));
        }
        if let Some(words) = &self.words {
            message.push_str(&format!(" ({words})"));
        }
        if !verdict.advice().is_empty() {
            message.push_str(&format!(": {}", verdict.advice()));
        }
        message
    }
}

/// The error fields of OAuth (Entra, metadata), of the resource manager, and of registries.
#[derive(Debug, Default, Deserialize)]
struct Body {
    error: Option<OneOrOther>,
    error_description: Option<String>,
    error_codes: Option<Vec<u64>>,
    errors: Option<Vec<Detail>>,
}

/// OAuth writes a word, the resource manager an object.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrOther {
    Word(String),
    Detail(Detail),
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Detail {
    code: Option<String>,
    message: Option<String>,
}

impl Body {
    fn detail(self) -> Detail {
        let first = self.errors.unwrap_or_default().into_iter().next();
        match (self.error, first) {
            (Some(OneOrOther::Detail(detail)), _) | (None, Some(detail)) => detail,
            (Some(OneOrOther::Word(word)), _) => {
                let number = self.error_codes.unwrap_or_default().into_iter().next();
                let description = self.error_description.unwrap_or_default();
                let (numbered, words) = numbered(&description);
                let listed = number.map(|number| format!("AADSTS{number}"));
                Detail {
                    code: numbered.or(listed).or(Some(word)),
                    message: Some(words.into()),
                }
            }
            (None, None) => Detail::default(),
        }
    }
}

/// Splits `AADSTS700016: words` before the lines of identifiers that follow: `Trace ID: …`, each
/// of its own line or behind a space.
fn numbered(description: &str) -> (Option<String>, &str) {
    let words = description
        .split(['\r', '\n'])
        .next()
        .unwrap_or(description);
    let words = words.split(" Trace ID:").next().unwrap_or(words);
    match words.split_once(": ") {
        Some((number, words)) if code::aadsts(number).is_some() => (Some(number.into()), words),
        _ => (None, words),
    }
}

/// A word that is a code: letters, digits, dots and underscores.
fn code(text: &str) -> Option<String> {
    let fits = (1..=MAX_CODE).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_');
    fits.then(|| text.into())
}

/// A message as one short line, or nothing if it may hold a token.
fn presentable(message: &str) -> Option<String> {
    let words: Vec<&str> = message
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let secret = |word: &&str| word.len() > MAX_WORD || word.contains("eyJ");
    if words.is_empty() || words.iter().any(secret) {
        return None;
    }
    Some(words.join(" ").chars().take(MAX_MESSAGE).collect())
}

#[cfg(test)]
mod tests;
