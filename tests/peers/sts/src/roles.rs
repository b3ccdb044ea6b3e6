//! The roles that may be assumed, read once from a JSON file.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use multistore::error::ProxyError;
use multistore::registry::CredentialRegistry;
use multistore::types::{RoleConfig, StoredCredential};

/// A fixed list of roles; there are no long-lived credentials.
#[derive(Debug, Clone)]
pub struct Roles(Arc<[RoleConfig]>);

impl Roles {
    /// Reads the list from `path`.
    ///
    /// # Errors
    /// The file cannot be read or is not a JSON list of roles.
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let roles: Vec<RoleConfig> = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no list of roles", path.display()))?;
        Ok(Self(roles.into()))
    }
}

impl CredentialRegistry for Roles {
    async fn get_credential(&self, _: &str) -> Result<Option<StoredCredential>, ProxyError> {
        Ok(None)
    }

    async fn get_role(&self, role_id: &str) -> Result<Option<RoleConfig>, ProxyError> {
        Ok(self.0.iter().find(|role| role.role_id == role_id).cloned())
    }
}
