//! `gatepass kubeconfig`.

use crate::answer::{Issue, Place, Wanted};
use crate::arguments::{Format, Global, Kubeconfig, Request};
use crate::cluster::{Cluster, Connection, Origin};
use crate::failure::Failure;
use crate::output;
use crate::output::kubeconfig::{self, Invocation};
use crate::progress::noted;
use crate::request::{Named, read_ca};
use crate::session::Session;
use gatepass::kubernetes::cluster_config;
use gatepass::{ClusterReference, Namespace, ProxyUrl};
use std::path::Path;

/// The first is what is printed if nothing is said.
const FORMATS: &[Format] = &[
    Format::Kubeconfig,
    Format::ExecCredential,
    Format::Table,
    Format::Json,
    Format::Token,
];

/// Set by whoever runs an exec plugin; says which version of the answer is wanted.
const EXEC_INFO: &str = "KUBERNETES_EXEC_INFO";

/// What is asked for, with all that a ConfigMap says in place of the flags.
pub(crate) struct Asked {
    pub(crate) flags: Request,
    pub(crate) cluster: ClusterReference,
    pub(crate) connection: Option<Connection>,
}

/// Reads the flags, and the ConfigMap if they name one.
pub(crate) async fn asked(global: &Global, flags: &Kubeconfig) -> Result<Asked, Failure> {
    match &flags.config_map {
        Some(name) => of_config_map(global, &flags.request, name).await,
        None => Ok(Asked {
            flags: flags.request.clone(),
            cluster: of_flags(flags)?,
            connection: None,
        }),
    }
}

async fn of_config_map(global: &Global, flags: &Request, name: &str) -> Result<Asked, Failure> {
    let connection = Cluster::find(global).await?.connect()?;
    let namespace = flags.namespace.as_ref().unwrap_or(&connection.namespace);
    let namespace = Namespace::new(namespace)?;
    let reading = cluster_config(&connection.client, &namespace, name);
    let config = noted(&format!("reading config map {name}"), reading).await?;
    if let Some(provider) = flags.provider.as_deref()
        && provider != config.provider()
    {
        return Err(Failure::usage(format!(
            "config map {name} is for provider {}, and the command line for {provider}",
            config.provider()
        ))
        .fix("leave the provider out"));
    }
    Ok(Asked {
        flags: Request {
            provider: Some(config.provider().to_owned()),
            namespace: Some(namespace.as_str().to_owned()),
            service_account: config.service_account().map(str::to_owned),
            audience: config.audiences().to_vec(),
            ..flags.clone()
        },
        cluster: config.cluster().clone(),
        connection: Some(connection),
    })
}

fn of_flags(flags: &Kubeconfig) -> Result<ClusterReference, Failure> {
    let pem = flags
        .cluster_ca_file
        .as_deref()
        .map(|path| read_ca("--cluster-ca-file", path))
        .transpose()?;
    Ok(ClusterReference {
        name: flags.cluster.clone(),
        address: flags.address.clone(),
        ca: pem.as_deref().map(str::parse).transpose()?,
    })
}

/// Gets access to a cluster and prints it.
pub(crate) async fn run(global: &Global, flags: &Kubeconfig) -> Result<(), Failure> {
    let format = output::choose(global.output, FORMATS, "kubeconfig")?;
    if flags.fixed && format != Format::Kubeconfig {
        return Err(Failure::usage("--static is for -o kubeconfig alone"));
    }
    let info = std::env::var(EXEC_INFO)
        .ok()
        .filter(|info| !info.is_empty());
    let asked_by = match (format, &info) {
        (Format::ExecCredential, Some(info)) => asked_by(info)?,
        _ => None,
    };
    let asked = asked(global, flags).await?;
    let name = asked.cluster.name.clone();
    let wanted = Wanted::Cluster(asked.cluster);
    let session = Session::open(global, &asked.flags, &wanted, asked.connection).await?;
    let invocation = match format == Format::Kubeconfig && !flags.fixed {
        true => Some(invocation(global, flags, &session)?),
        false => None,
    };
    let answer = session.ask(&wanted).await?;
    let issue = answer.issue(session.flags.provider());
    check_server(asked_by.as_deref(), &issue)?;
    match format {
        Format::Kubeconfig => {
            let name = name.as_deref();
            output::release(&kubeconfig::render(&issue, name, invocation.as_ref())?)
        }
        format => output::print(format, &issue),
    }
}

