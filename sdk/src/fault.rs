//! What the other side says when it refuses: sorted by who must act, and fit to be shown.
//!
//! A cloud's error has a code and words. The code decides who must act, which only a provider
//! knows: it answers a [`Verdict`]. The words help people, but may be long, of many lines, or
//! quote a token: [`Screen`] lets through what may be shown. [`Fault::error`] makes one error of
//! both.
//!
//! ```
//! use gatepass_sdk::fault::{Fault, Screen, Verdict, is_code};
//! use gatepass_sdk::{Error, egress::Response};
//! use serde::Deserialize;
//!
//! const SCREEN: Screen = Screen { longest_line: 300, longest_word: 100 };
//!
//! #[derive(Default, Deserialize)]
//! struct Body {
//!     code: Option<String>,
//!     message: Option<String>,
//! }
//!
//! fn classify(doing: &str, response: &Response) -> Error {
//!     let body: Body = response.json().unwrap_or_default();
//!     let fault = Fault {
//!         code: body.code.filter(|code| is_code(code)).unwrap_or_default(),
//!         words: body.message.and_then(|message| SCREEN.line(&message)),
//!     };
//!     let verdict = match (fault.code.as_str(), response.status()) {
//!         (_, 429) => Verdict::Throttled,
//!         (_, 500..) => Verdict::Unavailable(""),
//!         ("NoRole", _) => Verdict::Configuration("check the annotation"),
//!         _ => Verdict::Denied(""),
//!     };
//!     let told = format!("{doing}: Acme answered status {}", response.status());
//!     fault.error(&told, verdict, response.retry_after())
//! }
//!
//! let response = Response::new(404, br#"{"code":"NoRole","message":"No such\nrole."}"#);
//! assert_eq!(
//!     classify("assuming role deployer", &response),
//!     Error::invalid_configuration(
//!         "assuming role deployer: Acme answered status 404, NoRole (No such role.): check the annotation"
//!     ),
//! );
//! ```

use crate::Error;
use std::time::Duration;

/// Longest wait that is passed on; who asks for more is asked again after it.
pub const MAX_WAIT: Duration = Duration::from_secs(300);

/// Longest error code that is taken for one.
const MAX_CODE: usize = 100;

/// Who must act, with what to do about it. Empty advice is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Too many calls.
    Throttled,
    /// Allowed, but not yet known everywhere.
    NotYet(&'static str),
    /// A passing fault.
    Unavailable(&'static str),
    /// The other side's administrator must allow it.
    Denied(&'static str),
    /// The tenant must correct something.
    Configuration(&'static str),
}

impl Verdict {
    fn advice(self) -> &'static str {
        match self {
            Self::Throttled => "",
            Self::NotYet(advice)
            | Self::Unavailable(advice)
            | Self::Denied(advice)
            | Self::Configuration(advice) => advice,
        }
    }

    /// A wait says nothing of what does not pass by itself.
    fn error(self, message: String, wait: Option<Duration>) -> Error {
        let wait = wait.map(|wait| wait.min(MAX_WAIT));
        match self {
            Self::Throttled => Error::throttled(message).retry_after(wait),
            Self::NotYet(_) => Error::not_yet(message).retry_after(wait),
            Self::Unavailable(_) => Error::unavailable(message).retry_after(wait),
            Self::Denied(_) => Error::denied(message),
            Self::Configuration(_) => Error::invalid_configuration(message),
        }
    }
}

/// What the other side says of an error; empty where it says nothing that is understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// The code, as [`is_code`] takes it.
    pub code: String,
    /// Words for people, as a [`Screen`] lets them through.
    pub words: Option<String>,
}

impl Fault {
    /// The error that it means: `TOLD, CODE (WORDS): ADVICE`. `told` says what was being done to
    /// what and which status came back. How long the other side asks to `wait` is passed on up to
    /// [`MAX_WAIT`], and only where waiting helps.
    #[must_use]
    pub fn error(&self, told: &str, verdict: Verdict, wait: Option<Duration>) -> Error {
        let mut message = told.to_owned();
        if !self.code.is_empty() {
            message.push_str(&format!(", {}", self.code));
        }
        if let Some(words) = &self.words {
            message.push_str(&format!(" ({words})"));
        }
        if !verdict.advice().is_empty() {
            message.push_str(&format!(": {}", verdict.advice()));
        }
        verdict.error(message, wait)
    }
}

/// Whether a text is an error code, which may be shown: a short word of letters, digits, dots and
/// underscores.
#[must_use]
pub fn is_code(text: &str) -> bool {
    (1..=MAX_CODE).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_')
}

/// How much of a message may be shown. A message comes from the other side, which may quote what
/// it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// In characters; the rest is cut off.
    pub longest_line: usize,
    /// In bytes; a longer word may be a token or a signed text.
    pub longest_word: usize,
}

