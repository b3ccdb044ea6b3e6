//! `gatepass issuer`: what others are told of who signs for objects, so that they can check it.

use crate::arguments::{Format, Global, Issuer};
use crate::cluster::Cluster;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::{output, signing, terminal};
use serde_json::Value;
use std::time::SystemTime;

/// Reads the key of the configuration, and prints one document.
pub(crate) async fn run(global: &Global, document: Issuer) -> Result<(), Failure> {
    output::choose(global.output, &[Format::Json], "issuer")?;
    let configuration = Configuration::read(global)?;
    let Some(spiffe) = &configuration.host.spiffe else {
        return Err(signing::unset("--spiffe-trust-domain"));
    };
    let cluster = Cluster::find(global).await?.connect()?;
    let signer = signing::signer(spiffe, cluster.client, &cluster.namespace).await?;
    let now = SystemTime::now();
    let document: Value = match document {
        Issuer::Discovery => signer
            .discovery_document()
            .map_err(|_| signing::unset("--spiffe-issuer"))?,
        Issuer::Jwks => signer.jwks(now),
        Issuer::Bundle => signer.bundle(now),
    };
    terminal::print(&format!("{document:#}\n"))
}
