//! The cluster with the ServiceAccounts: which kubeconfig, which context, and a client for it.

use crate::arguments::Global;
use crate::failure::Failure;
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long the API server may take to accept a connection, and to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Set for programs that log in for a kubeconfig: how many gatepass are behind them. Three clusters
/// in a row are rare, and more are a circle.
const DEPTH: &str = "GATEPASS_DEPTH";
const MAX_DEPTH: u32 = 4;

/// Where the kubeconfig comes from, so that a later process finds the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// One file.
    File(PathBuf),
    /// The list of files in `KUBECONFIG`.
    Environment(String),
    /// There is none: a pod's own account.
    Pod,
}

/// A cluster that is known and not yet connected to.
#[derive(Debug)]
pub(crate) struct Cluster {
    config: Config,
    origin: Origin,
    context: Option<String>,
}

impl Cluster {
    /// Finds and reads the kubeconfig, and falls back to a pod's own account.
    pub(crate) async fn find(global: &Global) -> Result<Self, Failure> {
        let origin = origin(global);
        let kubeconfig = match &origin {
            Origin::File(path) => Kubeconfig::read_from(path),
            Origin::Environment(list) => merged(list),
            Origin::Pod => return Self::of_pod(),
        };
        let kubeconfig = kubeconfig.map_err(refused)?;
        let context = global
            .context
            .clone()
            .or_else(|| kubeconfig.current_context.clone());
        let known: Vec<String> = kubeconfig
            .contexts
            .iter()
            .map(|context| context.name.clone())
            .collect();
        let is_proxied = kubeconfig
            .clusters
            .iter()
            .flat_map(|named| &named.cluster)
            .any(|cluster| cluster.proxy_url.is_some());
        let options = KubeConfigOptions {
            context: context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let mut config = config.map_err(|error| unusable(error, &known))?;
        if !is_proxied && is_loopback(&config) {
            // As kubectl has it: a proxy of the environment is not for this machine.
            config.proxy_url = None;
        }
        deepen(&mut config, depth())?;
        Ok(Self {
            config: patient(config),
            origin,
            context,
        })
    }

    fn of_pod() -> Result<Self, Failure> {
        let config = Config::incluster().map_err(|_| {
            Failure::configuration(
                "there is no kubeconfig, and this is no pod with an account of its own",
            )
            .fix("name one: --kubeconfig FILE, or KUBECONFIG")
        })?;
        Ok(Self {
            config: patient(config),
            origin: Origin::Pod,
            context: None,
        })
    }

    /// Makes a client, which has not sent anything yet.
    pub(crate) fn connect(self) -> Result<Connection, Failure> {
        Ok(Connection {
            namespace: self.config.default_namespace.clone(),
            client: Client::try_from(self.config).map_err(not_logged_in)?,
            origin: self.origin,
            context: self.context,
        })
    }
}

/// A cluster with a client for it.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The namespace of the context.
    pub(crate) namespace: String,
    pub(crate) origin: Origin,
    pub(crate) context: Option<String>,
}

fn origin(global: &Global) -> Origin {
    if let Some(path) = &global.kubeconfig {
        return Origin::File(path.clone());
    }
    if let Ok(list) = std::env::var("KUBECONFIG")
        && std::env::split_paths(&list).any(|path| !path.as_os_str().is_empty())
    {
        return Origin::Environment(list);
    }
    let home = std::env::home_dir().map(|home| home.join(".kube/config"));
    home.filter(|path| path.exists())
        .map_or(Origin::Pod, Origin::File)
}

/// The files of a list, of which those that are not there count for nothing, as kubectl has it; but one
/// must be there.
fn merged(list: &str) -> Result<Kubeconfig, KubeconfigError> {
    let named: Vec<PathBuf> = std::env::split_paths(list)
        .filter(|path| !path.as_os_str().is_empty())
        .collect();
    let there: Vec<&PathBuf> = named.iter().filter(|path| path.exists()).collect();
    // Where none is there, the error names the first.
    let read: Vec<&PathBuf> = if there.is_empty() {
        named.iter().take(1).collect()
    } else {
        there
    };
    read.into_iter()
        .try_fold(Kubeconfig::default(), |merged, path| {
            merged.merge(Kubeconfig::read_from(path)?)
        })
}

