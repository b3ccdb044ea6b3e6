//! Text that must not be shown.

use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::Zeroizing;

/// Text that must not be shown: `Debug` hides it, there is no `Display`, and its memory is
/// zeroed when it is dropped.
///
/// ```
/// use gatepass::Secret;
///
/// let secret = Secret::from("hunter2");
/// assert_eq!(format!("{secret:?}"), "[secret]");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text, where it leaves for the one place that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// SHA-256 of the text in lower-case hex: names a token in an audit record without giving it.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(Zeroizing::new(text.into()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
