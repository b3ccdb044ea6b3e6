//! What the other side must be told once: an optional interface.

use crate::{Error, Facts, Request, Subject};

/// A provider that can say how the other side comes to trust a subject. Name it in
/// [`export!`](crate::export): `export!(Acme, trust)`.
pub trait Trust {
    /// *Pure.* A policy or commands, for the other side's administrator to read and to apply, by which
    /// exactly this subject is let in. `identity` and `audiences` are those of the exchange,
    /// `issuer` is who signs the subject's token.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if annotations or request are wrong; `unsupported` for a subject that
    /// needs no trust.
    fn policy(
        &self,
        subject: &Subject,
        identity: &str,
        issuer: &str,
        audiences: &[String],
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error>;
}

/// A text as one word of a POSIX shell, in which nothing has a meaning (Shell Command Language
/// §2.2.2). What the command makes of it is the caller's to check.
///
/// ```
/// use gatepass_sdk::shell_quoted;
///
/// let command = format!("acme roles trust --subject {}", shell_quoted("it's $(id)"));
/// assert_eq!(command, r"acme roles trust --subject 'it'\''s $(id)'");
/// ```
#[must_use]
pub fn shell_quoted(text: &str) -> String {
    // Within single quotes nothing has a meaning but the quote itself.
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_quotes() {
        for (text, word) in [
            ("", "''"),
            ("plain", "'plain'"),
            ("a b", "'a b'"),
            (r#"$(id)`id`"\!#;&|*"#, r#"'$(id)`id`"\!#;&|*'"#),
            ("'", r"''\'''"),
            ("';id;'", r"''\'';id;'\'''"),
            (r"\'", r"'\'\'''"),
        ] {
            assert_eq!(shell_quoted(text), word, "{text}");
        }
    }
}
