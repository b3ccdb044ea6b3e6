//! Credentials for Git remotes: an optional interface.

use crate::{Credential, Error, Facts, Host, Request};

/// What a login to a Git remote needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitTarget {
    /// What distinguishes one login from another beside the access token: the URL, or a constant where
    /// one login is good for all.
    pub cache_input: String,
    /// The request for the access token that the login needs.
    pub access: Request,
}

/// A provider that knows Git remotes as well. Name it in [`export!`](crate::export):
/// `export!(Acme, git)`.
pub trait Git {
    /// *Pure.* Judges the URL of a remote, and says which access token its login needs.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is none of this provider's remotes; `needs-facts`.
    fn repository(&self, url: &str, facts: &Facts, request: &Request) -> Result<GitTarget, Error>;

    /// Makes the login: `basic` or `bearer`.
    ///
    /// # Errors
    ///
    /// As [`Provider::exchange`](crate::Provider::exchange).
    fn git_credentials(
        &self,
        url: &str,
        access: &Credential,
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error>;
}
