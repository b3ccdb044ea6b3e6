//! The registries of the clouds: which hosts they have, and whose logins hold there.

use crate::aws::Aws;
use crate::google::Google;

/// How a registry asks for a login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// User and password with every request.
    Basic,
    /// A token, from this path of the same host.
    Token(&'static str),
}

/// What a request wants to do with a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Pull,
    Push,
}

/// A user name and password.
#[derive(Clone, Copy)]
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
}

/// A cloud that hands out logins for registries of its own.
pub(crate) trait RegistryCloud: Send + Sync {
    /// How this host asks for a login; none if it is no registry of this cloud.
    fn challenge(&self, host: &str) -> Option<Challenge>;

    /// Who a login is at this host; none if it does not hold there.
    fn principal(&self, host: &str, login: Login<'_>) -> Option<String>;

    /// Whether a login that holds reaches a repository.
    fn permits(&self, host: &str, login: Login<'_>, repository: &str, action: Action) -> bool;
}

impl Action {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        match name {
            "pull" => Some(Self::Pull),
            "push" => Some(Self::Push),
            _ => None,
        }
    }
}

/// ECR: a password is for one registry and everything in it.
impl RegistryCloud for Aws {
    fn challenge(&self, host: &str) -> Option<Challenge> {
        let labels: Vec<&str> = host.split('.').collect();
        match labels.as_slice() {
            ["public", "ecr", "aws"] => Some(Challenge::Basic),
            [account, "dkr", "ecr" | "ecr-fips", _, "amazonaws", "com"]
            | [account, "dkr", "ecr", _, "amazonaws", "com", "cn"]
                if account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                Some(Challenge::Basic)
            }
            _ => None,
        }
    }

    fn principal(&self, host: &str, login: Login<'_>) -> Option<String> {
        let known = self.verify_registry_login(login.user, login.password)?;
        let plain = host.replacen(".dkr.ecr-fips.", ".dkr.ecr.", 1);
        (known.registry == plain).then_some(known.principal)
    }

    fn permits(&self, host: &str, login: Login<'_>, _: &str, _: Action) -> bool {
        self.principal(host, login).is_some()
    }
}

/// Artifact Registry and Container Registry: IAM decides over each repository.
impl RegistryCloud for Google {
    fn challenge(&self, host: &str) -> Option<Challenge> {
        location(host).map(|_| Challenge::Token("/v2/token"))
    }

    fn principal(&self, _: &str, login: Login<'_>) -> Option<String> {
        let known = self.verify_registry_login(login.user, login.password)?;
        Some(known.principal)
    }

    fn permits(&self, host: &str, login: Login<'_>, repository: &str, action: Action) -> bool {
        let Some(name) = resource(host, repository) else {
            return false;
        };
        self.may_use_repository(login.password, &name, action == Action::Push)
    }
}

/// The location of a registry host, and whether it is one of Container Registry.
fn location(host: &str) -> Option<(&str, bool)> {
    let labels: Vec<&str> = host.split('.').collect();
    match labels.as_slice() {
        ["gcr", "io"] => Some(("us", true)),
        ["us", "gcr", "io"] => Some(("us", true)),
        ["eu", "gcr", "io"] => Some(("europe", true)),
        ["asia", "gcr", "io"] => Some(("asia", true)),
        [first, "pkg", "dev"] => Some((first.strip_suffix("-docker")?, false)),
        _ => None,
    }
}

/// The resource behind a path: `PROJECT/REPOSITORY/IMAGE`, or at `gcr.io` `PROJECT/IMAGE` in the
/// repository that is called like the host.
fn resource(host: &str, path: &str) -> Option<String> {
    let (location, is_container_registry) = location(host)?;
    let mut parts = path.split('/');
    let project = parts.next()?;
    let second = parts.next()?;
    let repository = if is_container_registry {
        host
    } else {
        parts.next()?;
        second
    };
    Some(format!(
        "projects/{project}/locations/{location}/repositories/{repository}"
    ))
}

#[cfg(test)]
mod tests {
    use super::resource;

    #[test]
    fn a_path_lies_in_a_repository_of_a_location() {
        let us = "us-central1-docker.pkg.dev";
        for (host, path, expected) in [
            (
                us,
                "p/r/i",
                Some("projects/p/locations/us-central1/repositories/r"),
            ),
            (
                us,
                "p/r/i/j",
                Some("projects/p/locations/us-central1/repositories/r"),
            ),
            (us, "p/r", None),
            (
                "eu.gcr.io",
                "p/i",
                Some("projects/p/locations/europe/repositories/eu.gcr.io"),
            ),
            ("gcr.io", "p", None),
            ("us-central1.pkg.dev", "p/r/i", None),
            ("x.us-docker.pkg.dev", "p/r/i", None),
            ("gcr.io.example", "p/r/i", None),
        ] {
            assert_eq!(resource(host, path).as_deref(), expected, "{host}/{path}");
        }
    }
}
