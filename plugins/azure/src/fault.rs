//! What Azure's errors mean: who must act, and how.

mod code;

use gatepass_sdk::fault::{Fault, Screen, is_code};
use gatepass_sdk::{Error, egress::Response};
use serde::Deserialize;

/// How much of Azure's messages is passed on.
const SCREEN: Screen = Screen {
    longest_line: 400,
    longest_word: 160,
};

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
    let fault = read(response);
    let verdict = code::verdict(service, &fault.code, response.status());
    let told = format!("{doing}: Azure answered status {}", response.status());
    fault.error(&told, verdict, response.retry_after())
}

/// What Azure says of an error.
fn read(response: &Response) -> Fault {
    let body: Body = response.json().unwrap_or_default();
    let detail = body.detail();
    Fault {
        code: detail.code.filter(|code| is_code(code)).unwrap_or_default(),
        words: detail.message.as_deref().and_then(presentable),
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

/// A message as one short line, or nothing if it may hold a token: `eyJ` begins every JWT.
fn presentable(message: &str) -> Option<String> {
    SCREEN.line(message).filter(|_| !message.contains("eyJ"))
}

#[cfg(test)]
mod tests;
