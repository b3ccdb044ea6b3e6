//! Random identifiers and secrets.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use uuid::Uuid;

/// `count` random bytes. Version-4 UUIDs carry 122 random bits per 16 bytes, enough for a sandbox,
/// and their source cannot fail half-way.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    let blocks = std::iter::repeat_with(|| Uuid::new_v4().into_bytes());
    blocks.flatten().take(count).collect()
}

/// `count` characters of the base64 alphabet.
pub(crate) fn base64(count: usize) -> String {
    STANDARD.encode(bytes(count)).chars().take(count).collect()
}

/// `count` characters of the URL-safe base64 alphabet.
pub(crate) fn base64url(count: usize) -> String {
    let encoded = URL_SAFE_NO_PAD.encode(bytes(count));
    encoded.chars().take(count).collect()
}

/// `count` capital letters and digits, as AWS identifiers use them.
pub(crate) fn capitals(count: usize) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".iter().copied();
    let letter = |byte: u8| alphabet.clone().cycle().nth(usize::from(byte));
    bytes(count)
        .into_iter()
        .filter_map(letter)
        .map(char::from)
        .collect()
}
