//! ConfigMaps that say how to log in to a remote cluster.

use super::status::in_time;
use crate::cluster_config::ClusterConfig;
use crate::error::Error;
use crate::service_account::is_subdomain;
use crate::subject::Namespace;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

/// Reads the ConfigMap of an object's `spec.kubeConfig.configMapRef`, which is one of the object's own
/// namespace.
///
/// # Errors
///
/// `Configuration`: there is none of this name, or it is wrong, as [`ClusterConfig::from_data`] says;
/// otherwise what the API server answers, sorted by who must act.
pub async fn cluster_config(
    client: &Client,
    namespace: &Namespace,
    name: &str,
) -> Result<ClusterConfig, Error> {
    let what = format!("config map '{}/{name}'", namespace.as_str());
    if !is_subdomain(name) {
        return Err(Error::configuration(format!(
            "the name of a config map, {name:?}, must be a DNS-1123 subdomain"
        )));
    }
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace.as_str());
    let doing = || format!("cannot read {what}");
    let found = in_time(doing, "get of configmaps", maps.get_opt(name)).await?;
    let found = found.ok_or_else(|| Error::configuration(format!("{what} does not exist")))?;
    if found.binary_data.is_some_and(|binary| !binary.is_empty()) {
        let error = Error::configuration(format!("{what} has binaryData, which is not read"));
        return Err(error.remedy("write all values into data, as text"));
    }
    ClusterConfig::from_data(&found.data.unwrap_or_default()).map_err(|error| error.during(what))
}
