//! In whose name the host signs for objects.

use crate::error::Error;
use crate::signer::{IssuerUrl, Signer, SigningKeys, TrustDomain};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// SPIFFE identities of objects: the trust domain, who signs, and with which key. The names are those of
/// the flags `--spiffe-trust-domain`, `--spiffe-issuer` and `--spiffe-secret-name`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpiffeConfig {
    /// The trust domain of every ID.
    pub trust_domain: String,
    /// The `iss` of tokens, an https URL; without it only certificates are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// A Secret of type `kubernetes.io/tls` with the key, and the authority's certificate.
    pub secret_name: String,
    /// Where that Secret is; the host's own namespace if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_namespace: Option<String>,
}

impl SpiffeConfig {
    /// The signer with these keys, for [`PluginEngine::with_signer`](crate::plugin::PluginEngine::with_signer).
    /// In a controller the keys are those of
    /// [`SecretSigningKeys::watch`](crate::kubernetes::SecretSigningKeys::watch).
    ///
    /// # Errors
    ///
    /// `Configuration`: the trust domain or the issuer breaks a rule.
    pub fn signer(&self, keys: Arc<dyn SigningKeys>) -> Result<Signer, Error> {
        let trust_domain: TrustDomain = self.trust_domain.parse()?;
        let issuer = self.issuer.as_deref().map(str::parse::<IssuerUrl>);
        Ok(Signer::new(trust_domain, issuer.transpose()?, keys))
    }
}
