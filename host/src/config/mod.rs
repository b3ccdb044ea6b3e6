//! The host's configuration file.
//!
//! ```yaml
//! apiVersion: gatepass/v1alpha1
//! kind: HostConfiguration
//! featureGates:
//!   ObjectLevelWorkloadIdentity: true
//! cache:
//!   maxSize: 1000
//!   maxDuration: 30m
//! plugins:
//!   - bundled: aws
//!   - file: acme.wasm
//!     digest: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
//!     grant:
//!       hosts: [https://sts.acme.example]
//!       audiences: [acme]
//! ```
//!
//! A field that it does not know is an error: a misspelt restriction must not be ignored.

mod plugin;
mod spiffe;
mod time_span;

pub use plugin::{GrantConfig, LimitsConfig, PluginConfig};
pub use spiffe::SpiffeConfig;
pub use time_span::TimeSpan;

use crate::builder::CredentialHostBuilder;
use crate::cache::CacheLimits;
use crate::egress::ConnectTo;
use crate::egress::send::{self, Network};
use crate::error::Error;
use crate::host::CredentialHost;
use crate::plugin::PluginEngine;
use crate::retry::RetryPolicy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The only version of the file.
pub const API_VERSION: &str = "gatepass/v1alpha1";

/// The kind of the file.
pub const KIND: &str = "HostConfiguration";

/// The only feature gate.
const OBJECT_LEVEL: &str = "ObjectLevelWorkloadIdentity";

/// The configuration of a host, as it is written.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostConfig {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// `ObjectLevelWorkloadIdentity`: true or false. Off if not set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<String, bool>,
    /// The account of objects that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_service_account: Option<String>,
    /// Bounds of the cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache: CacheConfig,
    /// How often and how long the host tries again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retry: RetryConfig,
    /// How the host reaches the world.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: NetworkConfig,
    /// In whose name the host signs for objects; nothing is signed if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spiffe: Option<SpiffeConfig>,
    /// The providers.
    #[serde(default)]
    pub plugins: Vec<PluginConfig>,
}

/// Bounds of the cache; see [`CacheLimits`].
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CacheConfig {
    /// The most credentials; 0 switches caching off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
    /// The longest that one is served: `1h`, `90s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_duration: Option<TimeSpan>,
}

/// Retries; see [`RetryPolicy`].
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryConfig {
    /// Tries in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The longest wait between two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<TimeSpan>,
    /// The longest that a caller waits for an answer, over all steps and tries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<TimeSpan>,
}

