//! Where a plugin's bytes come from, and the digest by which they are known.

use super::limits::MAX_COMPONENT_BYTES;
use crate::error::Error;
use crate::secret::hex;
use sha2::Sha256;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// `sha256:` and 64 lower-case hex digits, as OCI writes digests
/// (<https://github.com/opencontainers/image-spec/blob/main/descriptor.md#digests>).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(format!("sha256:{}", hex(&Sha256::digest(bytes))))
    }

    /// The digest as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.strip_prefix("sha256:").unwrap_or_default();
        let lower_hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if digits.len() == 64 && digits.bytes().all(lower_hex) {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::configuration(format!(
            "digest '{text}' must be 'sha256:' and 64 lower-case hex digits"
        )))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A component that was read and is the one that was named.
#[derive(Clone)]
pub struct PluginSource {
    bytes: Vec<u8>,
    digest: Digest,
}

impl PluginSource {
    /// Takes bytes that are already here; `pinned` is the digest they must have.
    ///
    /// # Errors
    ///
    /// `Plugin`: they are too large or are others than those that were pinned.
    pub fn from_bytes(bytes: Vec<u8>, pinned: Option<&Digest>) -> Result<Self, Error> {
        if bytes.len() > MAX_COMPONENT_BYTES {
            return Err(Error::plugin(format!(
                "a component of {} bytes is larger than {MAX_COMPONENT_BYTES}",
                bytes.len()
            )));
        }
        let digest = Digest::of(&bytes);
        if let Some(pinned) = pinned.filter(|pinned| **pinned != digest) {
            let error = Error::plugin(format!("its digest is {digest}, but {pinned} is pinned"));
            return Err(error.remedy(
                "if you replaced the file, inspect it and pin its new digest; otherwise somebody else did",
            ));
        }
        Ok(Self { bytes, digest })
    }

    /// Reads a file, which must have this digest: whoever can write the file cannot choose what runs.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes), or the file cannot be read.
    pub fn from_file(path: &Path, pinned: &Digest) -> Result<Self, Error> {
        Self::read(path, Some(pinned))
    }

    /// Reads a file whatever it is: to look at it and to learn its digest. What is loaded from it is
    /// to be granted nothing.
    ///
    /// # Errors
    ///
    /// As [`from_file`](Self::from_file), save that no digest is pinned.
    pub fn from_file_to_inspect(path: &Path) -> Result<Self, Error> {
        Self::read(path, None)
    }

    fn read(path: &Path, pinned: Option<&Digest>) -> Result<Self, Error> {
        let unreadable =
            |error| Error::plugin(format!("cannot read {}", path.display())).because(error);
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > MAX_COMPONENT_BYTES as u64 {
            return Err(Error::plugin(format!(
                "{} has {size} bytes, more than {MAX_COMPONENT_BYTES}",
                path.display()
            )));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        Self::from_bytes(bytes, pinned).map_err(|error| error.during(path.display()))
    }

    /// The digest.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The component.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for PluginSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({} bytes)", self.digest, self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_digest_must_be_that_of_the_bytes() {
        let pinned = Digest::of(b"one");
        assert!(PluginSource::from_bytes(b"one".to_vec(), Some(&pinned)).is_ok());
        let error = PluginSource::from_bytes(b"two".to_vec(), Some(&pinned)).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Plugin);
        assert!(error.to_string().contains(pinned.as_str()), "{error}");
    }

    #[test]
    fn a_file_is_read_by_its_digest_or_to_be_looked_at() {
        let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        let seen = PluginSource::from_file_to_inspect(path).unwrap();
        assert!(PluginSource::from_file(path, seen.digest()).is_ok());
        let error = PluginSource::from_file(path, &Digest::of(b"")).unwrap_err();
        assert!(error.to_string().contains("Cargo.toml"), "{error}");
        assert!(PluginSource::from_file_to_inspect(Path::new("/nonexistent/a")).is_err());
    }

    #[test]
    fn a_digest_is_written_in_one_way_only() {
        let good = Digest::of(b"");
        assert_eq!(good.as_str().parse::<Digest>().unwrap(), good);
        let upper = good.as_str().to_uppercase();
        let short: String = good.as_str().chars().take(70).collect();
        for bad in ["", "sha256:", "md5:00", &upper, &short] {
            assert!(bad.parse::<Digest>().is_err(), "{bad:?}");
        }
    }
}
