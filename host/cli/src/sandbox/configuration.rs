//! The configuration of a host whose world is a sandbox.

use super::signing;
use crate::bundled;
use gatepass::config::{HostConfig, NetworkConfig};
use gatepass_sandbox::Sandbox;

/// All bundled plugins; every name at the port of HTTPS is the sandbox, every metadata address its own,
/// and nobody else is trusted.
pub(crate) fn of(sandbox: &Sandbox) -> HostConfig {
    let mut config = HostConfig::bundled(&bundled::names());
    config
        .feature_gates
        .insert("ObjectLevelWorkloadIdentity".into(), true);
    config.network = NetworkConfig {
        ca: Some(sandbox.ca_pem().to_owned()),
        system_authorities: Some(false),
        connect_to: [
            ("*:443".to_owned(), sandbox.address().to_string()),
            ("*:80".to_owned(), sandbox.metadata_address().to_string()),
        ]
        .into(),
    };
    config.spiffe = Some(signing::configuration());
    config
}
