//! The kinds of object that a cluster keeps, as the core API group names them.

use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    Namespaces,
    ServiceAccounts,
    Secrets,
    ConfigMaps,
    Pods,
}

/// What discovery says that every kept object can do.
const VERBS: [&str; 7] = [
    "create", "delete", "get", "list", "patch", "update", "watch",
];

impl Resource {
    pub(crate) const ALL: [Self; 5] = [
        Self::Namespaces,
        Self::ServiceAccounts,
        Self::Secrets,
        Self::ConfigMaps,
        Self::Pods,
    ];

    pub(crate) fn of_plural(plural: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|resource| resource.plural() == plural)
    }

    pub(crate) fn of_kind(kind: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|resource| resource.kind() == kind)
    }

    pub(crate) fn plural(self) -> &'static str {
        self.names().0
    }

    pub(crate) fn kind(self) -> &'static str {
        self.names().1
    }

    pub(crate) fn is_namespaced(self) -> bool {
        self != Self::Namespaces
    }

    /// The entry of this kind in discovery's `APIResourceList`.
    pub(crate) fn discovered(self) -> Value {
        let (plural, kind, short) = self.names();
        json!({
            "name": plural,
            "singularName": kind.to_ascii_lowercase(),
            "namespaced": self.is_namespaced(),
            "kind": kind,
            "verbs": VERBS,
            "shortNames": [short],
        })
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Namespaces => ("namespaces", "Namespace", "ns"),
            Self::ServiceAccounts => ("serviceaccounts", "ServiceAccount", "sa"),
            Self::Secrets => ("secrets", "Secret", "secret"),
            Self::ConfigMaps => ("configmaps", "ConfigMap", "cm"),
            Self::Pods => ("pods", "Pod", "po"),
        }
    }
}
