//! Flags of `gatepass oci`.

use super::Request;
use super::request::parameter;
use clap::{Args, Subcommand, ValueEnum};
use gatepass::config::TimeSpan;
use std::path::PathBuf;

/// What to do with an artifact.
#[derive(Debug, Subcommand)]
pub(crate) enum Oci {
    /// Push a directory or files as an artifact
    Push(Push),
    /// Pull an artifact into a new directory
    Pull(Pull),
    /// List the tags of a repository
    List(List),
    /// Give an artifact further tags, without sending it again
    Tag(Tag),
    /// Compare a directory or files with an artifact; exit code 1 if they differ
    Diff(Diff),
}

/// Flags of `gatepass oci push`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Push {
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) content: Content,
    /// Media type of the config
    #[arg(long, value_name = "TYPE", default_value = crate::oci::media::FLUX_CONFIG)]
    pub(crate) config_media_type: String,
    /// Annotation of the manifest
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) annotation: Vec<(String, String)>,
    /// Where the content comes from: the URL of a Git repository, say
    #[arg(long, value_name = "URL")]
    pub(crate) source: Option<String>,
    /// Which state of the source it is, such as main@sha1:…
    #[arg(long, value_name = "TEXT")]
    pub(crate) revision: Option<String>,
}

/// Flags of `gatepass oci pull`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Pull {
    #[command(flatten)]
    pub(crate) access: Access,
    /// The artifact: [oci://]HOST[:PORT]/PATH:TAG or …@DIGEST
    pub(crate) reference: String,
    /// Where to put it: a directory that is not there yet, or is empty
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// Flags of `gatepass oci list`.
#[derive(Clone, Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) access: Access,
    /// The repository: [oci://]HOST[:PORT]/PATH
    pub(crate) repository: String,
    /// Ask for each tag's digest, source and revision too, a request each
    #[arg(long)]
    pub(crate) details: bool,
}

/// Flags of `gatepass oci tag`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Tag {
    #[command(flatten)]
    pub(crate) access: Access,
    /// The artifact: [oci://]HOST[:PORT]/PATH:TAG or …@DIGEST
    pub(crate) reference: String,
    /// Tag to add
    #[arg(
        long,
        value_name = "TAG",
        value_delimiter = ',',
        required = true,
        num_args = 1
    )]
    pub(crate) tag: Vec<String>,
}

/// Flags of `gatepass oci diff`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) access: Access,
    /// The artifact: [oci://]HOST[:PORT]/PATH:TAG or …@DIGEST
    pub(crate) reference: String,
    /// A directory, or files
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
}

/// What to push, and whereto.
#[derive(Clone, Debug, Args)]
pub(crate) struct Content {
    /// The artifact: [oci://]HOST[:PORT]/PATH:TAG
    pub(crate) reference: String,
    /// A directory, or files; links and .git are left out
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Media type of the layer; other than …tar+gzip, each file is a layer as it is
    #[arg(long, value_name = "TYPE", default_value = crate::oci::media::FLUX_CONTENT)]
    pub(crate) media_type: String,
}

/// Kinds of credentials that need no cloud, under the names that Flux gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Creds {
    /// A token of a Kubernetes ServiceAccount
    #[value(name = "ServiceAccountToken")]
    ServiceAccountToken,
    /// A JWT-SVID: of --object, or of this workload by the Workload API of SPIFFE_ENDPOINT_SOCKET
    #[value(name = "SpiffeJWT")]
    SpiffeJwt,
    /// An X509-SVID from there, as client certificate
    #[value(name = "SpiffeCertificate")]
    SpiffeCertificate,
    /// The OIDC token of a GitHub Actions job
    #[value(name = "GitHubOIDCToken")]
    GitHubOidcToken,
}

