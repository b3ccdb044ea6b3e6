//! The host's configuration: a file or the bundled plugins, and the flags over it.

use crate::arguments::Global;
use crate::bundled;
use crate::failure::Failure;
use gatepass::config::{HostConfig, SpiffeConfig};
use std::path::{Path, PathBuf};

/// The feature gate, which the library has off and the command line on: whoever runs a command acts
/// with rights of their own.
const OBJECT_LEVEL: &str = "ObjectLevelWorkloadIdentity";

/// A configuration and where its relative file names begin.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) host: HostConfig,
    pub(crate) directory: PathBuf,
}

impl Configuration {
    /// Reads the file that the flags name, if they name one, and lays the flags over it.
    pub(crate) fn read(global: &Global) -> Result<Self, Failure> {
        let (host, directory) = match &global.config {
            Some(path) => (
                read_file(path)?,
                path.parent().map(Path::to_path_buf).unwrap_or_default(),
            ),
            None => (HostConfig::bundled(&bundled::names()), PathBuf::new()),
        };
        Ok(Self {
            host: overlay(host, global),
            directory,
        })
    }

    /// Whether a request may name a ServiceAccount.
    pub(crate) fn is_object_level(&self) -> bool {
        self.host
            .feature_gates
            .get(OBJECT_LEVEL)
            .copied()
            .unwrap_or(false)
    }

    /// The bundled plugin to load alone, if this provider is one; otherwise all are loaded, so that
    /// an unknown name is answered with the known ones.
    pub(crate) fn only<'a>(&self, provider: &'a str) -> Option<&'a str> {
        let mut bundled = self
            .host
            .plugins
            .iter()
            .filter_map(|plugin| plugin.bundled.as_deref());
        bundled.any(|name| name == provider).then_some(provider)
    }
}

fn read_file(path: &Path) -> Result<HostConfig, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::unreadable("the host configuration", path, error))?;
    let config = HostConfig::from_yaml(&text);
    config.map_err(|error| Failure::configuration(format!("{}: {error}", path.display())))
}

fn overlay(mut host: HostConfig, global: &Global) -> HostConfig {
    host.feature_gates
        .entry(OBJECT_LEVEL.to_owned())
        .or_insert(true);
    host.feature_gates.extend(global.feature_gates());
    if global.default_service_account.is_some() {
        host.default_service_account
            .clone_from(&global.default_service_account);
    }
    lay_spiffe(&mut host, global);
    host.cache.max_size = global.token_cache_max_size.or(host.cache.max_size);
    host.cache.max_duration = global.token_cache_max_duration.or(host.cache.max_duration);
    host
}

/// Each flag goes before the file's own value. What is missing then is told when an object is named.
fn lay_spiffe(host: &mut HostConfig, global: &Global) {
    let flags = [
        &global.spiffe_trust_domain,
        &global.spiffe_issuer,
        &global.spiffe_secret_name,
    ];
    if flags.into_iter().all(Option::is_none) {
        return;
    }
    let spiffe = host.spiffe.get_or_insert_with(SpiffeConfig::default);
    if let Some(trust_domain) = &global.spiffe_trust_domain {
        spiffe.trust_domain.clone_from(trust_domain);
    }
    if let Some(issuer) = &global.spiffe_issuer {
        spiffe.issuer = Some(issuer.clone());
    }
    if let Some(name) = &global.spiffe_secret_name {
        spiffe.secret_name.clone_from(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn global(gates: &[(&str, bool)]) -> Global {
        Global {
            feature_gates: gates
                .iter()
                .map(|(name, on)| ((*name).to_owned(), *on))
                .collect(),
            ..Global::default()
        }
    }

    #[test]
    fn the_gate_is_open_unless_file_or_flag_close_it() {
        let file = |on| {
            let mut host = HostConfig::bundled(&[]);
            host.feature_gates.extend(on);
            host
        };
        let off = || [(OBJECT_LEVEL.to_owned(), false)];
        let cases = [
            (file(None), global(&[]), true),
            (file(off().into_iter().next()), global(&[]), false),
            (file(None), global(&[(OBJECT_LEVEL, false)]), false),
            (
                file(off().into_iter().next()),
                global(&[(OBJECT_LEVEL, true)]),
                true,
            ),
        ];
        for (host, global, expected) in cases {
            let configuration = Configuration {
                host: overlay(host, &global),
                directory: PathBuf::new(),
            };
            assert_eq!(configuration.is_object_level(), expected, "{global:?}");
        }
    }

    #[test]
    fn flags_go_before_the_file() {
        let mut host = HostConfig::bundled(&[]);
        host.cache.max_size = Some(7);
        host.default_service_account = Some("of-file".into());
        let kept = overlay(host.clone(), &global(&[]));
        assert_eq!(
            (kept.cache.max_size, kept.default_service_account.as_deref()),
            (Some(7), Some("of-file"))
        );
        let flags = Global {
            token_cache_max_size: Some(0),
            default_service_account: Some("of-flag".into()),
            ..Global::default()
        };
        let replaced = overlay(host, &flags);
        assert_eq!(
            (
                replaced.cache.max_size,
                replaced.default_service_account.as_deref()
            ),
            (Some(0), Some("of-flag"))
        );
    }

    #[test]
    fn a_known_bundled_plugin_is_loaded_alone() {
        let configuration = Configuration {
            host: HostConfig::bundled(&["aws"]),
            directory: PathBuf::new(),
        };
        assert_eq!(configuration.only("aws"), Some("aws"));
        assert_eq!(configuration.only("azure"), None);
    }
}