impl Screen {
    /// A message as one short line, or nothing if it is empty or a word of it may be a token.
    #[must_use]
    pub fn line(self, message: &str) -> Option<String> {
        if words(message).any(|word| self.may_be_token(word)) {
            return None;
        }
        self.join(words(message))
    }

    /// A message as one short line with `…` for each word that may be a token, for a cloud whose
    /// messages tell enough without it. Nothing if it is empty.
    #[must_use]
    pub fn elided(self, message: &str) -> Option<String> {
        let elide = |word| if self.may_be_token(word) { "…" } else { word };
        self.join(words(message).map(elide))
    }

    fn may_be_token(self, word: &str) -> bool {
        word.len() > self.longest_word
    }

    fn join<'a>(self, words: impl Iterator<Item = &'a str>) -> Option<String> {
        let all = words.collect::<Vec<_>>().join(" ");
        let line: String = all.chars().take(self.longest_line).collect();
        (!line.is_empty()).then_some(line)
    }
}

/// Control characters part words as well: they could forge a line of a log, or colour a terminal.
fn words(message: &str) -> impl Iterator<Item = &str> {
    message
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    const SCREEN: Screen = Screen {
        longest_line: 20,
        longest_word: 8,
    };

    #[test]
    fn a_message_is_one_short_line_without_tokens() {
        let (longest, token) = ("J".repeat(8), "J".repeat(9));
        let quoted = format!("bad {token} !");
        for (message, line, elided) in [
            ("fine words", Some("fine words"), Some("fine words")),
            (
                " two\r\nlines\tand\u{1b}[31m\0",
                Some("two lines and [31m"),
                Some("two lines and [31m"),
            ),
            ("a\u{2028}b\u{85}c", Some("a b c"), Some("a b c")),
            ("", None, None),
            (" \n\u{7}", None, None),
            (longest.as_str(), Some(&longest), Some(&longest)),
            (&token, None, Some("…")),
            (&quoted, None, Some("bad … !")),
            // Bytes of words are counted, and characters of lines.
            ("ééééé", None, Some("…")),
            (
                &"éééé ".repeat(5),
                Some("éééé éééé éééé éééé "),
                Some("éééé éééé éééé éééé "),
            ),
        ] {
            assert_eq!(SCREEN.line(message).as_deref(), line, "{message}");
            assert_eq!(SCREEN.elided(message).as_deref(), elided, "{message}");
        }
    }

    #[test]
    fn a_token_behind_the_longest_line_still_hides_a_message() {
        let message = format!("{}{}", "word ".repeat(5), "J".repeat(9));
        assert_eq!(SCREEN.line(&message), None);
        assert_eq!(
            SCREEN.elided(&message).as_deref(),
            Some("word word word word ")
        );
    }

    #[test]
    fn a_code_is_one_short_word() {
        let longest = "A".repeat(MAX_CODE);
        for text in ["AccessDenied", "invalid_grant", "a.B_9", &longest] {
            assert!(is_code(text), "{text}");
        }
        let long = "A".repeat(MAX_CODE + 1);
        for text in ["", "a b", "a\n", "<a>", "a#b", "é", "a-b", &long] {
            assert!(!is_code(text), "{text}");
        }
    }

    #[test]
    fn a_fault_says_what_it_knows_and_no_more() {
        let fault = |code: &str, words: Option<&str>| Fault {
            code: code.into(),
            words: words.map(Into::into),
        };
        for (fault, advice, message) in [
            (fault("", None), "", "told"),
            (fault("C", None), "", "told, C"),
            (fault("", Some("w")), "", "told (w)"),
            (fault("", None), "a", "told: a"),
            (fault("C", Some("w")), "a", "told, C (w): a"),
        ] {
            let error = fault.error("told", Verdict::Denied(advice), None);
            assert_eq!(error.message(), message);
        }
    }

    #[test]
    fn a_wait_is_bounded_and_said_only_where_it_helps() {
        let second = Duration::from_secs(1);
        for (verdict, code, waits) in [
            (Verdict::Throttled, ErrorCode::Throttled, true),
            (Verdict::NotYet(""), ErrorCode::NotYet, true),
            (Verdict::Unavailable(""), ErrorCode::Unavailable, true),
            (Verdict::Denied(""), ErrorCode::Denied, false),
            (
                Verdict::Configuration(""),
                ErrorCode::InvalidConfiguration,
                false,
            ),
        ] {
            for (asked, told) in [
                (None, None),
                (Some(second), Some(second)),
                (Some(MAX_WAIT), Some(MAX_WAIT)),
                (Some(MAX_WAIT + second), Some(MAX_WAIT)),
                (Some(Duration::MAX), Some(MAX_WAIT)),
            ] {
                let error = Fault::default().error("told", verdict, asked);
                assert_eq!(error.code(), code);
                assert_eq!(error.wait(), told.filter(|_| waits), "{verdict:?}");
            }
        }
    }
}