/// How to reach the registry, and as whom.
///
/// Without `--provider` and `--creds`, the logins of Docker's own configuration are used.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Registry options")]
pub(crate) struct Access {
    /// Log in with this provider's credential: aws, generic, or one of the configuration [default: the login in ~/.docker/config.json, or none]
    #[arg(long, value_name = "PROVIDER", conflicts_with = "creds")]
    pub(crate) provider: Option<String>,
    /// Log in with a credential of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) creds: Option<Creds>,
    /// Audience of the token [default: the repository, without scheme and tag]
    #[arg(
        long,
        alias = "audience",
        value_name = "AUDIENCE",
        value_delimiter = ','
    )]
    pub(crate) audiences: Vec<String>,
    /// ServiceAccount on whose behalf to ask [default for ServiceAccountToken in a pod: the pod's own]
    #[arg(long, alias = "service-account", value_name = "[NAMESPACE/]NAME")]
    pub(crate) sa_name: Option<String>,
    /// Object that is its own identity, for SpiffeJWT and SpiffeCertificate
    #[arg(
        long,
        value_name = "RESOURCE.VERSION[.GROUP]/[NAMESPACE/]NAME",
        conflicts_with = "sa_name"
    )]
    pub(crate) object: Option<String>,
    /// File with a ServiceAccount token to log in with as it is; it may be rotated meanwhile
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sa_name", "audiences", "namespace"])]
    pub(crate) sa_token: Option<PathBuf>,
    /// Client certificate to show to the registry, in PEM, the leaf first; it may be rotated meanwhile
    #[arg(long, value_name = "FILE", requires = "client_key", conflicts_with_all = ["provider", "creds"])]
    pub(crate) client_certificate: Option<PathBuf>,
    /// Key of the client certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "client_certificate")]
    pub(crate) client_key: Option<PathBuf>,
    /// Namespace of the account [default: the kubeconfig's]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Scope of the access token
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) scope: Vec<String>,
    /// Region of the token service
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// URL of the token service, instead of its usual one
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// Parameter of the provider; see `gatepass plugin inspect`
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameter: Vec<(String, String)>,
    /// Proxy for the provider's requests; those to the registry follow HTTPS_PROXY
    #[arg(
        long,
        value_name = "URL",
        env = "GATEPASS_PROXY_URL",
        hide_env_values = true
    )]
    pub(crate) proxy_url: Option<String>,
    /// Further certificate authorities for the provider's requests, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Lifetime of the ServiceAccount token, 10m to 24h [default: 1h]
    #[arg(long, value_name = "DURATION")]
    pub(crate) token_lifetime: Option<TimeSpan>,
    /// Further certificate authorities for the registry and its token service, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) registry_ca_file: Option<PathBuf>,
    /// Speak http with a registry on this machine's loopback address
    #[arg(long)]
    pub(crate) plain_http: bool,
}

impl Access {
    /// The request for a credential of this provider.
    pub(crate) fn request(&self, provider: &str) -> Request {
        Request {
            provider: Some(provider.to_owned()),
            namespace: self.namespace.clone(),
            service_account: self.sa_name.clone(),
            audience: self.audiences.clone(),
            scope: self.scope.clone(),
            region: self.region.clone(),
            endpoint: self.endpoint.clone(),
            parameter: self.parameter.clone(),
            proxy_url: self.proxy_url.clone(),
            ca_file: self.ca_file.clone(),
            token_lifetime: self.token_lifetime,
            object: self.object.clone(),
            ..Request::default()
        }
    }

    /// The flags that only a credential of a provider has a use for, and are given.
    pub(crate) fn of_providers(&self) -> Vec<&'static str> {
        let given = [
            ("--audiences", !self.audiences.is_empty()),
            ("--sa-name", self.sa_name.is_some()),
            ("--namespace", self.namespace.is_some()),
            ("--scope", !self.scope.is_empty()),
            ("--region", self.region.is_some()),
            ("--endpoint", self.endpoint.is_some()),
            ("--parameter", !self.parameter.is_empty()),
            ("--ca-file", self.ca_file.is_some()),
            ("--token-lifetime", self.token_lifetime.is_some()),
        ];
        let given = given.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag).collect()
    }
}
