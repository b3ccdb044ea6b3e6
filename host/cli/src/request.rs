//! From flags to a [`CredentialRequest`].

use crate::arguments::{Link, Request};
use crate::failure::Failure;
use gatepass::kubernetes::{ObjectKind, object_reference};
use gatepass::{
    AwsKeys, CredentialRequest, Namespace, ObjectReference, ServiceAccountName, StartingKeys,
    SubjectReference,
};
use kube::Client;
use std::path::Path;

/// The one provider whose tools name a region in the environment.
const AWS: &str = "aws";

/// Whom the flags name, before a kubeconfig says in which namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Nobody: this process.
    Process,
    /// A namespace alone.
    Namespace(String),
    /// An account, in this namespace or the kubeconfig's.
    Account {
        namespace: Option<String>,
        name: String,
    },
    /// An object, in this namespace or the kubeconfig's.
    Object {
        kind: ObjectKind,
        namespace: Option<String>,
        name: String,
    },
}

impl Named {
    /// Reads `-n`, `--service-account` and `--object`.
    pub(crate) fn of(request: &Request) -> Result<Self, Failure> {
        let namespace = request.namespace.clone();
        if let Some(object) = &request.object {
            return Self::object(object, namespace);
        }
        let Some(account) = &request.service_account else {
            return Ok(namespace.map_or(Self::Process, Self::Namespace));
        };
        let Some((own, name)) = account.split_once('/') else {
            return Ok(Self::Account {
                namespace,
                name: account.clone(),
            });
        };
        match namespace {
            Some(other) if other != own => Err(Failure::usage(format!(
                "--service-account {account} and --namespace {other} name two namespaces"
            ))),
            _ => Ok(Self::Account {
                namespace: Some(own.to_owned()),
                name: name.to_owned(),
            }),
        }
    }

    fn object(text: &str, namespace: Option<String>) -> Result<Self, Failure> {
        let malformed = || {
            Failure::usage(format!(
                "--object {text} must be written RESOURCE.VERSION[.GROUP]/[NAMESPACE/]NAME"
            ))
        };
        let (kind, place) = text.split_once('/').ok_or_else(malformed)?;
        let (own, name) = match place.split_once('/') {
            Some((own, name)) => (Some(own.to_owned()), name),
            None => (None, place),
        };
        if name.is_empty() || name.contains('/') {
            return Err(malformed());
        }
        match (&own, &namespace) {
            (Some(own), Some(other)) if own != other => Err(Failure::usage(format!(
                "--object {text} and --namespace {other} name two namespaces"
            ))),
            _ => Ok(Self::Object {
                kind: kind.parse()?,
                namespace: own.or(namespace),
                name: name.to_owned(),
            }),
        }
    }

    /// Checks the names that are known already, before any file is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Process => Ok(()),
            Self::Namespace(namespace) => {
                Namespace::new(namespace).map(drop).map_err(Failure::from)
            }
            Self::Account { namespace, name }
            | Self::Object {
                namespace, name, ..
            } => {
                // An object's name has the syntax of an account's.
                let namespace = namespace.as_deref().unwrap_or("default");
                ServiceAccountName::new(namespace, name)
                    .map(drop)
                    .map_err(Failure::from)
            }
        }
    }

    /// Fills in the kubeconfig's namespace.
    pub(crate) fn within(self, default: &str) -> Self {
        match self {
            Self::Account {
                namespace: None,
                name,
            } => Self::Account {
                namespace: Some(default.to_owned()),
                name,
            },
            Self::Object {
                kind,
                namespace: None,
                name,
            } => Self::Object {
                kind,
                namespace: Some(default.to_owned()),
                name,
            },
            named => named,
        }
    }

    /// On whose behalf to ask. An object is looked up at the API server; without one the feature is off,
    /// and the host refuses it unread.
    pub(crate) async fn subject(
        &self,
        cluster: Option<&Client>,
    ) -> Result<SubjectReference, Failure> {
        Ok(match self {
            Self::Process => SubjectReference::Ambient,
            Self::Namespace(namespace) => SubjectReference::Namespace(Namespace::new(namespace)?),
            Self::Account { namespace, name } => {
                let namespace = namespace.as_deref().unwrap_or("default");
                SubjectReference::ServiceAccount(ServiceAccountName::new(namespace, name)?)
            }
            Self::Object {
                kind,
                namespace,
                name,
            } => {
                let namespace = Namespace::new(namespace.as_deref().unwrap_or("default"))?;
                SubjectReference::Object(match cluster {
                    Some(client) => object_reference(client, kind, &namespace, name).await?,
                    None => unread(kind, &namespace, name),
                })
            }
        })
    }
}

