//! IAM: which roles are bound to whom, where.

use super::name::{AccountEmail, GoogleError, is_project};
use super::principal::{Member, Principal};
use crate::guarded::Guarded;

pub(crate) const GET_ACCESS_TOKEN: &str = "iam.serviceAccounts.getAccessToken";
pub(crate) const IMPLICIT_DELEGATION: &str = "iam.serviceAccounts.implicitDelegation";
pub(crate) const GET_CLUSTER: &str = "container.clusters.get";
pub(crate) const CONNECT: &str = "container.clusters.connect";
pub(crate) const DOWNLOAD: &str = "artifactregistry.repositories.downloadArtifacts";
pub(crate) const UPLOAD: &str = "artifactregistry.repositories.uploadArtifacts";

/// The predefined roles and their permissions, as far as something here asks for them.
const ROLES: [(&str, &[&str]); 9] = [
    ("roles/iam.workloadIdentityUser", &[GET_ACCESS_TOKEN]),
    (
        "roles/iam.serviceAccountTokenCreator",
        &[GET_ACCESS_TOKEN, IMPLICIT_DELEGATION],
    ),
    ("roles/container.clusterViewer", &[GET_CLUSTER, CONNECT]),
    ("roles/container.viewer", &[GET_CLUSTER, CONNECT]),
    ("roles/container.developer", &[GET_CLUSTER, CONNECT]),
    ("roles/container.admin", &[GET_CLUSTER, CONNECT]),
    ("roles/artifactregistry.reader", &[DOWNLOAD]),
    ("roles/artifactregistry.writer", &[DOWNLOAD, UPLOAD]),
    ("roles/artifactregistry.admin", &[DOWNLOAD, UPLOAD]),
];

/// Something that a policy hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    Project(String),
    ServiceAccount(AccountEmail),
    /// `projects/PROJECT/locations/LOCATION/repositories/REPOSITORY`.
    Repository {
        project: String,
        location: String,
        repository: String,
    },
}

impl Resource {
    pub(crate) fn parse(text: &str) -> Result<Self, GoogleError> {
        let expected = "projects/PROJECT, projects/-/serviceAccounts/E-MAIL or projects/PROJECT/locations/LOCATION/repositories/REPOSITORY";
        Self::read(text).ok_or_else(|| GoogleError::new(text, expected))
    }

    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            ["projects", project] if is_project(project) => {
                Some(Self::Project((*project).to_owned()))
            }
            ["projects", project, "serviceAccounts", email] => {
                let email = AccountEmail::parse(email)?;
                let fits = *project == "-" || *project == email.project;
                fits.then_some(Self::ServiceAccount(email))
            }
            [
                "projects",
                project,
                "locations",
                location,
                "repositories",
                repository,
            ] if is_project(project) => Some(Self::Repository {
                project: (*project).to_owned(),
                location: (*location).to_owned(),
                repository: (*repository).to_owned(),
            }),
            _ => None,
        }
    }

    /// A grant on a project holds for everything in it.
    fn lies_in(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let Self::Project(outer) = other else {
            return false;
        };
        match self {
            Self::Project(_) => false,
            Self::ServiceAccount(email) => email.project == *outer,
            Self::Repository { project, .. } => project == outer,
        }
    }
}

#[derive(Debug)]
struct Binding {
    resource: Resource,
    role: String,
    member: Member,
}

#[derive(Debug, Default)]
pub(crate) struct Policies(Guarded<Vec<Binding>>);

impl Policies {
    pub(crate) fn bind(&self, resource: &str, role: &str, member: &str) -> Result<(), GoogleError> {
        let binding = Binding::parse(resource, role, member)?;
        self.0.with(|bindings| bindings.push(binding));
        Ok(())
    }

    pub(crate) fn unbind(
        &self,
        resource: &str,
        role: &str,
        member: &str,
    ) -> Result<(), GoogleError> {
        let binding = Binding::parse(resource, role, member)?;
        self.0.with(|bindings| {
            bindings.retain(|other| {
                other.resource != binding.resource
                    || other.role != binding.role
                    || other.member != binding.member
            });
        });
        Ok(())
    }

    pub(crate) fn permits(
        &self,
        principal: &Principal,
        permission: &str,
        resource: &Resource,
    ) -> bool {
        self.0.with(|bindings| {
            bindings.iter().any(|binding| {
                resource.lies_in(&binding.resource)
                    && permissions(&binding.role).contains(&permission)
                    && binding.member.covers(principal)
            })
        })
    }
}

impl Binding {
    fn parse(resource: &str, role: &str, member: &str) -> Result<Self, GoogleError> {
        if permissions(role).is_empty() {
            return Err(GoogleError::new(role, "a role that the sandbox knows"));
        }
        Ok(Self {
            resource: Resource::parse(resource)?,
            role: role.to_owned(),
            member: Member::parse(member)?,
        })
    }
}

fn permissions(role: &str) -> &'static [&'static str] {
    let found = ROLES.iter().find(|(name, _)| *name == role);
    found.map_or(&[], |(_, permissions)| permissions)
}
