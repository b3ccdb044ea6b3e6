//! The two streams: data and talk.

use crate::failure::Failure;
use gatepass::text::steers;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Writes data to standard output. Whoever closes the pipe early has read enough.
pub(crate) fn print(data: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(data.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::machine("cannot write to standard output", error))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, where nobody may be listening.
pub(crate) fn talk(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether a person reads what [`talk`] says.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Text of others, without what would steer a terminal.
pub(crate) fn visible(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let shown: Box<dyn Iterator<Item = char>> = match steers(character) {
                true => Box::new(character.escape_unicode()),
                false => Box::new(std::iter::once(character)),
            };
            shown
        })
        .collect()
}

/// A word as a POSIX shell reads it back.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => shell_quoted(text),
    }
}

/// Text in single quotes, for a POSIX shell.
pub(crate) fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_not_sent() {
        assert_eq!(
            visible("a\u{1b}[2J\nb\u{202e}c\u{61c}"),
            "a\\u{1b}[2J\\u{a}b\\u{202e}c\\u{61c}"
        );
        assert_eq!(visible("größer 'x'"), "größer 'x'");
    }

    #[test]
    fn a_shell_reads_words_back_as_they_were() {
        let cases = [
            ("plain-1.2/x:y", "plain-1.2/x:y"),
            ("", "''"),
            ("two words", "'two words'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
        ];
        for (text, expected) in cases {
            assert_eq!(shell_word(text), expected);
        }
    }
}