fn unread(kind: &ObjectKind, namespace: &Namespace, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: kind.api_version(),
        kind: "Unread".into(),
        resource: kind.resource().to_owned(),
        namespace: namespace.as_str().to_owned(),
        name: name.to_owned(),
        uid: "unread".into(),
    }
}

/// Keys that the environment holds, for the start of a chain. They have no flag: other users of a machine
/// see a command line.
pub(crate) fn starting_keys(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<StartingKeys, Failure> {
    let read = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        match value {
            Some(value) if !value.bytes().all(|byte| byte.is_ascii_graphic()) => Err(
                Failure::usage(format!("${name} holds characters that no key has")),
            ),
            value => Ok(value),
        }
    };
    let required = |name: &str| {
        let missing = || Failure::usage(format!("--start-with-aws-keys needs ${name}"));
        read(name)?.ok_or_else(missing)
    };
    Ok(StartingKeys::new(AwsKeys {
        access_key_id: required("AWS_ACCESS_KEY_ID")?,
        secret_access_key: required("AWS_SECRET_ACCESS_KEY")?.into(),
        session_token: read("AWS_SESSION_TOKEN")?.map(Into::into),
    }))
}

/// Whether the environment's region is a fall-back: a registry's host and an ARN say their own.
pub(crate) fn region(
    request: &Request,
    says_its_own: bool,
    environment: Option<String>,
) -> Option<String> {
    let fallback = || {
        environment
            .filter(|region| request.provider() == AWS && !says_its_own && !region.is_empty())
    };
    request.region.clone().or_else(fallback)
}

/// Builds the request.
pub(crate) fn build(
    request: &Request,
    subject: SubjectReference,
) -> Result<CredentialRequest, Failure> {
    let mut builder = CredentialRequest::builder(request.provider())
        .audiences(&request.audience)
        .scopes(&request.scope)
        .subject(subject);
    if request.start_with_aws_keys {
        builder = builder.start_with(starting_keys(|name| std::env::var(name).ok())?);
    }
    for Link(link) in &request.link {
        builder = builder.link(link.clone());
    }
    if let Some(region) = &request.region {
        builder = builder.region(region);
    }
    if let Some(endpoint) = &request.endpoint {
        builder = builder.endpoint(endpoint);
    }
    if let Some(proxy) = &request.proxy_url {
        builder = builder.proxy(proxy);
    }
    if let Some(path) = &request.ca_file {
        builder = builder.ca(read_ca("--ca-file", path)?);
    }
    if let Some(lifetime) = request.token_lifetime {
        builder = builder.token_lifetime(lifetime.0);
    }
    for (index, (name, value)) in request.parameter.iter().enumerate() {
        if request
            .parameter
            .iter()
            .take(index)
            .any(|(earlier, _)| earlier == name)
        {
            return Err(Failure::usage(format!("parameter '{name}' is given twice")));
        }
        builder = builder.parameter(name, value);
    }
    builder.build().map_err(Failure::from)
}

