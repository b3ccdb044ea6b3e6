//! Workload identity federation: whose tokens Google takes, and what it makes of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::failure::Failure;
use super::name::{ClusterName, PoolName, ProviderName};
use super::principal::{Federated, cluster_subject};
use crate::guarded::Guarded;
use crate::token::Claims;

/// The longest `google.subject`, in bytes (IAM's documentation of attribute mappings).
const LONGEST_SUBJECT: usize = 127;

/// A provider of a workload identity pool: an OIDC issuer and how its claims are read.
///
/// `google.subject` is always `assertion.sub`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadIdentityProvider {
    issuer: String,
    audiences: Vec<String>,
    attributes: BTreeMap<String, String>,
    groups: Option<String>,
    condition: Option<(String, String)>,
}

impl WorkloadIdentityProvider {
    /// Trusts an issuer: its https URL, as in `iss`. Tokens must be meant for the provider's full
    /// resource name, with or without `https:` before it.
    #[must_use]
    pub fn new(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            audiences: Vec::new(),
            attributes: BTreeMap::new(),
            groups: None,
            condition: None,
        }
    }

    /// Allows an audience. With the first one, the provider's own name is allowed no longer.
    #[must_use]
    pub fn audience(mut self, audience: &str) -> Self {
        self.audiences.push(audience.to_owned());
        self
    }

    /// Maps `attribute.NAME` to a claim: its name, or a JSON Pointer such as
    /// `/kubernetes.io/namespace`.
    #[must_use]
    pub fn attribute(mut self, name: &str, claim: &str) -> Self {
        self.attributes.insert(name.to_owned(), claim.to_owned());
        self
    }

    /// Maps `google.groups` to a claim that is a list of strings.
    #[must_use]
    pub fn groups(mut self, claim: &str) -> Self {
        self.groups = Some(claim.to_owned());
        self
    }

    /// Takes only tokens in which this claim has this value: the condition `assertion.CLAIM == VALUE`.
    #[must_use]
    pub fn condition(mut self, claim: &str, value: &str) -> Self {
        self.condition = Some((claim.to_owned(), value.to_owned()));
        self
    }
}

/// What the `audience` of an exchange names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Provider(ProviderName),
    Cluster(ClusterName),
}

impl Target {
    /// Only full resource names count: without `https:`, which an `aud` may have.
    pub(crate) fn parse(audience: &str) -> Option<Self> {
        if let Some(name) = audience.strip_prefix("//iam.googleapis.com/") {
            return ProviderName::parse(name).map(Self::Provider);
        }
        let names = audience.strip_prefix("identitynamespace:")?;
        let (pool, cluster) = names.split_once(":https://container.googleapis.com/v1/")?;
        let cluster = ClusterName::parse(cluster)?;
        (pool.strip_suffix(".svc.id.goog")? == cluster.project).then_some(Self::Cluster(cluster))
    }
}

