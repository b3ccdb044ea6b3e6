//! Flags of the commands that get a credential.

use super::Link;
use clap::Args;
use gatepass::config::TimeSpan;
use std::path::PathBuf;

/// Flags of `gatepass token`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Token {
    #[command(flatten)]
    pub(crate) request: Request,
}

/// Flags of `gatepass registry`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Registry {
    #[command(flatten)]
    pub(crate) request: Request,
    /// The repository: [oci://]HOST[:PORT][/PATH]
    pub(crate) repository: String,
}

/// Flags of `gatepass git`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Git {
    #[command(flatten)]
    pub(crate) request: Request,
    /// URL of the remote: https://HOST[:PORT]/PATH
    #[arg(required_unless_present = "credential_helper")]
    pub(crate) url: Option<String>,
    /// Answer git as its credential helper. Written last and without a value, git adds it: get, store or
    /// erase
    #[arg(long, value_name = "OPERATION", conflicts_with = "url")]
    pub(crate) credential_helper: Option<String>,
}

/// Flags of `gatepass kubeconfig`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("provider", |provider| provider.required(false).required_unless_present("config_map")))]
pub(crate) struct Kubeconfig {
    #[command(flatten)]
    pub(crate) request: Request,
    /// The cluster's name in the cloud's API, such as its ARN
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// URL of its API server
    #[arg(long, value_name = "URL")]
    pub(crate) address: Option<String>,
    /// Certificate authorities of its API server, in PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_ca_file: Option<PathBuf>,
    /// ConfigMap that says provider, cluster and account, as `spec.kubeConfig.configMapRef` has it; of
    /// --namespace
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cluster", "address", "cluster_ca_file", "service_account", "object", "audience"])]
    pub(crate) config_map: Option<String>,
    /// Write the token itself into the kubeconfig, which then ends with it
    #[arg(long = "static")]
    pub(crate) fixed: bool,
}

/// For whom, from whom, over which way.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Request {
    /// Name of the provider: aws, generic, or one of the configuration
    #[arg(required = true)]
    pub(crate) provider: Option<String>,
    /// Namespace of the account [default: the kubeconfig's]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// ServiceAccount on whose behalf to ask; without one, this process itself
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    pub(crate) service_account: Option<String>,
    /// Object that is its own identity, its kind written as for kubectl, in the plural:
    /// ocirepositories.v1.source.toolkit.fluxcd.io/team-a/app, configmaps.v1/team-a/settings
    #[arg(
        long,
        value_name = "RESOURCE.VERSION[.GROUP]/[NAMESPACE/]NAME",
        conflicts_with = "service_account"
    )]
    pub(crate) object: Option<String>,
    /// Audience of the ServiceAccount token, instead of the provider's own
    #[arg(long, value_name = "AUDIENCE", value_delimiter = ',')]
    pub(crate) audience: Vec<String>,
    /// Scope of the access token
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) scope: Vec<String>,
    /// Region of the token service [default for aws: $AWS_REGION]
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    /// URL of the token service, instead of its usual one
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// Parameter of the provider; see `gatepass plugin inspect`
    #[arg(short, long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameter: Vec<(String, String)>,
    /// Further link of a chain: the credential so far is exchanged for what these parameters say, as in
    /// role-arn=ARN,external-id=x. region, endpoint and scope are the link's own; a comma in a value is
    /// written \, and a backslash before one \\
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub(crate) link: Vec<Link>,
    /// Begin the chain with the keys in $AWS_ACCESS_KEY_ID, $AWS_SECRET_ACCESS_KEY and
    /// $AWS_SESSION_TOKEN
    #[arg(long, requires = "link")]
    pub(crate) start_with_aws_keys: bool,
    /// Proxy for the provider's requests; one with a login belongs into the environment
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
}

impl Request {
    /// The provider's name, which is parsed or filled in.
    pub(crate) fn provider(&self) -> &str {
        self.provider.as_deref().unwrap_or_default()
    }
}

pub(super) fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' must be written NAME=VALUE")),
    }
}
