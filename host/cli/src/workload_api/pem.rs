//! PEM (RFC 7468), as files and TLS libraries want it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Characters of a line (RFC 7468 §2).
const LINE: usize = 64;

/// One section.
pub(super) fn encode(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    // Room for all of it at once: a key that grows leaves copies.
    let room = body.len() + body.len() / LINE + 2 * label.len() + 40;
    let mut text = String::with_capacity(room);
    text.extend(["-----BEGIN ", label, "-----\n"]);
    for (index, character) in body.chars().enumerate() {
        if index > 0 && index % LINE == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.extend(["\n-----END ", label, "-----\n"]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_has_lines_of_64_characters() {
        for (length, lines) in [(1, 3), (48, 3), (49, 4), (96, 4), (97, 5)] {
            let text = encode("X", &vec![7; length]);
            assert_eq!(text.lines().count(), lines, "{length}");
            assert!(text.lines().all(|line| line.len() <= LINE));
            let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
            assert_eq!(STANDARD.decode(body).unwrap(), vec![7; length]);
        }
        assert!(encode("X", b"a").starts_with("-----BEGIN X-----\nYQ=="));
    }
}
