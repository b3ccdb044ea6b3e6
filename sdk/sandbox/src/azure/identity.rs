//! Directories as far as credentials need them: tenants, applications and what they prove
//! themselves with.

use std::collections::BTreeMap;
use std::fmt;

use uuid::Uuid;

use super::certificate::{Certificate, ClientCertificate};
use super::cloud::AzureCloud;
use crate::builder::StartError;
use crate::guarded::Guarded;
use crate::random;

/// An application holds at most this many federated credentials.
const MAXIMUM_FEDERATED: usize = 20;
/// Issuer, subject and audience have at most this many characters.
const LONGEST_FIELD: usize = 600;

/// A value of a test's own Azure that Azure would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not {expected}")]
pub struct AzureError {
    value: String,
    expected: &'static str,
}

impl AzureError {
    pub(crate) fn new(value: &str, expected: &'static str) -> Self {
        Self {
            value: value.to_owned(),
            expected,
        }
    }
}

/// Whose tokens may stand for an application. All three are compared exactly, case and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FederatedCredential {
    /// The OIDC issuer, as in `iss`: an https URL.
    pub issuer: String,
    /// The subject, as in `sub`.
    pub subject: String,
    /// The audience, one of `aud`.
    pub audience: String,
}

/// Who holds a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) cloud: AzureCloud,
    pub(crate) tenant: Uuid,
    pub(crate) client_id: Uuid,
    pub(crate) object_id: Uuid,
}

/// An application or managed identity with what it proves itself with.
#[derive(Clone)]
pub(crate) struct Application {
    pub(crate) principal: Principal,
    pub(crate) federated: Vec<FederatedCredential>,
    pub(crate) certificates: Vec<Certificate>,
    secrets: Vec<String>,
    /// So many more calls do not see the federated credentials.
    unseen: u32,
}

impl Application {
    pub(crate) fn has_secret(&self, secret: &str) -> bool {
        self.secrets.iter().any(|known| known == secret)
    }
}

impl fmt::Debug for Application {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Application");
        debug
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct Tenant {
    cloud: AzureCloud,
    domain: String,
}

/// The directories of every cloud.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    tenants: Guarded<BTreeMap<Uuid, Tenant>>,
    applications: Guarded<BTreeMap<Uuid, Application>>,
}

impl Directory {
    pub(crate) fn add_tenant(
        &self,
        cloud: AzureCloud,
        id: &str,
        domain: &str,
    ) -> Result<(), AzureError> {
        let id = guid(id)?;
        let tenant = Tenant {
            cloud,
            domain: domain.to_ascii_lowercase(),
        };
        self.tenants.with(|tenants| tenants.insert(id, tenant));
        Ok(())
    }

    /// A tenant of a cloud by its ID or domain, as a token endpoint's path has it.
    pub(crate) fn tenant(&self, cloud: AzureCloud, name: &str) -> Option<Uuid> {
        let id = guid(name).ok();
        let domain = name.to_ascii_lowercase();
        self.tenants.with(|tenants| {
            let mut own = tenants.iter().filter(|(_, tenant)| tenant.cloud == cloud);
            let found = own.find(|(other, tenant)| Some(**other) == id || tenant.domain == domain);
            found.map(|(id, _)| *id)
        })
    }

    /// The cloud of a tenant that was created.
    pub(crate) fn cloud(&self, tenant: &str) -> Result<(AzureCloud, Uuid), AzureError> {
        let id = guid(tenant)?;
        let cloud = self
            .tenants
            .with(|tenants| tenants.get(&id).map(|tenant| tenant.cloud));
        let cloud = cloud.ok_or_else(|| AzureError::new(tenant, "a tenant that was created"))?;
        Ok((cloud, id))
    }

    pub(crate) fn add_application(
        &self,
        tenant: &str,
        client_id: &str,
    ) -> Result<Principal, AzureError> {
        let (cloud, tenant) = self.cloud(tenant)?;
        let principal = Principal {
            cloud,
            tenant,
            client_id: guid(client_id)?,
            object_id: Uuid::new_v4(),
        };
        let application = Application {
            principal,
            federated: Vec::new(),
            certificates: Vec::new(),
            secrets: Vec::new(),
            unseen: 0,
        };
        self.applications
            .with(|applications| applications.insert(principal.client_id, application));
        Ok(principal)
    }

