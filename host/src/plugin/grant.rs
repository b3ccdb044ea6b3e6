//! What an operator allows one plugin. A wish is not a grant: what counts is in both.

use crate::egress::AllowedHost;
use crate::egress::send::Reach;
use crate::environment::{Environment, FileName};
use crate::error::{Error, ErrorKind};
use crate::provider::{ChosenBy, Wishes};
use crate::secret::Secret;
use ipnet::IpNet;
use std::path::PathBuf;
use std::sync::Arc;

/// What an operator allows one plugin. There is no default: an empty grant is asked for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Hosts that it may send to.
    pub hosts: Vec<AllowedHost>,
    /// Audiences for which ServiceAccount tokens are asked on its behalf; `*`: any but those of the
    /// API server.
    pub audiences: Vec<String>,
    /// Environment variables that it sees in ambient calls.
    pub environment: Vec<String>,
    /// Files that it reads in ambient calls.
    pub files: Vec<FileName>,
    /// Whether the host's signer signs for it.
    pub signer: bool,
    /// Networks that may be dialled though they are not of the public internet.
    pub networks: Vec<IpNet>,
}

impl Grant {
    /// Nothing: the plugin can answer pure verbs and no more.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            hosts: Vec::new(),
            audiences: Vec::new(),
            environment: Vec::new(),
            files: Vec::new(),
            signer: false,
            networks: Vec::new(),
        }
    }

    /// All that the plugin wishes: for plugins whose code the operator trusts, as the bundled ones.
    ///
    /// # Errors
    ///
    /// `Plugin`: a wish is not an allowed host, or not the name of a file.
    pub fn as_wished(wishes: &Wishes) -> Result<Self, Error> {
        Ok(Self {
            hosts: parse_hosts(&wishes.hosts)?,
            audiences: wishes.audiences.clone(),
            environment: wishes.environment.clone(),
            files: parse_files(&wishes.files)?,
            signer: wishes.signer,
            networks: Vec::new(),
        })
    }
}

/// How a plugin's grant comes about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantPolicy {
    /// Exactly this.
    Exactly(Grant),
    /// What it wishes.
    AsWished,
}

/// The wish for hosts that only the operator knows. By itself it grants nothing.
const ANY_HOST: &str = "*";

/// A wish that does not parse is the vendor's to mend.
fn parse_hosts(hosts: &[String]) -> Result<Vec<AllowedHost>, Error> {
    hosts
        .iter()
        .filter(|host| *host != ANY_HOST)
        .map(|host| {
            host.parse().map_err(|error: Error| {
                Error::plugin("the plugin wishes for a host that cannot be granted").because(error)
            })
        })
        .collect()
}

fn parse_files(files: &[String]) -> Result<Vec<FileName>, Error> {
    files
        .iter()
        .map(|file| {
            file.parse().map_err(|error: Error| {
                Error::plugin("the plugin wishes for a file that cannot be granted").because(error)
            })
        })
        .collect()
}

/// Audiences that API servers are told to accept for themselves, beside the names of their own service:
/// a token for one of them is a key to the cluster
/// (<https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/>,
/// `--api-audiences`, which defaults to the issuer; k3s and RKE2 add their own names).
const API_SERVER_AUDIENCES: &[&str] = &["api", "k3s", "rke2"];

/// Whether an audience is one that API servers usually accept. Their service is
/// `kubernetes.default.svc`, under whatever domain a cluster has, with or without its last labels.
fn is_api_server(audience: &str) -> bool {
    let lower = audience.to_ascii_lowercase();
    let host = lower.strip_prefix("https://").unwrap_or(&lower);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    let mut labels = host.trim_end_matches('.').split('.');
    let service = labels.next() == Some("kubernetes")
        && labels.next().is_none_or(|namespace| namespace == "default")
        && labels.next().is_none_or(|kind| kind == "svc");
    service || API_SERVER_AUDIENCES.contains(&lower.as_str())
}

/// What a plugin has: its grant, where it wished for it.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    wishes: Wishes,
    wished_files: Vec<FileName>,
    reach: Arc<Reach>,
    ambient_reach: Arc<Reach>,
}

