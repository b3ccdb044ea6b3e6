//! One provider: where its component is, what it is allowed, what a call of it may use.

use super::time_span::TimeSpan;
use super::{Bundled, is_default};
use crate::egress::send::Network;
use crate::egress::{AllowedHost, EgressLimits};
use crate::error::Error;
use crate::plugin::{
    Digest, Grant, GrantPolicy, Plugin, PluginEngine, PluginLimits, PluginOptions, PluginSource,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// One provider.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginConfig {
    /// The name of a plugin inside the program. It is granted what it wishes if `grant` is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundled: Option<String>,
    /// A component's file, relative to the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The digest that the component must have. Required for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What it is allowed. A file is granted nothing if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantConfig>,
    /// What one call may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: LimitsConfig,
}

/// What a plugin is allowed; see [`Grant`].
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GrantConfig {
    /// Hosts that it may send to: `https://HOST[:PORT]`.
    pub hosts: Vec<String>,
    /// Audiences of ServiceAccount tokens.
    pub audiences: Vec<String>,
    /// Environment variables, in ambient calls.
    pub environment: Vec<String>,
    /// Files, in ambient calls: an absolute path, `$NAME` or `$NAME/PATH`.
    pub files: Vec<String>,
    /// Whether the host's signer signs for it.
    pub signer: bool,
    /// Networks that may be dialled though they are not public: `10.0.0.0/8`.
    pub networks: Vec<String>,
}

/// What one call may use; see [`PluginLimits`] and [`EgressLimits`] for what each is if not set.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[allow(missing_docs, reason = "each field is documented where it is used")]
pub struct LimitsConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<TimeSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<TimeSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<TimeSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_lines: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_request_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_timeout: Option<TimeSpan>,
}

impl PluginConfig {
    /// Loads the plugin.
    ///
    /// # Errors
    ///
    /// As [`HostConfig::builder`].
    pub(super) async fn load(
        &self,
        engine: &PluginEngine,
        directory: &Path,
        bundled: Bundled<'_>,
        network: &Network,
    ) -> Result<Plugin, Error> {
        let source = self.source(directory, bundled)?;
        let options = PluginOptions {
            grant: self.policy()?,
            limits: self.limits.limits()?,
            network: network.clone(),
        };
        let what = self.what();
        Plugin::load(engine, source, options)
            .await
            .map_err(|error| error.during(what))
    }

    fn what(&self) -> String {
        match (&self.bundled, &self.file) {
            (Some(name), _) => format!("bundled plugin '{name}'"),
            (None, Some(file)) => format!("plugin {}", file.display()),
            (None, None) => "plugin".into(),
        }
    }

    pub(super) fn source(
        &self,
        directory: &Path,
        bundled: Bundled<'_>,
    ) -> Result<PluginSource, Error> {
        let pinned: Option<Digest> = self.digest.as_deref().map(str::parse).transpose()?;
        match (&self.bundled, &self.file) {
            (Some(name), None) => {
                let bytes = bundled(name).ok_or_else(|| {
                    Error::configuration(format!("there is no bundled plugin '{name}'"))
                })?;
                PluginSource::from_bytes(bytes, pinned.as_ref())
                    .map_err(|error| error.during(self.what()))
            }
            (None, Some(file)) => {
                let path = directory.join(file);
                let Some(pinned) = pinned else {
                    let found = PluginSource::from_file_to_inspect(&path)?;
                    let error = Error::configuration(format!("{} has no digest", self.what()));
                    return Err(error.remedy(format!(
                        "inspect the file, and if it is the one that you mean, add digest: {}",
                        found.digest()
                    )));
                };
                PluginSource::from_file(&path, &pinned)
            }
            _ => Err(Error::configuration("a plugin is either bundled or a file")),
        }
    }

    pub(super) fn policy(&self) -> Result<GrantPolicy, Error> {
        match &self.grant {
            Some(grant) => Ok(GrantPolicy::Exactly(grant.grant()?)),
            None if self.bundled.is_some() => Ok(GrantPolicy::AsWished),
            None => Ok(GrantPolicy::Exactly(Grant::nothing())),
        }
    }
}

impl GrantConfig {
    fn grant(&self) -> Result<Grant, Error> {
        let hosts: Result<Vec<AllowedHost>, Error> =
            self.hosts.iter().map(|host| host.parse()).collect();
        let network = |text: &String| {
            text.parse().map_err(|_| {
                Error::configuration(format!(
                    "network '{text}' must be written as 10.0.0.0/8 or fd00::/8"
                ))
            })
        };
        Ok(Grant {
            hosts: hosts?,
            audiences: self.audiences.clone(),
            environment: self.environment.clone(),
            files: self
                .files
                .iter()
                .map(|file| file.parse())
                .collect::<Result<_, _>>()?,
            signer: self.signer,
            networks: self
                .networks
                .iter()
                .map(network)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl LimitsConfig {
    pub(super) fn limits(&self) -> Result<PluginLimits, Error> {
        let default = PluginLimits::default();
        let egress = default.egress;
        let span = |own: Option<TimeSpan>, default| own.map_or(default, |span| span.0);
        let concurrency = self.concurrency.unwrap_or(default.concurrency);
        let limits = PluginLimits {
            cpu: span(self.cpu, default.cpu),
            wall: span(self.wall, default.wall),
            memory: self.memory_bytes.unwrap_or(default.memory),
            concurrency,
            queue: span(self.queue, default.queue),
            log_lines: self.log_lines.unwrap_or(default.log_lines),
            egress: EgressLimits {
                max_requests: self.max_requests.unwrap_or(egress.max_requests),
                max_request_bytes: self.max_request_bytes.unwrap_or(egress.max_request_bytes),
                max_response_bytes: self.max_response_bytes.unwrap_or(egress.max_response_bytes),
                request_timeout: span(self.request_timeout, egress.request_timeout),
            },
        };
        limits.check()?;
        Ok(limits)
    }
}
