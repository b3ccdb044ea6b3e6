//! Where to log in to pull or push a repository.

use crate::{Authority, Error, Request};

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

impl RegistryTarget {
    /// A registry that takes the credential of `access` itself, as it is: one login per host.
    ///
    /// ```
    /// use gatepass_sdk::{RegistryTarget, Request, registry_host};
    ///
    /// let host = registry_host("zot.example:5000/team/app")?;
    /// let access = Request::default().for_receiver(&format!("https://{host}"));
    /// let target = RegistryTarget::direct(host, access);
    /// assert_eq!(target.cache_input, "zot.example:5000");
    /// assert_eq!(target.access.audiences, ["https://zot.example:5000"]);
    /// # Ok::<(), gatepass_sdk::Error>(())
    /// ```
    #[must_use]
    pub fn direct(host: String, access: Request) -> Self {
        Self {
            cache_input: host.clone(),
            host,
            access,
        }
    }
}

/// `HOST[:PORT]` of a repository, for a provider that serves every registry. The repository is
/// `HOST[:PORT][/PATH[:TAG][@DIGEST]]`, without scheme.
///
/// # Errors
///
/// `invalid-configuration` if it begins with no host, or holds what no reference does.
pub fn registry_host(repository: &str) -> Result<String, Error> {
    let graphic = repository.bytes().all(|byte| byte.is_ascii_graphic());
    let (host, path) = repository.split_once('/').unwrap_or((repository, ""));
    Authority::parse(host)
        .filter(|_| graphic && !path.starts_with('/'))
        .map(|authority| authority.to_string())
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "repository '{}' must be HOST[:PORT][/PATH], without scheme",
                repository.escape_debug()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_begins_with_its_host() {
        for (repository, host) in [
            ("zot.example", "zot.example"),
            ("Zot.Example:5000/team/app:v1", "zot.example:5000"),
            ("[2001:db8::1]:5000/app@sha256:00", "[2001:db8::1]:5000"),
        ] {
            assert_eq!(registry_host(repository).as_deref(), Ok(host));
        }
        for repository in [
            "",
            "/app",
            "oci://zot.example/app",
            "zot.example//app",
            "zot.example:0/app",
            "user@zot.example/app",
            "zot.example/a b",
            "zot.example/\n",
        ] {
            assert!(registry_host(repository).is_err(), "{repository}");
        }
    }
}