impl Granted {
    pub(crate) fn new(policy: GrantPolicy, wishes: &Wishes) -> Result<Self, Error> {
        let grant = match policy {
            GrantPolicy::Exactly(grant) => grant,
            GrantPolicy::AsWished => Grant::as_wished(wishes)?,
        };
        let ambient = Reach {
            granted: grant.hosts.clone(),
            wished: parse_hosts(&wishes.hosts)?,
            wishes_any: wishes.hosts.iter().any(|host| host == ANY_HOST),
            networks: grant.networks.clone().into(),
        };
        Ok(Self {
            grant,
            wishes: wishes.clone(),
            wished_files: parse_files(&wishes.files)?,
            reach: Arc::new(ambient.without_metadata()),
            ambient_reach: Arc::new(ambient),
        })
    }

    /// Whether the host's signer may sign for the plugin.
    pub(crate) fn may_sign(&self) -> bool {
        self.grant.signer && self.wishes.signer
    }

    /// What a call may reach. Metadata addresses are the machine's own identity, which only an ambient
    /// call may take.
    pub(crate) fn reach(&self, ambient: bool) -> Arc<Reach> {
        Arc::clone(match ambient {
            true => &self.ambient_reach,
            false => &self.reach,
        })
    }

    /// Variables that are both granted and wished for, with their values.
    pub(crate) fn variables(&self, environment: &dyn Environment) -> Vec<(String, Secret)> {
        let wished = |name: &&String| self.wishes.environment.contains(name);
        self.grant
            .environment
            .iter()
            .filter(wished)
            .filter_map(|name| Some((name.clone(), environment.variable(name)?.into())))
            .collect()
    }

    /// Paths that are both granted and wished for, whichever names each side has for them.
    pub(crate) fn files(&self, environment: &dyn Environment) -> Vec<PathBuf> {
        let paths = |names: &[FileName]| -> Vec<PathBuf> {
            names
                .iter()
                .filter_map(|name| name.path(environment))
                .collect()
        };
        let wished = paths(&self.wished_files);
        let mut granted = paths(&self.grant.files);
        granted.retain(|path| wished.contains(path));
        granted
    }

    pub(crate) fn check_audiences(
        &self,
        audiences: &[String],
        chosen_by: ChosenBy,
    ) -> Result<(), Error> {
        audiences
            .iter()
            .try_for_each(|audience| self.check_audience(audience, chosen_by))
    }