/// The server that the login of a client is for, where the client says it. kubectl refuses an answer of
/// another version than it asked for, with less to go on.
fn asked_by(info: &str) -> Result<Option<String>, Failure> {
    let Ok(info) = serde_json::from_str::<serde_json::Value>(info) else {
        return Ok(None);
    };
    let text = |pointer: &str| info.pointer(pointer).and_then(serde_json::Value::as_str);
    match text("/apiVersion") {
        Some(version) if version != output::exec_credential::API_VERSION => {
            Err(Failure::usage(format!(
                "{EXEC_INFO} asks for {version}, and this command answers {}",
                output::exec_credential::API_VERSION
            ))
            .fix("set apiVersion under users[].user.exec of the kubeconfig"))
        }
        _ => Ok(text("/spec/cluster/server").map(str::to_owned)),
    }
}

/// A cluster that moved, or a ConfigMap that names another one by now, gets no login sent to the address
/// that the kubeconfig still has.
fn check_server(asked_by: Option<&str>, issue: &Issue<'_>) -> Result<(), Failure> {
    let (Some(asked_by), Place::Cluster { server, .. }) = (asked_by, issue.place) else {
        return Ok(());
    };
    let bare = |address: &str| address.trim_end_matches('/').to_owned();
    if bare(asked_by) == bare(server) {
        return Ok(());
    }
    Err(Failure::configuration(format!(
        "the kubeconfig sends its login to {asked_by}, and the cluster is at {server}"
    ))
    .fix("make the kubeconfig anew"))
}

/// The command line that gets the same access again, whatever directory and environment it runs in.
fn invocation(
    global: &Global,
    flags: &Kubeconfig,
    session: &Session,
) -> Result<Invocation, Failure> {
    let mut line = Line::default();
    line.words(["kubeconfig", session.flags.provider()]);
    // Each login reads the ConfigMap again, and so follows its account.
    line.option("--config-map", flags.config_map.as_deref());
    line.option("--cluster", flags.cluster.as_deref());
    line.option("--address", flags.address.as_deref());
    line.file("--cluster-ca-file", flags.cluster_ca_file.as_deref())?;
    match &flags.config_map {
        Some(_) => line.option("--namespace", session.flags.namespace.as_deref()),
        None => subject(&mut line, session),
    }
    request(&mut line, session)?;
    line.file("--config", global.config.as_deref())?;
    for (gate, on) in global.feature_gates() {
        line.option("--feature-gates", Some(&format!("{gate}={on}")));
    }
    line.option(
        "--default-service-account",
        global.default_service_account.as_deref(),
    );
    let environment = kubeconfig_of(&mut line, session)?;
    line.words(["--output", "exec-credential"]);
    Ok(Invocation {
        command: command(),
        arguments: line.0,
        environment,
    })
}

/// The words of a command line.
#[derive(Default)]
struct Line(Vec<String>);

impl Line {
    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(str::to_owned));
    }

    /// In one word, so that a value that begins with a dash stays a value.
    fn option(&mut self, name: &str, value: Option<&str>) {
        self.0.extend(value.map(|value| format!("{name}={value}")));
    }

    fn file(&mut self, name: &str, path: Option<&Path>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        let absolute =
            std::path::absolute(path).map_err(|error| Failure::unreadable(name, path, error))?;
        let text = absolute.to_str().ok_or_else(|| {
            Failure::usage(format!(
                "{name} {} is not UTF-8, as a kubeconfig must be",
                path.display()
            ))
        })?;
        self.option(name, Some(text));
        Ok(())
    }
}

/// For whom: what a ConfigMap says otherwise.
fn subject(line: &mut Line, session: &Session) {
    match &session.named {
        Named::Process => {}
        Named::Namespace(namespace) => line.option("--namespace", Some(namespace)),
        Named::Account { namespace, name } => {
            let namespace = namespace.as_deref().unwrap_or("default");
            line.option("--service-account", Some(&format!("{namespace}/{name}")));
        }
        Named::Object {
            kind,
            namespace,
            name,
        } => {
            let namespace = namespace.as_deref().unwrap_or("default");
            line.option("--object", Some(&format!("{kind}/{namespace}/{name}")));
        }
    }
    let audiences = session.flags.audience.iter();
    audiences.for_each(|audience| line.option("--audience", Some(audience)));
}

