//! Objects that are their own identity, looked up by their names.

use super::status::in_time;
use crate::error::Error;
use crate::service_account::is_subdomain;
use crate::subject::{Namespace, ObjectReference};
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};
use std::fmt;
use std::str::FromStr;

/// Resource, version and group of a kind of object, as kubectl writes them:
/// `ocirepositories.v1.source.toolkit.fluxcd.io`, `configmaps.v1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectKind {
    resource: String,
    version: String,
    group: String,
}

impl ObjectKind {
    /// The plural name.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// Group and version, as an object's `apiVersion` has them.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

impl FromStr for ObjectKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || {
            Error::configuration(format!(
                "kind of object {text:?} must be written RESOURCE.VERSION.GROUP, as in ocirepositories.v1.source.toolkit.fluxcd.io or configmaps.v1"
            ))
        };
        let mut parts = text.splitn(3, '.');
        let (resource, version) = (parts.next(), parts.next());
        let group = parts.next().unwrap_or_default();
        match (resource, version) {
            (Some(resource), Some(version))
                if is_resource(resource)
                    && is_version(version)
                    && (group.is_empty() || is_subdomain(group)) =>
            {
                Ok(Self {
                    resource: resource.to_owned(),
                    version: version.to_owned(),
                    group: group.to_owned(),
                })
            }
            _ => Err(refuse()),
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.group.is_empty() { "" } else { "." };
        let Self {
            resource,
            version,
            group,
        } = self;
        write!(formatter, "{resource}.{version}{dot}{group}")
    }
}

/// A plural name is one label.
fn is_resource(text: &str) -> bool {
    is_subdomain(text) && !text.contains('.') && text.len() <= 63
}

/// `v1`, `v1beta2` (<https://kubernetes.io/docs/reference/using-api/#api-versioning>).
fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else {
        return false;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let stages = ["alpha", "beta"];
    let staged = stages.iter().find_map(|stage| rest.split_once(stage));
    staged.map_or(number(rest), |(major, minor)| {
        number(major) && number(minor)
    })
}

/// Reads what identifies an object: its UID, and how its kind is spelled.
///
/// # Errors
///
/// `Configuration`: the API server knows no such object or no such kind; otherwise what it answers, sorted
/// by who must act.
pub async fn object_reference(
    client: &Client,
    kind: &ObjectKind,
    namespace: &Namespace,
    name: &str,
) -> Result<ObjectReference, Error> {
    let what = format!("{kind} '{}/{name}'", namespace.as_str());
    if !is_subdomain(name) {
        return Err(Error::configuration(format!(
            "the name of an object, {name:?}, must be a DNS-1123 subdomain"
        )));
    }
    let resource = ApiResource {
        group: kind.group.clone(),
        version: kind.version.clone(),
        api_version: kind.api_version(),
        // Not needed to read, and known afterwards.
        kind: String::new(),
        plural: kind.resource.clone(),
    };
    let objects: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), namespace.as_str(), &resource);
    let doing = || format!("cannot read {what}");
    let rights = format!("get of {}", kind.resource);
    let found = in_time(doing, &rights, objects.get_opt(name)).await?;
    let Some(found) = found else {
        let error = Error::configuration(format!("{what} does not exist"));
        return Err(error.remedy(
            "see `kubectl api-resources` for the plural name, version and group of each kind",
        ));
    };
    let incomplete = || Error::unavailable(format!("{what} has no kind or no UID"));
    Ok(ObjectReference {
        api_version: kind.api_version(),
        kind: found.types.ok_or_else(incomplete)?.kind,
        resource: kind.resource.clone(),
        namespace: namespace.as_str().to_owned(),
        name: name.to_owned(),
        uid: found.metadata.uid.ok_or_else(incomplete)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_kubectl_has_them() {
        for (text, expected) in [
            ("configmaps.v1", Some("v1")),
            ("configmaps.v1.", Some("v1")),
            ("deployments.v1.apps", Some("apps/v1")),
            (
                "ocirepositories.v1beta2.source.toolkit.fluxcd.io",
                Some("source.toolkit.fluxcd.io/v1beta2"),
            ),
            ("configmaps", None),
            ("", None),
            (".v1", None),
            ("configmaps.apps.v1", None),
            ("ConfigMaps.v1", None),
            ("configmaps.v", None),
            ("configmaps.v1gamma1", None),
            ("configmaps.v1beta", None),
            ("configmaps.v1./x", None),
            ("configmaps.v1...", None),
            ("../secrets.v1", None),
            ("a/b.v1", None),
        ] {
            let read = text.parse::<ObjectKind>();
            let read = read.map(|kind| kind.api_version()).ok();
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_kind_is_shown_as_it_was_written() {
        for text in ["configmaps.v1", "deployments.v1.apps"] {
            assert_eq!(text.parse::<ObjectKind>().unwrap().to_string(), text);
        }
    }
}
