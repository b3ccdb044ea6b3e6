//! A Git remote, as callers write it.

use crate::error::Error;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// The longest URL of a remote.
const MAX_URL: usize = 2048;

/// `https://HOST[:PORT]/PATH` of a Git remote, parsed.
///
/// ```
/// use gatepass::GitUrl;
///
/// let url: GitUrl = "https://dev.azure.com/org/project/_git/app".parse()?;
/// assert_eq!(url.as_str(), "https://dev.azure.com/org/project/_git/app");
/// assert!("ssh://git@dev.azure.com/org".parse::<GitUrl>().is_err());
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GitUrl(Url);

impl GitUrl {
    /// The URL, in its one canonical spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for GitUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // A URL may hold a password, so that no message quotes it.
        let refuse = |rule: &str| Err(Error::configuration(format!("the Git URL {rule}")));
        let Ok(url) = Url::parse(text) else {
            return refuse("must be https://HOST/PATH");
        };
        if text.len() > MAX_URL {
            return refuse("is longer than 2048");
        }
        if url.scheme() != "https" || url.host().is_none() {
            return refuse("must use https: a login is sent to it");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("must hold no user and no password: the provider makes them");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("must end with its path");
        }
        Ok(Self(url))
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_urls_without_a_login_are_remotes() {
        for (text, expected) in [
            ("https://a.example/x.git", true),
            ("https://a.example:8443/x", true),
            ("http://a.example/x", false),
            ("ssh://git@a.example/x", false),
            ("git@a.example:x", false),
            ("https://canary@a.example/x", false),
            ("https://u:canary@a.example/x", false),
            ("https://a.example/x?y", false),
            ("https://a.example/x#y", false),
            ("", false),
        ] {
            let parsed = text.parse::<GitUrl>();
            assert_eq!(parsed.is_ok(), expected, "{text}");
            if let Err(error) = parsed {
                assert!(!error.to_string().contains("canary"), "{error}");
            }
        }
    }
}