fn request(line: &mut Line, session: &Session) -> Result<(), Failure> {
    let flags = &session.flags;
    flags
        .scope
        .iter()
        .for_each(|scope| line.option("--scope", Some(scope)));
    line.option("--region", flags.region.as_deref());
    line.option("--endpoint", flags.endpoint.as_deref());
    for (name, value) in &flags.parameter {
        line.option("--parameter", Some(&format!("{name}={value}")));
    }
    for link in &flags.link {
        line.option("--link", Some(&link.to_string()));
    }
    if flags.start_with_aws_keys {
        line.words(["--start-with-aws-keys"]);
    }
    line.option("--proxy-url", written_proxy(flags.proxy_url.as_deref())?);
    line.file("--ca-file", flags.ca_file.as_deref())?;
    if let Some(lifetime) = flags.token_lifetime {
        line.option("--token-lifetime", Some(&String::from(lifetime)));
    }
    Ok(())
}

/// A proxy's login is not written into a file: it stays in the environment. The user name alone may be a
/// secret, as in `http://TOKEN@proxy`.
fn written_proxy(proxy: Option<&str>) -> Result<Option<&str>, Failure> {
    let Some(text) = proxy else { return Ok(None) };
    let parsed: ProxyUrl = text.parse()?;
    let url = parsed.expose();
    if url.username().is_empty() && url.password().is_none() {
        return Ok(Some(text));
    }
    match std::env::var("GATEPASS_PROXY_URL").is_ok_and(|environment| environment == text) {
        true => Ok(None),
        false => Err(Failure::usage("a proxy's login is not written into a kubeconfig")
            .fix("set GATEPASS_PROXY_URL here and wherever the kubeconfig is used, or choose --static")),
    }
}

/// Pins the kubeconfig with the accounts: by the time this runs, `KUBECONFIG` may name the new one.
fn kubeconfig_of(line: &mut Line, session: &Session) -> Result<Vec<(String, String)>, Failure> {
    let Some((origin, context)) = &session.kubeconfig else {
        return Ok(Vec::new());
    };
    line.option("--context", context.as_deref());
    match origin {
        Origin::File(path) => line.file("--kubeconfig", Some(path)).map(|()| Vec::new()),
        Origin::Environment(list) => Ok(vec![("KUBECONFIG".to_owned(), absolute_list(list)?)]),
        Origin::Pod => Ok(vec![("KUBECONFIG".to_owned(), String::new())]),
    }
}

fn absolute_list(list: &str) -> Result<String, Failure> {
    let paths = std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty());
    let absolute: Result<Vec<_>, _> = paths.map(std::path::absolute).collect();
    let absolute =
        absolute.map_err(|error| Failure::unreadable("KUBECONFIG", Path::new(list), error))?;
    let joined = std::env::join_paths(absolute)
        .map_err(|error| Failure::machine("cannot join KUBECONFIG again", error))?;
    Ok(joined.to_string_lossy().into_owned())
}

/// How to run this program again: by its name if the shell found it so, else by its path.
fn command() -> String {
    let called = std::env::args().next().unwrap_or_default();
    match called.contains(std::path::MAIN_SEPARATOR) {
        false if !called.is_empty() => called,
        _ => std::env::current_exe().map_or(called, |path| path.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_that_is_answered_may_be_asked_for() {
        let info = |version: &str| {
            format!(
                r#"{{"apiVersion":"client.authentication.k8s.io/{version}","kind":"ExecCredential"}}"#
            )
        };
        assert_eq!(asked_by("no JSON").unwrap(), None);
        assert_eq!(asked_by(&info("v1")).unwrap(), None);
        let failure = asked_by(&info("v1beta1")).unwrap_err();
        assert!(failure.to_string().contains("v1beta1"), "{failure}");
    }

    #[test]
    fn a_value_that_begins_with_a_dash_stays_a_value() {
        let mut line = Line::default();
        line.option("--parameter", Some("-x=--y"));
        assert_eq!(line.0, ["--parameter=-x=--y"]);
    }

    #[test]
    fn a_proxy_password_is_not_written() {
        assert_eq!(
            written_proxy(Some("http://p.example:3128")).unwrap(),
            Some("http://p.example:3128")
        );
        let failure = written_proxy(Some("http://u:canary@p.example:3128")).unwrap_err();
        assert!(!failure.report().contains("canary"));
    }

    #[test]
    fn a_list_of_kubeconfigs_is_made_absolute() {
        assert_eq!(absolute_list("/a:/b/c::").unwrap(), "/a:/b/c");
    }
}
