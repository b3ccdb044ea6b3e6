//! As much of a kubeconfig as says where a server is (kubernetes.io/docs/reference/config-api/kubeconfig.v1).

use gatepass_sdk::{HttpsAddress, certificate_of_base64};
use serde::Deserialize;

/// A server and its certificate authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) address: HttpsAddress,
    /// PEM.
    pub(super) certificate_authority: String,
}

impl Server {
    pub(super) fn new(address: HttpsAddress, certificate_authority: String) -> Self {
        Self {
            address,
            certificate_authority,
        }
    }
}

#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: String,
}

/// The servers of a kubeconfig, in its order; `None` unless it is whole and has at least one.
pub(super) fn servers(yaml: &str) -> Option<Vec<Server>> {
    let kubeconfig: Kubeconfig = serde_saphyr::from_str(yaml).ok()?;
    let servers: Option<Vec<Server>> = kubeconfig
        .clusters
        .into_iter()
        .map(|named| named.cluster.server())
        .collect();
    servers.filter(|servers| !servers.is_empty())
}

impl Cluster {
    fn server(&self) -> Option<Server> {
        let address = HttpsAddress::parse("server", &self.server).ok()?;
        let pem = certificate_of_base64(&self.certificate_authority_data)?;
        Some(Server::new(address, pem))
    }
}
