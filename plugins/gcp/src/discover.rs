//! Facts of the environment: the GKE cluster that the host runs in.

use crate::federation::PROVIDER;
use crate::metadata::Metadata;
use gatepass_sdk::{Error, Facts, Host};
use std::collections::BTreeMap;

/// The fact that names the project.
const PROJECT_ID: &str = "project-id";

/// The fact that numbers the project.
const PROJECT_NUMBER: &str = "project-number";

/// The fact that names the region or zone of the cluster.
const CLUSTER_LOCATION: &str = "cluster-location";

/// The fact that names the cluster.
const CLUSTER_NAME: &str = "cluster-name";

/// Facts without which a token of GKE cannot be exchanged, and where the metadata server has them.
const NEEDED: [(&str, &str); 3] = [
    (PROJECT_ID, "project/project-id"),
    (CLUSTER_LOCATION, "instance/attributes/cluster-location"),
    (CLUSTER_NAME, "instance/attributes/cluster-name"),
];

/// Longest value that is taken for a name: those of clusters have 40, of projects 30 after a domain.
const MAX_VALUE: usize = 200;

/// The cluster that the host runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) project: String,
    /// Absent where the metadata server does not say it.
    pub(crate) project_number: Option<String>,
    location: String,
    name: String,
}

impl Cluster {
    /// Reads facts.
    ///
    /// # Errors
    ///
    /// `needs-facts` before there are any; `invalid-configuration` if they describe no cluster.
    pub(crate) fn of(facts: &Facts) -> Result<Self, Error> {
        let facts = facts.as_ref().ok_or_else(Error::needs_facts)?;
        let fact = |name: &str| {
            let value = facts.get(name).filter(|value| is_value(value));
            value.cloned().ok_or_else(|| {
                Error::invalid_configuration(format!(
                    "the facts of the environment lack {name}: {}",
                    advice()
                ))
            })
        };
        Ok(Self {
            project: fact(PROJECT_ID)?,
            project_number: facts
                .get(PROJECT_NUMBER)
                .filter(|value| is_number(value))
                .cloned(),
            location: fact(CLUSTER_LOCATION)?,
            name: fact(CLUSTER_NAME)?,
        })
    }

    /// The workload identity pool that GKE makes for every project.
    pub(crate) fn pool(&self) -> String {
        format!("{}.svc.id.goog", self.project)
    }

    /// The URL by which Google knows the cluster as an identity provider.
    pub(crate) fn provider(&self) -> String {
        format!(
            "https://container.googleapis.com/v1/projects/{}/locations/{}/clusters/{}",
            self.project, self.location, self.name
        )
    }
}

fn advice() -> String {
    format!("this host does not run in GKE, so annotate the service account with {PROVIDER}")
}

/// Names of projects (`example.com:app`), regions, zones and clusters.
fn is_value(text: &str) -> bool {
    (1..=MAX_VALUE).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':'))
}

fn is_number(text: &str) -> bool {
    (1..=30).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Asks the metadata server.
///
/// # Errors
///
/// `invalid-configuration` where there is no cluster; `unavailable` where no metadata server
/// answers, or not with names.
pub(crate) fn discover(host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
    let metadata = Metadata::of(host)?;
    let mut facts = BTreeMap::new();
    for (name, path) in NEEDED {
        let value = read(&metadata, path, host)?.ok_or_else(|| {
            Error::invalid_configuration(format!("the metadata server has no {path}: {}", advice()))
        })?;
        facts.insert(name.into(), value);
    }
    // It only makes the name of the principal exact, so that a server without it will do.
    if let Some(number) = read(&metadata, "project/numeric-project-id", host)? {
        facts.insert(PROJECT_NUMBER.into(), number);
    }
    Ok(facts)
}

fn read(metadata: &Metadata, path: &str, host: &dyn Host) -> Result<Option<String>, Error> {
    let response = metadata.get(path, host).map_err(|error| hint(&error))?;
    let Some(response) = response else {
        return Ok(None);
    };
    let value = std::str::from_utf8(response.body()).map(str::trim);
    match value {
        Ok(value) if is_value(value) => Ok(Some(value.into())),
        _ => Err(Error::unavailable(format!(
            "the metadata server answered {path} with {} bytes that are empty or no name",
            response.body().len()
        ))),
    }
}

/// Where no metadata server answers there is most often none.
fn hint(error: &Error) -> Error {
    let message = format!("{error}; outside GKE, annotate the service account with {PROVIDER}");
    error.reworded(message)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::metadata::tests::{answer, wire};
    use gatepass_sdk::ErrorCode;
    use gatepass_sdk::egress::Response;
    use gatepass_sdk::testing::ScriptedHost;

    /// The facts of a cluster.
    pub(crate) fn facts() -> Facts {
        let facts = [
            ("project-id", "my-project"),
            ("project-number", "123456789012"),
            ("cluster-location", "europe-west1"),
            ("cluster-name", "prod"),
        ];
        Some(
            facts
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
        )
    }

    fn server(project: Response, number: Response) -> ScriptedHost {
        ScriptedHost::new()
            .expect(wire("project/project-id"), project)
            .expect(
                wire("instance/attributes/cluster-location"),
                answer("europe-west1"),
            )
            .expect(wire("instance/attributes/cluster-name"), answer("prod\n"))
            .expect(wire("project/numeric-project-id"), number)
    }

    #[test]
    fn the_metadata_server_knows_the_cluster() {
        let host = server(answer("my-project"), answer("123456789012"));
        assert_eq!(Some(discover(&host).unwrap()), facts());
        host.finish();
        let host = server(answer("my-project"), Response::new(404, b""));
        assert_eq!(discover(&host).unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_cluster_says_what_to_do() {
        let long = "p".repeat(201);
        for (response, code, word) in [
            (
                Response::new(404, b""),
                ErrorCode::InvalidConfiguration,
                "workload-identity-provider",
            ),
            (
                Response::new(503, b""),
                ErrorCode::Unavailable,
                "workload-identity-provider",
            ),
            (Response::new(403, b""), ErrorCode::Denied, "403"),
            (Response::new(429, b""), ErrorCode::Throttled, "429"),
            (answer(""), ErrorCode::Unavailable, "empty"),
            (answer("a/b"), ErrorCode::Unavailable, "no name"),
            (answer("<html>"), ErrorCode::Unavailable, "no name"),
            (answer("a\nb"), ErrorCode::Unavailable, "no name"),
            (answer(&long), ErrorCode::Unavailable, "201 bytes"),
            (Response::new(200, b"p"), ErrorCode::Unavailable, "Flavor"),
        ] {
            let host = ScriptedHost::new().answer(response);
            let error = discover(&host).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains(word), "{error}");
            assert!(error.message().contains("project/project-id"), "{error}");
        }
    }

    #[test]
    fn facts_make_a_cluster() {
        let cluster = Cluster::of(&facts()).unwrap();
        assert_eq!(cluster.pool(), "my-project.svc.id.goog");
        assert_eq!(
            cluster.provider(),
            "https://container.googleapis.com/v1/projects/my-project/locations/europe-west1/clusters/prod"
        );
        assert_eq!(Cluster::of(&None), Err(Error::needs_facts()));
        for name in ["project-id", "cluster-location", "cluster-name"] {
            for value in [None, Some(""), Some("a b"), Some("a/b")] {
                let mut facts = facts().unwrap_or_default();
                facts.remove(name);
                facts.extend(value.map(|value| (name.into(), value.into())));
                let error = Cluster::of(&Some(facts)).unwrap_err();
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
                assert!(error.message().contains(name), "{error}");
            }
        }
    }
}