    pub(crate) fn application(&self, client_id: Uuid) -> Option<Application> {
        self.applications
            .with(|applications| applications.get(&client_id).cloned())
    }

    /// The principal of an application that was created.
    pub(crate) fn principal(&self, client_id: &str) -> Result<Principal, AzureError> {
        self.change(client_id, |application| Ok(application.principal))
    }

    pub(crate) fn add_federated(
        &self,
        client_id: &str,
        credential: FederatedCredential,
    ) -> Result<(), AzureError> {
        check_field(&credential.subject, "a subject of 1 to 600 characters")?;
        check_field(&credential.audience, "an audience of 1 to 600 characters")?;
        let expected = "an https URL of at most 600 characters";
        check_field(&credential.issuer, expected)?;
        if !credential.issuer.starts_with("https://") {
            return Err(AzureError::new(&credential.issuer, expected));
        }
        self.change(client_id, |application| {
            application.check_room(client_id, &credential)?;
            application.federated.push(credential);
            Ok(())
        })
    }

    pub(crate) fn add_secret(&self, client_id: &str) -> Result<String, AzureError> {
        // Real secrets are 40 characters with a `~` near the start.
        let secret = format!("{}8Q~{}", random::base64url(3), random::base64url(34));
        self.change(client_id, |application| {
            application.secrets.push(secret.clone());
            Ok(secret)
        })
    }

    pub(crate) fn add_certificate(&self, client_id: &str) -> Result<ClientCertificate, StartError> {
        let (handed_out, kept) = ClientCertificate::generate(client_id)?;
        self.change(client_id, |application| {
            application.certificates.push(kept);
            Ok(())
        })?;
        Ok(handed_out)
    }

    pub(crate) fn hide(&self, client_id: &str, calls: u32) -> Result<(), AzureError> {
        self.change(client_id, |application| {
            application.unseen = calls;
            Ok(())
        })
    }

    /// Whether the federated credentials are still on their way; counts the call.
    pub(crate) fn is_hidden(&self, client_id: Uuid) -> bool {
        self.applications.with(|applications| {
            let Some(application) = applications.get_mut(&client_id) else {
                return false;
            };
            let hidden = application.unseen > 0;
            application.unseen = application.unseen.saturating_sub(1);
            hidden
        })
    }

    fn change<R>(
        &self,
        client_id: &str,
        act: impl FnOnce(&mut Application) -> Result<R, AzureError>,
    ) -> Result<R, AzureError> {
        let id = guid(client_id)?;
        self.applications.with(|applications| {
            let application = applications.get_mut(&id);
            let application = application
                .ok_or_else(|| AzureError::new(client_id, "an application that was created"))?;
            act(application)
        })
    }
}

impl Application {
    fn check_room(
        &self,
        client_id: &str,
        credential: &FederatedCredential,
    ) -> Result<(), AzureError> {
        if self.federated.len() >= MAXIMUM_FEDERATED {
            let expected = "an application with fewer than 20 federated credentials";
            return Err(AzureError::new(client_id, expected));
        }
        let is_taken = self
            .federated
            .iter()
            .any(|other| other.issuer == credential.issuer && other.subject == credential.subject);
        if is_taken {
            let expected = "a subject that is new for its issuer in this application";
            return Err(AzureError::new(&credential.subject, expected));
        }
        Ok(())
    }
}

/// A GUID in its one form with four hyphens; other spellings of a UUID are none of Azure's.
pub(crate) fn guid(text: &str) -> Result<Uuid, AzureError> {
    let expected = "a GUID such as 00000000-0000-0000-0000-000000000001";
    let parsed = Uuid::try_parse(text)
        .ok()
        .filter(|guid| guid.to_string() == text.to_ascii_lowercase());
    parsed.ok_or_else(|| AzureError::new(text, expected))
}

fn check_field(value: &str, expected: &'static str) -> Result<(), AzureError> {
    if (1..=LONGEST_FIELD).contains(&value.chars().count()) {
        return Ok(());
    }
    Err(AzureError::new(value, expected))
}