    fn check_audience(&self, audience: &str, chosen_by: ChosenBy) -> Result<(), Error> {
        if is_api_server(audience) {
            return Err(Error::new(
                ErrorKind::Egress,
                format!(
                    "audience '{audience}' is the API server's own: a token for it is a key to the cluster, and is never asked for"
                ),
            ));
        }
        let holds = |list: &[String]| list.iter().any(|item| item == audience || item == "*");
        if !holds(&self.grant.audiences) {
            let error = Error::new(
                ErrorKind::Egress,
                format!("audience '{audience}' is not granted to this plugin"),
            );
            return Err(error.remedy(format!(
                "if a token for it may leave the cluster, add '{audience}' to grant.audiences of the plugin"
            )));
        }
        if chosen_by == ChosenBy::Provider && !holds(&self.wishes.audiences) {
            return Err(Error::plugin(format!(
                "it asks for a token for audience '{audience}', which its description does not name"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::FixedEnvironment;

    fn granted(grant: &[&str], wishes: &[&str]) -> Granted {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let grant = Grant {
            audiences: own(grant),
            ..Grant::nothing()
        };
        let wishes = Wishes {
            audiences: own(wishes),
            ..Wishes::default()
        };
        Granted::new(GrantPolicy::Exactly(grant), &wishes).unwrap()
    }

    #[test]
    fn grant_an_audience_needs_the_grant_and_a_plugins_own_also_the_wish() {
        let cases = [
            (granted(&["a"], &["a"]), "a", ChosenBy::Provider, true),
            (granted(&[], &["a"]), "a", ChosenBy::Provider, false),
            (granted(&["a"], &[]), "a", ChosenBy::Provider, false),
            (granted(&["a"], &[]), "a", ChosenBy::Caller, true),
            (granted(&["*"], &["*"]), "b", ChosenBy::Provider, true),
            (granted(&["*"], &["a"]), "b", ChosenBy::Provider, false),
            (
                granted(&["*"], &["*"]),
                "https://kubernetes.default.svc",
                ChosenBy::Caller,
                false,
            ),
            (
                granted(&["*"], &["*"]),
                "https://kubernetes.default.svc",
                ChosenBy::Provider,
                false,
            ),
        ];
        for (granted, audience, chosen_by, expected) in cases {
            let outcome = granted.check_audiences(&[audience.to_owned()], chosen_by);
            assert_eq!(
                outcome.is_ok(),
                expected,
                "{granted:?} {audience} {chosen_by:?}"
            );
        }
    }

    #[test]
    fn the_api_servers_own_audiences_are_refused_whatever_is_granted() {
        for audience in [
            "api",
            "k3s",
            "RKE2",
            "kubernetes",
            "https://kubernetes",
            "kubernetes.default",
            "https://kubernetes.default.svc",
            "https://kubernetes.default.svc.cluster.local",
            "https://kubernetes.default.svc.corp.internal:443/",
            "HTTPS://KUBERNETES.DEFAULT.SVC.",
        ] {
            let granted = granted(&["*", audience], &["*", audience]);
            for chosen_by in [ChosenBy::Caller, ChosenBy::Provider] {
                let refused = granted.check_audiences(&[audience.to_owned()], chosen_by);
                assert!(refused.is_err(), "{audience}");
            }
        }
        for audience in [
            "kubernetes.example",
            "https://kubernetes.default.example",
            "api.example",
        ] {
            let granted = granted(&["*"], &["*"]);
            let allowed = granted.check_audiences(&[audience.to_owned()], ChosenBy::Caller);
            assert!(allowed.is_ok(), "{audience}");
        }
    }

    #[test]
    fn grant_variables_and_files_show_only_if_granted_and_wished() {
        let environment = FixedEnvironment::default()
            .variable("TOKEN", "/run/token")
            .variable("REGION", "eu-west-1")
            .variable("HOME", "/root");
        let wishes = Wishes {
            environment: vec!["REGION".into(), "ABSENT".into()],
            files: vec!["$TOKEN".into(), "/etc/wished".into()],
            ..Wishes::default()
        };
        let none = Granted::new(GrantPolicy::Exactly(Grant::nothing()), &wishes).unwrap();
        assert!(none.variables(&environment).is_empty());
        assert!(none.files(&environment).is_empty());
        let grant = Grant {
            environment: vec!["REGION".into(), "HOME".into(), "ABSENT".into()],
            files: vec!["/run/token".parse().unwrap(), "/etc/other".parse().unwrap()],
            ..Grant::nothing()
        };
        let some = Granted::new(GrantPolicy::Exactly(grant), &wishes).unwrap();
        assert_eq!(
            some.variables(&environment),
            [("REGION".to_owned(), Secret::from("eu-west-1"))]
        );
        assert_eq!(some.files(&environment), [PathBuf::from("/run/token")]);
    }

    #[test]
    fn a_wish_for_any_host_is_granted_by_name_alone() {
        let wishes = Wishes {
            hosts: vec!["*".into()],
            ..Wishes::default()
        };
        let permits = |policy| {
            let granted = Granted::new(policy, &wishes).unwrap();
            let permits = |url: &str| granted.reach(true).permits(&url.parse().unwrap()).is_ok();
            (
                permits("https://a.private.example/"),
                permits("https://b.private.example/"),
            )
        };
        assert_eq!(permits(GrantPolicy::AsWished), (false, false));
        let named = Grant {
            hosts: vec!["https://a.private.example".parse().unwrap()],
            ..Grant::nothing()
        };
        assert_eq!(permits(GrantPolicy::Exactly(named)), (true, false));
    }

    #[test]
    fn metadata_is_reached_by_ambient_calls_alone() {
        let wishes = Wishes {
            hosts: vec!["http://169.254.169.254".into(), "https://a.example".into()],
            ..Wishes::default()
        };
        let granted = Granted::new(GrantPolicy::AsWished, &wishes).unwrap();
        let permits = |ambient, url: &str| {
            let url = url.parse().unwrap();
            granted.reach(ambient).permits(&url).is_ok()
        };
        assert!(permits(true, "http://169.254.169.254/latest"));
        assert!(!permits(false, "http://169.254.169.254/latest"));
        assert!(permits(true, "https://a.example/") && permits(false, "https://a.example/"));
    }
}
