//! From a request to the verb it means: path, method, and what authorization must know of it.

use std::borrow::Cow;

use http::Method;

use super::resource::Resource;
use super::status::Refusal;
use crate::call::Call;

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A collection, of one namespace or of all.
    Collection {
        resource: Resource,
        namespace: Option<String>,
    },
    /// One object.
    Object {
        resource: Resource,
        namespace: String,
        name: String,
    },
    /// TokenRequest.
    AccountToken { namespace: String, name: String },
    /// A review, by its plural and API group.
    Review {
        plural: &'static str,
        group: &'static str,
    },
    /// Anything else that is read.
    Path,
}

impl Route {
    pub(crate) fn of(call: &Call) -> Result<Self, Refusal> {
        let segments = call.segments();
        let segments: Vec<&str> = segments.iter().map(Cow::as_ref).collect();
        match segments.as_slice() {
            ["api", "v1", rest @ ..] if !rest.is_empty() => {
                Self::core(rest).ok_or_else(Refusal::no_such_path)
            }
            ["apis", "authentication.k8s.io", "v1", "tokenreviews"] => {
                Ok(Self::review("tokenreviews", "authentication.k8s.io"))
            }
            ["apis", "authentication.k8s.io", "v1", "selfsubjectreviews"] => {
                Ok(Self::review("selfsubjectreviews", "authentication.k8s.io"))
            }
            [
                "apis",
                "authorization.k8s.io",
                "v1",
                "selfsubjectaccessreviews",
            ] => Ok(Self::review(
                "selfsubjectaccessreviews",
                "authorization.k8s.io",
            )),
            _ => Ok(Self::Path),
        }
    }

    fn core(segments: &[&str]) -> Option<Self> {
        match segments {
            ["namespaces", name] => Some(Self::object(Resource::Namespaces, "", name)),
            ["namespaces", namespace, plural] => {
                let resource = namespaced(plural)?;
                let namespace = Some((*namespace).to_owned());
                Some(Self::Collection {
                    resource,
                    namespace,
                })
            }
            ["namespaces", namespace, plural, name] => {
                Some(Self::object(namespaced(plural)?, namespace, name))
            }
            ["namespaces", namespace, "serviceaccounts", name, "token"] => {
                Some(Self::AccountToken {
                    namespace: (*namespace).to_owned(),
                    name: (*name).to_owned(),
                })
            }
            [plural] => {
                let resource = Resource::of_plural(plural)?;
                Some(Self::Collection {
                    resource,
                    namespace: None,
                })
            }
            _ => None,
        }
    }

    fn object(resource: Resource, namespace: &str, name: &str) -> Self {
        Self::Object {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn review(plural: &'static str, group: &'static str) -> Self {
        Self::Review { plural, group }
    }
}

fn namespaced(plural: &str) -> Option<Resource> {
    Resource::of_plural(plural).filter(|resource| resource.is_namespaced())
}

/// Whether a GET on a collection is a watch.
pub(crate) fn is_watch(call: &Call) -> bool {
    matches!(call.parameter("watch").as_deref(), Some("true" | "1"))
}

/// The verb of a request on a collection, in RBAC's words.
pub(crate) fn collection_verb(call: &Call) -> Result<&'static str, Refusal> {
    match call.method {
        Method::GET if is_watch(call) => Ok("watch"),
        Method::GET => Ok("list"),
        Method::POST => Ok("create"),
        _ => Err(Refusal::method_not_allowed()),
    }
}

/// The verb of a request on an object, in RBAC's words.
pub(crate) fn object_verb(call: &Call) -> Result<&'static str, Refusal> {
    match call.method {
        Method::GET => Ok("get"),
        Method::PUT => Ok("update"),
        Method::PATCH => Ok("patch"),
        Method::DELETE => Ok("delete"),
        _ => Err(Refusal::method_not_allowed()),
    }
}
