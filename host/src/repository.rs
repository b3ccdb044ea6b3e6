//! An OCI repository, as callers write it.

use crate::error::Error;
use crate::text::steers;
use std::fmt;
use std::str::FromStr;

/// `[oci://]HOST[:PORT][/PATH[:TAG][@DIGEST]]`, parsed. What it names need not exist.
///
/// ```
/// use gatepass::Repository;
///
/// let repository: Repository = "oci://registry.example:5000/team/app:v1".parse()?;
/// assert_eq!(repository.as_str(), "registry.example:5000/team/app:v1");
/// assert!("https://registry.example/app".parse::<Repository>().is_err());
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository(String);

/// The longest repository: a host of 255 and a path of 255 (OCI distribution), tag 128, digest 135.
const MAX_REPOSITORY: usize = 1024;

impl Repository {
    /// The repository without scheme.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `HOST[:PORT]` is that of its registry.
    pub(crate) fn is_at(&self, host: &str) -> bool {
        let own = origin(self.host());
        own.is_some() && own == origin(host)
    }

    /// `HOST[:PORT]` of its registry, as it is written.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }
}

impl FromStr for Repository {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // Before an @ that begins no digest there may be a password, which no message quotes.
        let shown = match text.contains('@') && !text.contains("@sha") {
            true => String::new(),
            false => format!(" {text:?}"),
        };
        let refuse = |rule: &str| {
            Err(Error::configuration(format!(
                "the repository{shown} {rule}"
            )))
        };
        let bare = text.strip_prefix("oci://").unwrap_or(text);
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        if bare.is_empty() || bare.len() > MAX_REPOSITORY {
            return refuse("must be 1 to 1024 characters");
        }
        if bare.contains("://") {
            return refuse("must have no scheme, or oci://");
        }
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@+[]".contains(&byte);
        if !bare.bytes().all(legal) {
            return refuse("holds characters that no repository has");
        }
        let repository = Self(bare.to_owned());
        if repository.host().contains('@') {
            return refuse("holds a user or a password: the provider makes them");
        }
        check_host(repository.host())?;
        Ok(repository)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Checks `HOST[:PORT]` of a registry.
fn check_host(host: &str) -> Result<(), Error> {
    match origin(host) {
        Some(_) => Ok(()),
        None => Err(Error::configuration(format!(
            "registry host {host:?} must be HOST[:PORT]"
        ))),
    }
}

/// Host and port as clients see them: case and the port of https do not matter.
fn origin(host: &str) -> Option<url::Origin> {
    let illegal = |character: char| "/@?#\\".contains(character) || steers(character);
    if host.is_empty() || host.contains(illegal) {
        return None;
    }
    let url = url::Url::parse(&format!("https://{host}")).ok()?;
    url.host().map(|_| url.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_repository_is_not_repeated() {
        for text in [
            "u:canary@r.example/a",
            "u:canary!@r.example/a",
            "https://u:canary@r.example",
        ] {
            let message = text.parse::<Repository>().unwrap_err().to_string();
            assert!(!message.contains("canary"), "{message}");
        }
    }

    #[test]
    fn repositories_of_every_form_are_read() {
        let digest = format!("r.example/a@sha256:{}", "0".repeat(64));
        for text in [
            "r.example",
            "r.example:5000",
            "r.example/a/b",
            "r.example/a:v1.2_3",
            "[::1]:5000/a",
            &digest,
        ] {
            assert_eq!(text.parse::<Repository>().unwrap().as_str(), text);
        }
        assert_eq!(
            "oci://r.example/a/".parse::<Repository>().unwrap().as_str(),
            "r.example/a"
        );
    }

    #[test]
    fn a_registry_is_one_host_however_it_is_written() {
        let repository: Repository = "Registry.example:443/a".parse().unwrap();
        for (host, same) in [
            ("registry.example", true),
            ("REGISTRY.EXAMPLE:443", true),
            ("registry.example:5000", false),
            ("registry.example.evil.test", false),
            ("registry.example/a", false),
            ("registry.example\n", false),
            ("", false),
        ] {
            assert_eq!(repository.is_at(host), same, "{host:?}");
        }
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        let long = "a".repeat(MAX_REPOSITORY + 1);
        for text in [
            "",
            "oci://",
            "/a",
            "https://r.example/a",
            "r.example/a b",
            "u@r.example/a",
            "r.example/\n",
            "r:x/a",
            &long,
        ] {
            let error = text.parse::<Repository>().unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Configuration, "{text:?}");
        }
    }
}
