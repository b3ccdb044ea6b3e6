//! AKS clusters: what Resource Manager says of one, its API server, and whom it lets in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use uuid::Uuid;

use super::authenticator::Mappings;
use super::cloud::{AKS_SERVER, AzureCloud};
use super::identity::{AzureError, guid};
use crate::guarded::Guarded;
use crate::json::put;
use crate::kubernetes::Cluster;

/// `/subscriptions/GUID/resourceGroups/GROUP/providers/Microsoft.ContainerService/managedClusters/NAME`.
///
/// Fixed words and names alike are compared without regard to case, as Resource Manager does.
#[derive(Debug, Clone)]
pub(crate) struct ClusterId {
    pub(crate) subscription: Uuid,
    pub(crate) group: String,
    pub(crate) name: String,
}

impl ClusterId {
    pub(crate) fn parse(id: &str) -> Result<Self, AzureError> {
        let segments: Vec<&str> = id
            .strip_prefix('/')
            .unwrap_or_default()
            .split('/')
            .collect();
        Self::of_segments(&segments)
            .ok_or_else(|| AzureError::new(id, "the resource ID of an AKS cluster"))
    }

    pub(crate) fn of_segments(segments: &[&str]) -> Option<Self> {
        let [
            subscriptions,
            subscription,
            groups,
            group,
            providers,
            provider,
            clusters,
            name,
        ] = segments
        else {
            return None;
        };
        let fixed = [
            (subscriptions, "subscriptions"),
            (groups, "resourceGroups"),
            (providers, "providers"),
            (provider, "Microsoft.ContainerService"),
            (clusters, "managedClusters"),
        ];
        let is_cluster = fixed
            .iter()
            .all(|(segment, word)| segment.eq_ignore_ascii_case(word));
        if !is_cluster || !is_group_name(group) || !is_cluster_name(name) {
            return None;
        }
        Some(Self {
            subscription: guid(subscription).ok()?,
            group: (*group).to_owned(),
            name: (*name).to_owned(),
        })
    }

    /// The same for every spelling.
    pub(crate) fn key(&self) -> String {
        self.to_string().to_ascii_lowercase()
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subscription,
            group,
            name,
        } = self;
        write!(
            formatter,
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.ContainerService/managedClusters/{name}"
        )
    }
}

/// What a role lets a principal do with a cluster's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AksRole {
    /// `Reader`: the description, but no kubeconfig.
    Reader,
    /// `Azure Kubernetes Service Cluster User Role`: the description and the user's kubeconfig.
    ClusterUser,
}

/// An AKS cluster: what Resource Manager says of it, its API server, and whom it lets in.
#[derive(Debug)]
pub struct AksCluster {
    id: ClusterId,
    pub(crate) cloud: AzureCloud,
    pub(crate) tenant: Uuid,
    kubernetes: Arc<Cluster>,
    mappings: Arc<Mappings>,
    roles: Guarded<BTreeMap<String, AksRole>>,
}

impl AksCluster {
    pub(crate) fn new(
        id: ClusterId,
        cloud: AzureCloud,
        tenant: Uuid,
        kubernetes: Arc<Cluster>,
        mappings: Arc<Mappings>,
    ) -> Self {
        Self {
            id,
            cloud,
            tenant,
            kubernetes,
            mappings,
            roles: Guarded::default(),
        }
    }

    /// The cluster's resource ID.
    #[must_use]
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// The API server. Its administrator's kubeconfig needs no Azure.
    #[must_use]
    pub fn kubernetes(&self) -> &Cluster {
        &self.kubernetes
    }

    /// Gives an application a role on this cluster's resource. It has none by default.
    pub fn assign_role(&self, client_id: &str, role: AksRole) {
        let client_id = client_id.to_ascii_lowercase();
        self.roles.with(|roles| roles.insert(client_id, role));
    }

    /// Lets an application in as this Kubernetes user with these groups.
    pub fn map_principal(&self, client_id: &str, user: &str, groups: &[&str]) {
        self.mappings.add(client_id, user, groups);
    }

    /// Whether the API server takes tokens of Entra and the description has an `aadProfile`. On by
    /// default.
    pub fn integrate_entra(&self, integrate: bool) {
        self.mappings.switch(integrate);
    }

    pub(crate) fn cluster_id(&self) -> &ClusterId {
        &self.id
    }