/// How the host reaches the world; see [`Network`].
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkConfig {
    /// Further certificate authorities, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// Whether the system's authorities are trusted. True if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_authorities: Option<bool>,
    /// From `HOST:PORT`, or `*:PORT`, to `ADDRESS:PORT`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(default)]
    pub connect_to: BTreeMap<String, String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The plugins inside a program, by name.
pub type Bundled<'a> = &'a (dyn Fn(&str) -> Option<Vec<u8>> + Sync);

impl HostConfig {
    /// A configuration with nothing but these plugins of the program.
    #[must_use]
    pub fn bundled(names: &[&str]) -> Self {
        let plugin = |name: &&str| PluginConfig {
            bundled: Some((*name).to_owned()),
            ..PluginConfig::default()
        };
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            feature_gates: BTreeMap::new(),
            default_service_account: None,
            cache: CacheConfig::default(),
            retry: RetryConfig::default(),
            network: NetworkConfig::default(),
            spiffe: None,
            plugins: names.iter().map(plugin).collect(),
        }
    }

    /// Reads YAML.
    ///
    /// # Errors
    ///
    /// `Configuration`, naming line and field.
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        let config: Self = serde_saphyr::from_str(text).map_err(|error| {
            // The further lines quote the file, which is long, and not needed beside line and column.
            let error = error.to_string();
            let first = error.lines().next().unwrap_or_default();
            Error::configuration(format!("cannot read the host configuration: {first}"))
        })?;
        if config.api_version != API_VERSION || config.kind != KIND {
            return Err(Error::configuration(format!(
                "the host configuration is {} {}, this host reads {API_VERSION} {KIND}",
                config.api_version, config.kind
            )));
        }
        Ok(config)
    }

    /// Writes YAML that [`from_yaml`](Self::from_yaml) reads.
    ///
    /// # Errors
    ///
    /// `Configuration`: a value cannot be written in YAML.
    pub fn to_yaml(&self) -> Result<String, Error> {
        serde_saphyr::to_string(self).map_err(|error| {
            Error::configuration(format!("cannot write the host configuration: {error}"))
        })
    }

    /// Loads the plugins and begins a host with them. `directory` is where relative file names begin,
    /// and `only` loads a single plugin of this name where one is bundled under it, so that a command
    /// line compiles no more than it needs.
    ///
    /// # Errors
    ///
    /// `Configuration` for what is written wrongly, `Plugin` for what does not load.
    pub async fn builder(
        &self,
        engine: &PluginEngine,
        directory: &Path,
        bundled: Bundled<'_>,
        only: Option<&str>,
    ) -> Result<CredentialHostBuilder, Error> {
        let network = self.network()?;
        let mut builder = CredentialHost::builder()
            .cache(self.cache.limits())
            .retry(self.retry.policy())
            .object_level_workload_identity(self.object_level()?);
        if let Some(default) = &self.default_service_account {
            builder = builder.default_service_account(default);
        }
        for plugin in &self.plugins {
            if let (Some(only), Some(name)) = (only, &plugin.bundled)
                && only != name
            {
                continue;
            }
            builder = builder.provider(plugin.load(engine, directory, bundled, &network).await?);
        }
        Ok(builder)
    }

    fn object_level(&self) -> Result<bool, Error> {
        if let Some(unknown) = self.feature_gates.keys().find(|gate| *gate != OBJECT_LEVEL) {
            return Err(Error::configuration(format!(
                "there is no feature gate '{unknown}'; known is {OBJECT_LEVEL}"
            )));
        }
        Ok(self
            .feature_gates
            .get(OBJECT_LEVEL)
            .copied()
            .unwrap_or(false))
    }

    fn network(&self) -> Result<Network, Error> {
        let rules = self.network.connect_to.iter();
        let network = Network {
            connect_to: ConnectTo::new(rules.map(|(from, to)| (from.as_str(), to.as_str())))?,
            ca: self.network.ca.as_deref().map(str::parse).transpose()?,
            system_authorities: self.network.system_authorities.unwrap_or(true),
        };
        send::check(&network)?;
        Ok(network)
    }
}

impl CacheConfig {
    fn limits(&self) -> CacheLimits {
        let default = CacheLimits::default();
        CacheLimits {
            max_entries: self.max_size.unwrap_or(default.max_entries),
            max_duration: self
                .max_duration
                .map_or(default.max_duration, |span| span.0),
        }
    }
}