/// Whose tokens a target takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    Provider(ProviderName, WorkloadIdentityProvider),
    /// A cluster of GKE: its issuer, and the pool that Google keeps for its project.
    Cluster {
        issuer: String,
        pool: PoolName,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Federation(Guarded<BTreeMap<Target, Trust>>);

impl Federation {
    pub(crate) fn set(&self, target: Target, trust: Trust) {
        self.0.with(|trusted| trusted.insert(target, trust));
    }

    pub(crate) fn remove(&self, target: &Target) {
        self.0.with(|trusted| trusted.remove(target));
    }

    pub(crate) fn find(&self, target: &Target) -> Option<Trust> {
        self.0.with(|trusted| trusted.get(target).cloned())
    }
}

impl Trust {
    pub(crate) fn issuer(&self) -> &str {
        match self {
            Self::Provider(_, provider) => &provider.issuer,
            Self::Cluster { issuer, .. } => issuer,
        }
    }

    /// What a token may be meant for.
    pub(crate) fn audiences(&self) -> Vec<String> {
        match self {
            Self::Provider(name, provider) if provider.audiences.is_empty() => {
                let name = name.audience();
                vec![format!("https:{name}"), name]
            }
            Self::Provider(_, provider) => provider.audiences.clone(),
            Self::Cluster { pool, .. } => vec![pool.pool.clone()],
        }
    }

    /// The principal that these proven claims become.
    pub(crate) fn principal(&self, claims: &Claims) -> Result<Federated, Failure> {
        let subject = claims.sub.clone().unwrap_or_default();
        if subject.is_empty() {
            let message = "The claim \"sub\" is missing in the ID Token.";
            return Err(Failure::oauth("invalid_grant", message));
        }
        let federated = match self {
            Self::Provider(name, provider) => provider.map(&name.pool, subject, claims)?,
            Self::Cluster { pool, .. } => Federated {
                pool: pool.clone(),
                subject: kubernetes_subject(&subject)?,
                groups: Vec::new(),
                attributes: BTreeMap::new(),
            },
        };
        if federated.subject.len() > LONGEST_SUBJECT {
            let message = format!(
                "The size of mapped attribute google.subject exceeds the {LONGEST_SUBJECT} bytes limit. Either modify your attribute mapping or the incoming assertion to produce a mapped attribute that is less than {LONGEST_SUBJECT} bytes."
            );
            return Err(Failure::oauth("invalid_request", message));
        }
        Ok(federated)
    }
}

impl WorkloadIdentityProvider {
    fn map(&self, pool: &PoolName, subject: String, claims: &Claims) -> Result<Federated, Failure> {
        let claim = |path: &str| find(claims, path);
        if let Some((path, value)) = &self.condition
            && claim(path).as_str() != Some(value.as_str())
        {
            let message = "The given credential is rejected by the attribute condition.";
            return Err(Failure::oauth("unauthorized_client", message));
        }
        let groups = self.groups.as_ref().map(|path| claim(path));
        let attribute = |(name, path): (&String, &String)| {
            Some((name.clone(), claim(path).as_str()?.to_owned()))
        };
        Ok(Federated {
            pool: pool.clone(),
            subject,
            groups: groups
                .and_then(|groups| serde_json::from_value(groups).ok())
                .unwrap_or_default(),
            attributes: self.attributes.iter().filter_map(attribute).collect(),
        })
    }
}

/// The claim of this name, or at this JSON Pointer (RFC 6901) if it begins with `/`.
fn find(claims: &Claims, path: &str) -> Value {
    let found = match path {
        "sub" => return claims.sub.clone().into(),
        "iss" => return claims.iss.clone().into(),
        path if path.starts_with('/') => Value::Object(claims.rest.clone()).pointer(path).cloned(),
        path => claims.rest.get(path).cloned(),
    };
    found.unwrap_or_default()
}

fn kubernetes_subject(subject: &str) -> Result<String, Failure> {
    let account = subject.strip_prefix("system:serviceaccount:");
    let account = account.and_then(|account| account.split_once(':'));
    let (namespace, account) = account.ok_or_else(|| {
        let message = "The subject of the ID Token is not a Kubernetes service account.";
        Failure::oauth("invalid_grant", message)
    })?;
    Ok(cluster_subject(namespace, account))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audience_is_a_full_resource_name() {
        let pool = "projects/1/locations/global/workloadIdentityPools/pool";
        let cluster = "https://container.googleapis.com/v1/projects/p/locations/l/clusters/c";
        for (audience, expected) in [
            (format!("//iam.googleapis.com/{pool}/providers/x"), true),
            (
                format!("https://iam.googleapis.com/{pool}/providers/x"),
                false,
            ),
            (format!("//iam.googleapis.com/{pool}"), false),
            (format!("//iam.example.com/{pool}/providers/x"), false),
            (format!("identitynamespace:p.svc.id.goog:{cluster}"), true),
            (format!("identitynamespace:q.svc.id.goog:{cluster}"), false),
            (format!("identitynamespace:p:{cluster}"), false),
            (format!("p.svc.id.goog:{cluster}"), false),
            (String::new(), false),
        ] {
            assert_eq!(Target::parse(&audience).is_some(), expected, "{audience}");
        }
    }
}