    pub(crate) fn role(&self, client_id: Uuid) -> Option<AksRole> {
        let client_id = client_id.to_string();
        self.roles.with(|roles| roles.get(&client_id).copied())
    }

    pub(crate) fn description(&self) -> Value {
        let name = &self.id.name;
        let mut cluster = json!({
            "id": self.id(),
            "name": name,
            "type": "Microsoft.ContainerService/ManagedClusters",
            "location": "westeurope",
            "properties": {
                "provisioningState": "Succeeded",
                "powerState": {"code": "Running"},
                "kubernetesVersion": "1.34.1",
                "dnsPrefix": format!("{name}-dns"),
                "fqdn": self.kubernetes.address().ip(),
                "enableRBAC": true,
                "disableLocalAccounts": false,
                "oidcIssuerProfile": {"enabled": true, "issuerURL": self.kubernetes.issuer()},
            },
        });
        if self.mappings.is_on() {
            let profile = json!({
                "managed": true,
                "adminGroupObjectIDs": [],
                "enableAzureRBAC": false,
                "tenantID": self.tenant,
            });
            put(&mut cluster, &["properties", "aadProfile"], profile);
        }
        cluster
    }

    /// The kubeconfig of the cluster's user: it names no secret where Entra decides.
    pub(crate) fn kubeconfigs(&self, authority: &str) -> Value {
        let kubeconfig = self.kubeconfig(authority);
        json!({"kubeconfigs": [{"name": "clusterUser", "value": STANDARD.encode(kubeconfig)}]})
    }

    fn kubeconfig(&self, authority: &str) -> String {
        let name = Value::from(self.id.name.as_str());
        let user = Value::from(format!("clusterUser_{}_{}", self.id.group, self.id.name));
        let server = Value::from(self.kubernetes.url());
        let authority = STANDARD.encode(authority);
        let login = self.login();
        format!(
            "apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: {name}
contexts:
- context:
    cluster: {name}
    user: {user}
  name: {name}
current-context: {name}
kind: Config
preferences: {{}}
users:
- name: {user}
  user:
{login}"
        )
    }

    /// Entra's kubeconfig starts a program; one of a cluster without Entra holds a token.
    fn login(&self) -> String {
        if !self.mappings.is_on() {
            let token = Value::from(self.kubernetes.token("clusterUser"));
            return format!("    token: {token}\n");
        }
        let (environment, tenant) = (self.cloud.environment(), self.tenant);
        format!(
            "    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args:
      - get-token
      - --environment
      - {environment}
      - --server-id
      - {AKS_SERVER}
      - --tenant-id
      - {tenant}
      - --login
      - devicecode
      command: kubelogin
"
        )
    }
}

/// 1 to 90 letters, digits, `_`, `-`, `.`, parentheses; no dot at the end.
fn is_group_name(name: &str) -> bool {
    let is_plain = |character: char| character.is_alphanumeric() || "_-.()".contains(character);
    (1..=90).contains(&name.chars().count()) && name.chars().all(is_plain) && !name.ends_with('.')
}

/// 1 to 63 letters, digits, `_` and `-`; a letter or digit at both ends.
fn is_cluster_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    let ends = [name.bytes().next(), name.bytes().next_back()];
    ends.iter().all(|end| end.is_some_and(is_plain))
        && name.len() <= 63
        && name
            .bytes()
            .all(|byte| is_plain(byte) || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::ClusterId;

    const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";

    #[test]
    fn a_resource_id_is_read_in_any_case_and_nothing_else_is() {
        let id = |group: &str, name: &str| {
            format!(
                "/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/Microsoft.ContainerService/managedClusters/{name}"
            )
        };
        let good = id("platform", "demo");
        let key = ClusterId::parse(&good).unwrap().key();
        assert_eq!(ClusterId::parse(&good.to_uppercase()).unwrap().key(), key);
        assert_eq!(ClusterId::parse(&good).unwrap().to_string(), good);
        for bad in [
            String::new(),
            format!("{good}/"),
            format!("/{good}"),
            good.replace("managedClusters", "managedCluster"),
            good.replace(SUBSCRIPTION, "1"),
            id("", "demo"),
            id("platform.", "demo"),
            id("platform", "-demo"),
            id("platform", "demo-"),
            id("platform", "de.mo"),
            id("platform", &"a".repeat(64)),
        ] {
            assert!(ClusterId::parse(&bad).is_err(), "{bad}");
        }
    }
}
