//! Repository names, tags and digests, by the grammar of the distribution specification.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};

/// `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest(String);

impl Digest {
    pub(crate) fn of(content: &[u8]) -> Self {
        let bytes = digest(&SHA256, content);
        let digits: String = bytes
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self(format!("sha256:{digits}"))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        let sound = digits.len() == 64
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        sound.then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a manifest is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    Tag(String),
    Digest(Digest),
}

impl Reference {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.contains(':') {
            return Digest::parse(text).map(Self::Digest);
        }
        is_tag(text).then(|| Self::Tag(text.to_owned()))
    }
}

/// `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= 128
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || b".-".contains(&byte))
}

/// Components of lower-case letters and digits, with `.`, `_`, `__` or hyphens between them; at most
/// 255 characters.
pub(crate) fn is_repository(name: &str) -> bool {
    name.len() <= 255 && name.split('/').all(is_component)
}

fn is_component(component: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    component.starts_with(is_word)
        && component.ends_with(is_word)
        && component.split(is_word).all(is_separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_grammar() {
        for (name, expected) in [
            ("a", true),
            ("a/b-c/d--e", true),
            ("a.b_c__d", true),
            ("", false),
            ("a//b", false),
            ("A", false),
            ("a___b", false),
            ("a..b", false),
            ("-a", false),
            ("a-", false),
            ("a/", false),
            ("ä", false),
        ] {
            assert_eq!(is_repository(name), expected, "{name}");
        }
    }

    #[test]
    fn a_reference_is_a_tag_or_a_digest() {
        let digest = Digest::of(b"");
        assert_eq!(
            digest.to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            Reference::parse(&digest.to_string()),
            Some(Reference::Digest(digest))
        );
        assert_eq!(
            Reference::parse("v1.0"),
            Some(Reference::Tag("v1.0".to_owned()))
        );
        for text in ["", ".x", "a b", "sha256:00", "sha512:00", &"t".repeat(129)] {
            assert_eq!(Reference::parse(text), None, "{text}");
        }
    }
}
