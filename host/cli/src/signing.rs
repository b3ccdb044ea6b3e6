//! The host's signer on the command line: its key is read from the cluster when an object is named.

use crate::failure::Failure;
use crate::progress::noted;
use gatepass::Namespace;
use gatepass::config::SpiffeConfig;
use gatepass::kubernetes::SecretSigningKeys;
use gatepass::signer::Signer;
use kube::Client;
use std::sync::Arc;

/// Both must be set before anything is signed.
fn check(config: &SpiffeConfig) -> Result<(), Failure> {
    for (flag, value) in [
        ("--spiffe-trust-domain", &config.trust_domain),
        ("--spiffe-secret-name", &config.secret_name),
    ] {
        if value.is_empty() {
            return Err(unset(flag));
        }
    }
    Ok(())
}

/// A flag without which nothing is signed.
pub(crate) fn unset(flag: &str) -> Failure {
    Failure::configuration("this host does not sign for objects yet").fix(format!("set {flag}"))
}

/// Reads the Secret of a configuration, and makes the signer with its key. `namespace` is that of the
/// context, where the configuration names none.
pub(crate) async fn signer(
    config: &SpiffeConfig,
    client: Client,
    namespace: &str,
) -> Result<Signer, Failure> {
    check(config)?;
    let namespace = config.secret_namespace.as_deref().unwrap_or(namespace);
    let namespace = Namespace::new(namespace)?;
    let keys = SecretSigningKeys::watch(client, &namespace, &config.secret_name);
    noted("reading the key that signs for objects", keys.ready()).await?;
    Ok(config.signer(Arc::new(keys))?)
}
