//! The authenticator of an AKS cluster: takes access tokens of Entra that are meant for AKS.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use uuid::Uuid;

use super::access_token::{AccessTokenError, Keys};
use super::cloud::{AKS_SERVER, AzureCloud};
use super::identity::Directory;
use crate::clock::SandboxClock;
use crate::guarded::Guarded;
use crate::kubernetes::{Authenticator, User};

/// Which application becomes which Kubernetes user, and whether any does.
#[derive(Debug)]
pub(crate) struct Mappings {
    users: Guarded<BTreeMap<String, User>>,
    on: Guarded<bool>,
}

impl Default for Mappings {
    fn default() -> Self {
        Self {
            users: Guarded::default(),
            on: Guarded::new(true),
        }
    }
}

impl Mappings {
    /// A later mapping of the same application replaces the earlier one.
    pub(crate) fn add(&self, client_id: &str, user: &str, groups: &[&str]) {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let user = User::authenticated(user, &groups);
        self.users
            .with(|users| users.insert(client_id.to_ascii_lowercase(), user));
    }

    pub(crate) fn switch(&self, on: bool) {
        self.on.with(|current| *current = on);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on.with(|on| *on)
    }

    fn user(&self, client_id: Uuid) -> Option<User> {
        let client_id = client_id.to_string();
        self.users.with(|users| users.get(&client_id).cloned())
    }
}

/// Why a token is refused; the API server itself says only `Unauthorized`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Refused {
    #[error("the cluster is not integrated with Entra")]
    Off,
    #[error(transparent)]
    Token(#[from] AccessTokenError),
    #[error("the token is for {0:?}")]
    Audience(String),
    #[error("the token is of another tenant")]
    Tenant,
    #[error("no mapping for the application")]
    Unmapped,
}

pub(crate) struct AksAuthenticator {
    pub(crate) cloud: AzureCloud,
    pub(crate) tenant: Uuid,
    pub(crate) directory: Arc<Directory>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) mappings: Arc<Mappings>,
    pub(crate) clock: Arc<SandboxClock>,
}

impl Authenticator for AksAuthenticator {
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>> {
        let user = self.user(token);
        let user = user
            .inspect_err(|error| tracing::debug!(%error, "token refused"))
            .ok();
        futures::future::ready(user).boxed()
    }
}

impl AksAuthenticator {
    fn user(&self, token: &str) -> Result<User, Refused> {
        if !self.mappings.is_on() {
            return Err(Refused::Off);
        }
        let now = self.clock.seconds();
        let proven = self.keys.prove(&self.directory, self.cloud, token, now)?;
        if proven.audience != AKS_SERVER {
            return Err(Refused::Audience(proven.audience));
        }
        if proven.principal.tenant != self.tenant {
            return Err(Refused::Tenant);
        }
        let user = self.mappings.user(proven.principal.client_id);
        user.ok_or(Refused::Unmapped)
    }
}
