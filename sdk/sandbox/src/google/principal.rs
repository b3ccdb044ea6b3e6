//! Who acts at Google, and the members that IAM bindings name.

use std::collections::BTreeMap;

use super::name::{AccountEmail, GoogleError, PoolName, is_project};

/// Whom an access token speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Principal {
    ServiceAccount {
        email: String,
        /// What Kubernetes sees of an account whose token has no scope for its e-mail.
        unique_id: String,
    },
    Federated(Federated),
    User {
        email: String,
    },
}

/// A workload of another identity provider, as the provider's attribute mapping made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Federated {
    pub(crate) pool: PoolName,
    pub(crate) subject: String,
    pub(crate) groups: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Principal {
    /// The name in audit logs, and the member that stands for exactly this principal.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::ServiceAccount { email, .. } | Self::User { email } => email.clone(),
            Self::Federated(federated) => federated.name(),
        }
    }
}

impl Federated {
    fn name(&self) -> String {
        format!(
            "principal://iam.googleapis.com/{}/subject/{}",
            self.pool, self.subject
        )
    }
}

/// A member of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Member {
    ServiceAccount(String),
    User(String),
    /// `serviceAccount:PROJECT.svc.id.goog[NAMESPACE/NAME]`: a Kubernetes account of GKE.
    ClusterAccount {
        pool: String,
        subject: String,
    },
    /// `principal://…/subject/…`.
    Subject {
        pool: PoolName,
        subject: String,
    },
    /// `principalSet://…`.
    Set {
        pool: PoolName,
        of: Set,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Set {
    All,
    Group(String),
    Attribute(String, String),
    /// The accounts of one Kubernetes namespace, in the pool of GKE.
    Namespace(String),
}

impl Member {
    pub(crate) fn parse(text: &str) -> Result<Self, GoogleError> {
        let wrong = || {
            let expected = "a member such as user:E-MAIL, serviceAccount:E-MAIL, principal://… or principalSet://…";
            GoogleError::new(text, expected)
        };
        Self::read(text).ok_or_else(wrong)
    }

    fn read(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("principal://iam.googleapis.com/") {
            let (pool, subject) = path.split_once("/subject/")?;
            let pool = PoolName::parse(pool)?;
            return (!subject.is_empty()).then(|| Self::Subject {
                pool,
                subject: subject.to_owned(),
            });
        }
        if let Some(path) = text.strip_prefix("principalSet://iam.googleapis.com/") {
            return Self::set(path);
        }
        let (kind, name) = text.split_once(':')?;
        match kind {
            "user" if name.contains('@') => Some(Self::User(name.to_owned())),
            "serviceAccount" if name.ends_with(']') => Self::cluster_account(name),
            "serviceAccount" => {
                AccountEmail::parse(name).map(|email| Self::ServiceAccount(email.to_string()))
            }
            _ => None,
        }
    }

    fn cluster_account(name: &str) -> Option<Self> {
        let (pool, account) = name.strip_suffix(']')?.split_once('[')?;
        let (namespace, account) = account.split_once('/')?;
        is_project(pool.strip_suffix(".svc.id.goog")?).then(|| Self::ClusterAccount {
            pool: pool.to_owned(),
            subject: cluster_subject(namespace, account),
        })
    }

    fn set(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.splitn(7, '/').collect();
        let (pool, rest) = parts.split_at_checked(6)?;
        let pool = PoolName::parse(&pool.join("/"))?;
        let of = match *rest.first()? {
            "*" => Set::All,
            rest => {
                let (kind, value) = rest.split_once('/')?;
                match (kind, kind.strip_prefix("attribute.")) {
                    ("group", _) => Set::Group(value.to_owned()),
                    ("namespace", _) => Set::Namespace(value.to_owned()),
                    (_, Some(name)) => Set::Attribute(name.to_owned(), value.to_owned()),
                    _ => return None,
                }
            }
        };
        Some(Self::Set { pool, of })
    }

    pub(crate) fn covers(&self, principal: &Principal) -> bool {
        match (self, principal) {
            (Self::ServiceAccount(member), Principal::ServiceAccount { email, .. })
            | (Self::User(member), Principal::User { email }) => member == email,
            (Self::ClusterAccount { pool, subject }, Principal::Federated(federated)) => {
                *pool == federated.pool.pool && *subject == federated.subject
            }
            (Self::Subject { pool, subject }, Principal::Federated(federated)) => {
                *pool == federated.pool && *subject == federated.subject
            }
            (Self::Set { pool, of }, Principal::Federated(federated)) => {
                *pool == federated.pool && of.holds(federated)
            }
            _ => false,
        }
    }
}

impl Set {
    fn holds(&self, federated: &Federated) -> bool {
        match self {
            Self::All => true,
            Self::Group(group) => federated.groups.contains(group),
            Self::Attribute(name, value) => federated.attributes.get(name) == Some(value),
            Self::Namespace(namespace) => federated
                .subject
                .strip_prefix("ns/")
                .and_then(|rest| rest.split_once("/sa/"))
                .is_some_and(|(found, _)| found == namespace),
        }
    }
}

/// The subject of a Kubernetes account in the pool of GKE.
pub(crate) fn cluster_subject(namespace: &str, account: &str) -> String {
    format!("ns/{namespace}/sa/{account}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: &str = "projects/1/locations/global/workloadIdentityPools/pool";

    fn federated() -> Principal {
        Principal::Federated(Federated {
            pool: PoolName::parse(POOL).unwrap(),
            subject: "ns/a/sa/b".to_owned(),
            groups: vec!["ops".to_owned()],
            attributes: BTreeMap::from([("repo".to_owned(), "x/y".to_owned())]),
        })
    }

    #[test]
    fn a_member_covers_whom_it_names_and_nobody_else() {
        for (end, expected) in [
            ("principal:/subject/ns/a/sa/b", true),
            ("principal:/subject/ns/a/sa/bb", false),
            ("principalSet:/*", true),
            ("principalSet:/group/ops", true),
            ("principalSet:/group/op", false),
            ("principalSet:/attribute.repo/x/y", true),
            ("principalSet:/attribute.repo/x", false),
            ("principalSet:/namespace/a", true),
            ("principalSet:/namespace/b", false),
        ] {
            let (kind, end) = end.split_once(':').unwrap();
            let text = format!("{kind}://iam.googleapis.com/{POOL}{end}");
            let member = Member::parse(&text).unwrap();
            assert_eq!(member.covers(&federated()), expected, "{text}");
        }
        let other = Member::parse(
            "principalSet://iam.googleapis.com/projects/2/locations/global/workloadIdentityPools/pool/*",
        );
        assert!(!other.unwrap().covers(&federated()));
    }

    #[test]
    fn what_is_no_member_is_refused() {
        for text in [
            "",
            "allUsers",
            "a@demo.iam.gserviceaccount.com",
            "serviceAccount:a@example.com",
            "serviceAccount:demo.svc.id.goog[a]",
            "serviceAccount:demo.example[a/b]",
            "principal://iam.googleapis.com/projects/1/subject/x",
            "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool",
            "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/else/x",
        ] {
            assert!(Member::parse(text).is_err(), "{text}");
        }
    }
}
