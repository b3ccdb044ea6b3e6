//! What an operator allows one plugin. A wish is not a grant: what counts is in both.

use crate::egress::AllowedHost;
use crate::egress::send::Reach;
use crate::error::{Error, ErrorKind};
use crate::provider::{ChosenBy, Wishes};
use ipnet::IpNet;
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
            networks: Vec::new(),
        }
    }

    /// All that the plugin wishes: for plugins whose code the operator trusts, as the bundled ones.
    ///
    /// # Errors
    ///
    /// `Plugin`: a wish is not an allowed host.
    pub fn as_wished(wishes: &Wishes) -> Result<Self, Error> {
        Ok(Self {
            hosts: parse_hosts(&wishes.hosts)?,
            audiences: wishes.audiences.clone(),
            environment: wishes.environment.clone(),
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

/// A wish that does not parse is the vendor's to mend.
fn parse_hosts(hosts: &[String]) -> Result<Vec<AllowedHost>, Error> {
    hosts
        .iter()
        .map(|host| {
            host.parse().map_err(|error: Error| {
                Error::plugin("the plugin wishes for a host that cannot be granted").because(error)
            })
        })
        .collect()
}

/// Audiences that the API server accepts for itself by default: a token for one of them is a key to the
/// cluster (<https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/>,
/// `--api-audiences`, which defaults to the issuer).
const API_SERVER_AUDIENCES: &[&str] = &[
    "api",
    "kubernetes",
    "kubernetes.default.svc",
    "https://kubernetes",
    "https://kubernetes.default",
    "https://kubernetes.default.svc",
    "https://kubernetes.default.svc.cluster.local",
];

/// What a plugin has: its grant, where it wished for it.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) grant: Grant,
    wishes: Wishes,
    pub(crate) reach: Arc<Reach>,
}

impl Granted {
    pub(crate) fn new(policy: GrantPolicy, wishes: &Wishes) -> Result<Self, Error> {
        let grant = match policy {
            GrantPolicy::Exactly(grant) => grant,
            GrantPolicy::AsWished => Grant::as_wished(wishes)?,
        };
        let reach = Reach {
            granted: grant.hosts.clone(),
            wished: parse_hosts(&wishes.hosts)?,
            networks: grant.networks.clone().into(),
        };
        Ok(Self {
            grant,
            wishes: wishes.clone(),
            reach: Arc::new(reach),
        })
    }

    /// Variables that are both granted and wished for, with their values.
    pub(crate) fn environment(&self) -> Vec<(&str, String)> {
        let wished = |name: &&String| self.wishes.environment.contains(name);
        self.grant
            .environment
            .iter()
            .filter(wished)
            .filter_map(|name| Some((name.as_str(), std::env::var(name).ok()?)))
            .collect()
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
        let holds = |list: &[String]| {
            list.iter().any(|item| item == audience)
                || (list.iter().any(|item| item == "*")
                    && !API_SERVER_AUDIENCES.contains(&audience))
        };
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
    fn grant_variables_show_only_if_granted_and_wished() {
        let wishes = Wishes {
            environment: vec!["PATH".into()],
            ..Wishes::default()
        };
        let none = Granted::new(GrantPolicy::Exactly(Grant::nothing()), &wishes).unwrap();
        assert!(none.environment().is_empty());
        let grant = Grant {
            environment: vec!["PATH".into(), "HOME".into()],
            ..Grant::nothing()
        };
        let some = Granted::new(GrantPolicy::Exactly(grant), &wishes).unwrap();
        assert_eq!(
            some.environment()
                .iter()
                .map(|(name, _)| *name)
                .collect::<Vec<_>>(),
            ["PATH"]
        );
    }
}
