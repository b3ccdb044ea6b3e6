//! Flags of every command: the host, its cluster, and what is printed.

use super::Format;
use clap::Args;
use gatepass::config::TimeSpan;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Flags of every command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Host configuration; without one, all bundled plugins with the grants they wish
    #[arg(long, global = true, value_name = "FILE", env = "GATEPASS_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Kubeconfig of the cluster with the ServiceAccounts [default: $KUBECONFIG, ~/.kube/config, or the pod's own account]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of that kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Switches of features: ObjectLevelWorkloadIdentity=true|false, on unless the configuration says otherwise
    #[arg(long, global = true, value_name = "NAME=BOOL", value_delimiter = ',', value_parser = feature_gate)]
    pub(crate) feature_gates: Vec<(String, bool)>,
    /// Account of requests that give a namespace and no account
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) default_service_account: Option<String>,
    /// Trust domain of objects that are their own identity (SPIFFE)
    #[arg(long, global = true, value_name = "DOMAIN")]
    pub(crate) spiffe_trust_domain: Option<String>,
    /// Issuer of their tokens, an https URL
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) spiffe_issuer: Option<String>,
    /// TLS Secret with the key that signs for them, in the context's namespace
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) spiffe_secret_name: Option<String>,
    /// Most credentials in the cache; 0 switches it off
    #[arg(long, global = true, value_name = "NUMBER")]
    pub(crate) token_cache_max_size: Option<u64>,
    /// Longest time that a credential is served from the cache, such as 30m
    #[arg(long, global = true, value_name = "DURATION")]
    pub(crate) token_cache_max_duration: Option<TimeSpan>,
    /// How to print the result
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// Tell on standard error what happens; twice for what is decided
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Global {
    /// The switches, the last of each name.
    pub(crate) fn feature_gates(&self) -> BTreeMap<String, bool> {
        self.feature_gates.iter().cloned().collect()
    }
}

fn feature_gate(text: &str) -> Result<(String, bool), String> {
    let refuse = || format!("'{text}' must be written NAME=true or NAME=false");
    let (name, value) = text.split_once('=').ok_or_else(refuse)?;
    Ok((name.to_owned(), value.parse().map_err(|_| refuse())?))
}