impl RetryConfig {
    fn policy(&self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(default.max_attempts),
            max_delay: self.max_delay.map_or(default.max_delay, |span| span.0),
            deadline: self.deadline.map_or(default.deadline, |span| span.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::plugin::{Grant, GrantPolicy};
    use std::time::Duration;

    const HEAD: &str = "apiVersion: gatepass/v1alpha1\nkind: HostConfiguration\n";

    fn refused(rest: &str) -> String {
        let error = HostConfig::from_yaml(&format!("{HEAD}{rest}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        error.to_string()
    }

    #[test]
    fn unknown_fields_are_refused_by_name() {
        for (rest, field) in [
            ("chache: {}", "chache"),
            ("cache: {maxsize: 1}", "maxsize"),
            ("plugins: [{bundled: aws, grants: {}}]", "grants"),
            ("plugins: [{bundled: aws, grant: {host: []}}]", "host"),
            ("plugins: [{bundled: aws, limits: {memory: 1}}]", "memory"),
            ("network: {connect-to: {}}", "connect-to"),
        ] {
            let message = refused(rest);
            assert!(message.contains(field), "{message}");
        }
    }

    #[test]
    fn an_error_is_one_line_and_quotes_no_other_line_of_the_file() {
        for rest in ["network: {ca: canary}\nbogus: 1", "plugins: [}"] {
            let message = refused(rest);
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(message.contains("line"), "{message}");
            assert!(!message.contains("canary"), "{message}");
        }
    }

    #[test]
    fn another_version_or_kind_is_refused() {
        for text in [
            "",
            "kind: HostConfiguration",
            "apiVersion: gatepass/v2\nkind: HostConfiguration",
            "apiVersion: gatepass/v1alpha1\nkind: Pod",
        ] {
            assert!(HostConfig::from_yaml(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn durations_are_written_as_kubernetes_does() {
        for (text, seconds) in [("1h", 3600), ("1h30m", 5400), ("90s", 90)] {
            assert_eq!(
                text.parse::<TimeSpan>().unwrap().0,
                Duration::from_secs(seconds)
            );
        }
        for text in ["", "-1h", "soon", "1 parsec"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_configuration_reads_back_what_it_writes() {
        let mut config = HostConfig::bundled(&["aws", "generic"]);
        config.cache.max_duration = Some(TimeSpan(Duration::from_millis(1500)));
        config
            .network
            .connect_to
            .insert("*:443".into(), "127.0.0.1:1".into());
        config.feature_gates.insert(OBJECT_LEVEL.into(), true);
        assert_eq!(
            HostConfig::from_yaml(&config.to_yaml().unwrap()).unwrap(),
            config
        );
    }

    #[test]
    fn what_is_written_wrongly_is_refused_when_it_is_read_or_used() {
        let config = |rest: &str| HostConfig::from_yaml(&format!("{HEAD}{rest}")).unwrap();
        assert!(
            config("featureGates: {Other: true}")
                .object_level()
                .is_err()
        );
        assert!(config("network: {ca: nonsense}").network().is_err());
        assert!(
            config("network: {systemAuthorities: false}")
                .network()
                .is_err()
        );
        assert!(config("network: {connectTo: {a: b}}").network().is_err());
        let plugin = |rest: &str| config(&format!("plugins: [{rest}]")).plugins.remove(0);
        assert!(
            plugin("{bundled: a, grant: {hosts: ['http://a.example']}}")
                .policy()
                .is_err()
        );
        assert!(
            plugin("{bundled: a, grant: {networks: [x]}}")
                .policy()
                .is_err()
        );
        for source in [
            "{}",
            "{bundled: a, file: b}",
            "{bundled: missing}",
            "{file: missing.wasm}",
            "{bundled: a, digest: x}",
        ] {
            assert!(
                plugin(source).source(Path::new("."), &|_| None).is_err(),
                "{source}"
            );
        }
    }

    #[test]
    fn a_limit_beyond_the_engines_is_refused_with_its_bound() {
        let limits = |rest: &str| {
            let text = format!("{HEAD}plugins: [{{bundled: a, limits: {{{rest}}}}}]");
            let plugin = HostConfig::from_yaml(&text).unwrap().plugins.remove(0);
            plugin.limits.limits()
        };
        for (field, least, most) in [
            ("concurrency", 1, 256),
            ("memoryBytes", 0, 67_108_864),
            ("maxRequestBytes", 0, 4_194_304),
            ("maxResponseBytes", 0, 4_194_304),
        ] {
            assert!(limits(&format!("{field}: {most}")).is_ok(), "{field}");
            let error = limits(&format!("{field}: {}", most + 1)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Configuration);
            assert_eq!(
                error.to_string(),
                format!("limit {field}: {} must be {least} to {most}", most + 1)
            );
        }
        assert!(limits("concurrency: 0").is_err());
    }

    #[test]
    fn a_file_without_a_grant_is_granted_nothing() {
        let file = PluginConfig {
            file: Some("a.wasm".into()),
            ..PluginConfig::default()
        };
        assert_eq!(
            file.policy().unwrap(),
            GrantPolicy::Exactly(Grant::nothing())
        );
    }
}
