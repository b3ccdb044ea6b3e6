//! Kubernetes: where ServiceAccounts, their tokens and the signing key come from, and clients for
//! remote clusters.
//!
//! The one place that knows the Kubernetes client.

mod config_map;
mod object;
mod remote;
mod service_accounts;
mod signing_secret;
mod status;

pub use config_map::cluster_config;
pub use object::{ObjectKind, object_reference};
pub use remote::{AccessSource, client, config};
pub use service_accounts::{KubernetesServiceAccounts, ReflectedServiceAccounts};
pub use signing_secret::SecretSigningKeys;
