//! Resource names: projects, clusters, workload identity providers, service accounts.

use std::fmt;

use super::endpoint::is_location;

/// Why a name given to [`super::Google`] is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct GoogleError {
    value: String,
    expected: &'static str,
}

impl GoogleError {
    pub(crate) fn new(value: &str, expected: &'static str) -> Self {
        Self {
            value: value.to_owned(),
            expected,
        }
    }
}

/// `projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProviderName {
    pub(crate) pool: PoolName,
    pub(crate) provider: String,
}

/// `projects/NUMBER/locations/global/workloadIdentityPools/POOL`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolName {
    /// The project's number; IAM does not take its ID here.
    pub(crate) project: String,
    pub(crate) pool: String,
}

/// `projects/PROJECT/locations/LOCATION/clusters/CLUSTER`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClusterName {
    pub(crate) project: String,
    pub(crate) location: String,
    pub(crate) cluster: String,
}

/// `NAME@PROJECT.iam.gserviceaccount.com`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AccountEmail {
    pub(crate) name: String,
    pub(crate) project: String,
}

impl ProviderName {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pool, provider) = text.split_once("/providers/")?;
        let name = Self {
            pool: PoolName::parse(pool)?,
            provider: provider.to_owned(),
        };
        is_identifier(provider).then_some(name)
    }

    /// The full resource name, which is the audience of the exchange.
    pub(crate) fn audience(&self) -> String {
        format!("//iam.googleapis.com/{self}")
    }
}

impl PoolName {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [
                "projects",
                project,
                "locations",
                "global",
                "workloadIdentityPools",
                pool,
            ] if is_project(project) && is_pool(pool) => Some(Self {
                project: (*project).to_owned(),
                pool: (*pool).to_owned(),
            }),
            _ => None,
        }
    }
}

impl ClusterName {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [
                "projects",
                project,
                "locations",
                location,
                "clusters",
                cluster,
            ] if is_project(project) && is_location(location) && is_identifier(cluster) => {
                Some(Self {
                    project: (*project).to_owned(),
                    location: (*location).to_owned(),
                    cluster: (*cluster).to_owned(),
                })
            }
            _ => None,
        }
    }
}

impl AccountEmail {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, domain) = text.split_once('@')?;
        let project = domain.strip_suffix(".iam.gserviceaccount.com")?;
        (is_identifier(name) && is_project(project)).then(|| Self {
            name: name.to_owned(),
            project: project.to_owned(),
        })
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/providers/{}", self.pool, self.provider)
    }
}

impl fmt::Display for PoolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { project, pool } = self;
        write!(
            formatter,
            "projects/{project}/locations/global/workloadIdentityPools/{pool}"
        )
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            project,
            location,
            cluster,
        } = self;
        write!(
            formatter,
            "projects/{project}/locations/{location}/clusters/{cluster}"
        )
    }
}

impl fmt::Display for AccountEmail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, project } = self;
        write!(formatter, "{name}@{project}.iam.gserviceaccount.com")
    }
}

/// A project's ID or number: lower-case letters, digits and hyphens, at most 30 characters.
pub(crate) fn is_project(text: &str) -> bool {
    is_identifier(text) && text.len() <= 30
}

/// The names of clusters, pools, providers and accounts: lower-case letters, digits and hyphens.
fn is_identifier(text: &str) -> bool {
    let all = text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    all && !text.is_empty() && text.len() <= 63
}

/// A pool of one's own, or the one that Google keeps for a project's clusters.
fn is_pool(text: &str) -> bool {
    match text.strip_suffix(".svc.id.goog") {
        Some(project) => is_project(project),
        None => is_identifier(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_as_it_was_written() {
        let provider = "projects/1/locations/global/workloadIdentityPools/pool/providers/prov";
        let cluster = "projects/demo/locations/us-central1/clusters/demo";
        let account = "a@demo.iam.gserviceaccount.com";
        assert_eq!(ProviderName::parse(provider).unwrap().to_string(), provider);
        assert_eq!(ClusterName::parse(cluster).unwrap().to_string(), cluster);
        assert_eq!(AccountEmail::parse(account).unwrap().to_string(), account);
    }

    #[test]
    fn what_is_almost_a_name_is_none() {
        for text in [
            "",
            "projects/1/locations/eu/workloadIdentityPools/pool/providers/prov",
            "projects/1/locations/global/workloadIdentityPools/pool",
            "projects/1/locations/global/workloadIdentityPools/pool/providers/",
            "projects/1/locations/global/workloadIdentityPools/pool/providers/a/b",
            "projects/1/locations/global/workloadIdentityPools/x.svc.id/providers/a",
        ] {
            assert_eq!(ProviderName::parse(text), None, "{text}");
        }
        for text in [
            "projects/demo/zones/us-central1/clusters/demo",
            "projects/demo/locations/us-central1/clusters/demo/",
            "projects/demo/locations//clusters/demo",
        ] {
            assert_eq!(ClusterName::parse(text), None, "{text}");
        }
        for text in [
            "a@demo.gserviceaccount.com",
            "@demo.iam.gserviceaccount.com",
            "a@.iam.gserviceaccount.com",
            "a@demo.iam.gserviceaccount.com.example",
        ] {
            assert_eq!(AccountEmail::parse(text), None, "{text}");
        }
    }
}
