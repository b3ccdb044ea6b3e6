//! Where to log in to pull or push a repository.

use crate::Request;

/// Where to log in, and what the login needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryTarget {
    /// `HOST[:PORT]` of the repository that was asked for: the host refuses another.
    pub host: String,
    /// What distinguishes one login from another beside the access token.
    pub cache_input: String,
    /// The request for the access token that the login needs.
    pub access: Request,
}