fn is_loopback(config: &Config) -> bool {
    let host = config
        .cluster_url
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// How many gatepass are behind this one, each run by the kubeconfig of the next.
fn depth() -> u32 {
    std::env::var(DEPTH)
        .ok()
        .and_then(|depth| depth.parse().ok())
        .unwrap_or(0)
}

/// Tells a program that logs in for this kubeconfig how deep it is. A kubeconfig that gatepass wrote
/// may come to stand where gatepass reads the one it needs, and would run itself without end.
fn deepen(config: &mut Config, depth: u32) -> Result<(), Failure> {
    let Some(exec) = &mut config.auth_info.exec else {
        return Ok(());
    };
    if depth >= MAX_DEPTH {
        return Err(Failure::configuration(
            "the kubeconfig with the service accounts leads back to itself",
        )
        .fix("name the other cluster's: --kubeconfig FILE"));
    }
    let deeper = [
        ("name".to_owned(), DEPTH.to_owned()),
        ("value".to_owned(), (depth + 1).to_string()),
    ];
    exec.env.get_or_insert_default().push(deeper.into());
    Ok(())
}

fn patient(mut config: Config) -> Config {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(READ_TIMEOUT);
    config
}

/// A parser quotes the lines around a mistake, and they may hold a token: the place alone is told.
fn refused(error: KubeconfigError) -> Failure {
    let KubeconfigError::Parse(error) = error else {
        return Failure::configuration("cannot read the kubeconfig").because(error);
    };
    let place = match error.location() {
        Some(location) => format!(" near line {}", location.line()),
        None => String::new(),
    };
    Failure::configuration(format!(
        "the kubeconfig is not what `kubectl config view` would print{place}"
    ))
}

/// A login command's output may hold a token even where it is of no use, and so may the environment that
/// is written for it: only its talk is repeated.
fn not_logged_in(error: kube::Error) -> Failure {
    let failure = Failure::configuration("cannot log in with the kubeconfig");
    match error {
        kube::Error::Auth(AuthError::AuthExecRun { out, .. }) => {
            let said = String::from_utf8_lossy(&out.stderr);
            let said: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
            failure.because(format!(
                "its login command ended with {}: {}",
                out.status,
                said.join("; ")
            ))
        }
        kube::Error::Auth(AuthError::AuthExecParse(_)) => {
            failure.because("what its login command printed is no ExecCredential")
        }
        error => failure.because(error),
    }
}

fn unusable(error: KubeconfigError, contexts: &[String]) -> Failure {
    let advice = match &error {
        KubeconfigError::CurrentContextNotSet | KubeconfigError::LoadContext(_) => Some(format!(
            "choose with --context; it has {}",
            contexts.join(", ")
        )),
        _ => None,
    };
    let failure = Failure::configuration("cannot use the kubeconfig").because(error);
    match advice {
        Some(advice) => failure.fix(advice),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::config::ExecConfig;

    fn config(url: &str, exec: Option<ExecConfig>) -> Config {
        let mut config = Config::new(url.parse().unwrap());
        config.auth_info.exec = exec;
        config
    }

    #[test]
    fn a_circle_of_kubeconfigs_ends() {
        let exec: ExecConfig = serde_json::from_str(r#"{"command":"gatepass"}"#).unwrap();
        for (depth, expected) in [(0, true), (3, true), (4, false)] {
            let mut config = config("https://a.example", Some(exec.clone()));
            assert_eq!(deepen(&mut config, depth).is_ok(), expected, "{depth}");
            let told = config.auth_info.exec.unwrap().env;
            assert_eq!(
                told.map(|env| env[0]["value"].clone()),
                expected.then(|| (depth + 1).to_string())
            );
        }
        assert!(
            deepen(&mut config("https://a.example", None), 9).is_ok(),
            "nothing is run"
        );
    }

    #[test]
    fn this_machine_is_known_by_name_and_address() {
        let cases = [
            ("https://127.0.0.1:6443", true),
            ("https://[::1]:6443", true),
            ("https://localhost", true),
            ("https://10.0.0.1", false),
            ("https://localhost.example", false),
        ];
        for (url, expected) in cases {
            assert_eq!(is_loopback(&config(url, None)), expected, "{url}");
        }
    }
}
