//! From flags to a [`CredentialRequest`].

use crate::arguments::Request;
use crate::failure::Failure;
use gatepass::{CredentialRequest, ServiceAccountName};
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
}

impl Named {
    /// Reads `-n` and `--service-account`.
    pub(crate) fn of(request: &Request) -> Result<Self, Failure> {
        let namespace = request.namespace.clone();
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

    /// Checks the names that are known already, before any file is read.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Process => Ok(()),
            Self::Namespace(namespace) => gatepass::Namespace::new(namespace)
                .map(drop)
                .map_err(Failure::from),
            Self::Account { namespace, name } => {
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
            named => named,
        }
    }
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
pub(crate) fn build(request: &Request, named: &Named) -> Result<CredentialRequest, Failure> {
    let mut builder = CredentialRequest::builder(request.provider())
        .audiences(&request.audience)
        .scopes(&request.scope);
    builder = match named {
        Named::Process => builder,
        Named::Namespace(namespace) => builder.namespace(namespace),
        Named::Account { namespace, name } => {
            builder.service_account(namespace.as_deref().unwrap_or("default"), name)
        }
    };
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
    fn every_flag_reaches_the_request() {
        let request = Request {
            audience: vec!["a".into()],
            scope: vec!["s".into()],
            region: Some("r".into()),
            endpoint: Some("https://e.example".into()),
            parameter: vec![("p".into(), "v".into())],
            proxy_url: Some("http://proxy.example:3128".into()),
            token_lifetime: "20m".parse().ok(),
            ..flags(Some("n"), Some("b"))
        };
        let built = build(&request, &Named::of(&request).unwrap()).unwrap();
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