/// Reads certificate authorities.
pub(crate) fn read_ca(flag: &str, path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::unreadable(flag, path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(namespace: Option<&str>, account: Option<&str>) -> Request {
        Request {
            provider: Some("aws".into()),
            namespace: namespace.map(Into::into),
            service_account: account.map(Into::into),
            ..Request::default()
        }
    }

    fn account(namespace: Option<&str>, name: &str) -> Named {
        Named::Account {
            namespace: namespace.map(Into::into),
            name: name.into(),
        }
    }

    #[test]
    fn an_account_is_written_with_or_without_its_namespace() {
        let cases = [
            (flags(None, None), Named::Process),
            (flags(Some("a"), None), Named::Namespace("a".into())),
            (flags(None, Some("b")), account(None, "b")),
            (flags(Some("a"), Some("b")), account(Some("a"), "b")),
            (flags(None, Some("a/b")), account(Some("a"), "b")),
            (flags(Some("a"), Some("a/b")), account(Some("a"), "b")),
        ];
        for (request, expected) in cases {
            assert_eq!(Named::of(&request).unwrap(), expected, "{request:?}");
        }
        assert!(Named::of(&flags(Some("x"), Some("a/b"))).is_err());
    }

    #[test]
    fn the_kubeconfigs_namespace_fills_a_gap_alone() {
        assert_eq!(account(None, "b").within("d"), account(Some("d"), "b"));
        assert_eq!(account(Some("a"), "b").within("d"), account(Some("a"), "b"));
        assert_eq!(Named::Process.within("d"), Named::Process);
    }

    #[test]
    fn bad_names_are_refused_before_anything_is_read() {
        for named in [
            Named::Namespace("A".into()),
            account(Some("A"), "b"),
            account(None, "B"),
        ] {
            assert!(named.check().is_err(), "{named:?}");
        }
    }

    #[test]
    fn the_environments_region_is_for_aws_where_nothing_else_says_one() {
        let environment = || Some("eu-central-1".to_owned());
        let mut request = flags(None, None);
        assert_eq!(region(&request, false, environment()), environment());
        assert_eq!(region(&request, true, environment()), None);
        assert_eq!(region(&request, false, Some(String::new())), None);
        request.region = Some("us-east-1".into());
        assert_eq!(
            region(&request, true, environment()).as_deref(),
            Some("us-east-1")
        );
        let generic = Request {
            provider: Some("generic".into()),
            ..Request::default()
        };
        assert_eq!(region(&generic, false, environment()), None);
    }

    #[test]
    fn an_object_is_written_as_for_kubectl_with_or_without_its_namespace() {
        let flags = |namespace: Option<&str>, object: &str| Request {
            object: Some(object.into()),
            ..flags(namespace, None)
        };
        let named = |namespace: Option<&str>, object: &str| {
            let named = Named::of(&flags(namespace, object))
                .and_then(|named| named.check().map(|()| named));
            named.ok().map(|named| match named {
                Named::Object {
                    kind,
                    namespace,
                    name,
                } => (kind.to_string(), namespace, name),
                other => panic!("{other:?}"),
            })
        };
        let object = |kind: &str, namespace: Option<&str>, name: &str| {
            Some((kind.to_owned(), namespace.map(Into::into), name.to_owned()))
        };
        for (namespace, text, expected) in [
            (None, "pods.v1/a/b", object("pods.v1", Some("a"), "b")),
            (None, "pods.v1/b", object("pods.v1", None, "b")),
            (Some("a"), "pods.v1/b", object("pods.v1", Some("a"), "b")),
            (
                Some("a"),
                "x.v1.g.io/a/b",
                object("x.v1.g.io", Some("a"), "b"),
            ),
            (Some("c"), "pods.v1/a/b", None),
            (None, "pods.v1", None),
            (None, "pods/a/b", None),
            (None, "pods.v1/", None),
            (None, "pods.v1/a/b/c", None),
            (None, "pods.v1//b", None),
            (None, "pods.v1/a/B", None),
        ] {
            assert_eq!(named(namespace, text), expected, "{namespace:?} {text}");
        }
    }

    #[test]
    fn keys_come_from_the_environment_whole_or_not_at_all() {
        let keys = |id: &'static str, secret: &'static str, token: &'static str| {
            starting_keys(move |name| match name {
                "AWS_ACCESS_KEY_ID" => Some(id.to_owned()),
                "AWS_SECRET_ACCESS_KEY" => Some(secret.to_owned()),
                "AWS_SESSION_TOKEN" => Some(token.to_owned()),
                _ => None,
            })
        };
        assert_ne!(
            keys("AKIA", "s", "t").unwrap(),
            keys("AKIA", "s", "").unwrap()
        );
        for (id, secret, token, named) in [
            ("", "canary", "", "$AWS_ACCESS_KEY_ID"),
            ("AKIA", "", "", "$AWS_SECRET_ACCESS_KEY"),
            ("AKIA", "canary\n", "", "$AWS_SECRET_ACCESS_KEY"),
            ("AKIA", "s", "canary x", "$AWS_SESSION_TOKEN"),
        ] {
            let failure = keys(id, secret, token).unwrap_err();
            assert!(failure.to_string().contains(named), "{failure}");
            assert!(!failure.report().contains("canary"), "{failure}");
        }
    }

    #[tokio::test]
    async fn every_flag_reaches_the_request() {
        let request = Request {
            audience: vec!["a".into()],
            scope: vec!["s".into()],
            region: Some("r".into()),
            endpoint: Some("https://e.example".into()),
            parameter: vec![("p".into(), "v".into())],
            proxy_url: Some("http://proxy.example:3128".into()),
            token_lifetime: "20m".parse().ok(),
            link: vec!["role-arn=x".parse().unwrap(), "region=y".parse().unwrap()],
            ..flags(Some("n"), Some("b"))
        };
        let subject = Named::of(&request).unwrap().subject(None).await.unwrap();
        let built = build(&request, subject).unwrap();
        assert_eq!(built.links().len(), 2);
        let access = built.access();
        assert_eq!(
            (access.audiences.as_slice(), access.scopes.as_slice()),
            (&["a".into()][..], &["s".into()][..])
        );
        assert_eq!(
            (access.region.as_deref(), access.endpoint.as_deref()),
            (Some("r"), Some("https://e.example"))
        );
        assert_eq!(access.parameters.get("p").map(String::as_str), Some("v"));
        assert_eq!(built.token_lifetime().as_secs(), 1200);
        assert!(built.transport().proxy.is_some());
    }
}
