//! Kubeconfigs: one cluster, one user, one context.

use super::exec_credential::API_VERSION;
use crate::answer::{Issue, Place};
use crate::failure::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass::{Material, Secret};
use serde_json::{Value, json};

/// How a Kubernetes client gets the login again: a command, its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

/// A kubeconfig whose user runs `invocation` for its login, or holds the login itself if there is none.
/// Cluster, user and context are named after the cluster, or its server if it has no name.
pub(crate) fn render(
    issue: &Issue<'_>,
    name: Option<&str>,
    invocation: Option<&Invocation>,
) -> Result<Secret, Failure> {
    let Place::Cluster { server, ca } = issue.place else {
        return Err(super::unfit(crate::arguments::Format::Kubeconfig, issue));
    };
    let server = server.trim_end_matches('/');
    let name = name.unwrap_or_else(|| server.trim_start_matches("https://"));
    let user = match invocation {
        Some(invocation) => json!({ "exec": exec(invocation) }),
        None => login(issue.material)
            .ok_or_else(|| super::unfit(crate::arguments::Format::Kubeconfig, issue))?,
    };
    let mut cluster = json!({ "server": server });
    if let (Some(ca), Some(fields)) = (ca, cluster.as_object_mut()) {
        fields.insert(
            "certificate-authority-data".into(),
            STANDARD.encode(ca.pem()).into(),
        );
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": cluster }],
        "users": [{ "name": name, "user": user }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "current-context": name,
    });
    let yaml = serde_saphyr::to_string(&object)
        .map_err(|error| Failure::machine("cannot write YAML", error))?;
    Ok(Secret::from(yaml))
}

fn exec(invocation: &Invocation) -> Value {
    let environment: Vec<Value> = invocation
        .environment
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    json!({
        "apiVersion": API_VERSION,
        "command": invocation.command,
        "args": invocation.arguments,
        "env": (!environment.is_empty()).then_some(environment),
        "interactiveMode": "Never",
        // The server that the login goes to, which must still be the cluster's.
        "provideClusterInfo": true,
        "installHint": "This kubeconfig gets its login from gatepass: install it, or correct users[].user.exec.command.",
    })
}

fn login(material: &Material) -> Option<Value> {
    match material {
        Material::Bearer(token) => Some(json!({ "token": token.expose() })),
        Material::X509(x509) => Some(json!({
            "client-certificate-data": STANDARD.encode(&x509.certificate_chain),
            "client-key-data": STANDARD.encode(x509.private_key.expose()),
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use kube::config::Kubeconfig;

    fn rendered(
        material: &Material,
        name: Option<&str>,
        invocation: Option<&Invocation>,
    ) -> (String, Kubeconfig) {
        let [_, _, _, cluster, _] = sample::places();
        let text = render(&sample::issue(material, cluster), name, invocation).unwrap();
        let read = Kubeconfig::from_yaml(text.expose()).unwrap();
        (text.expose().to_owned(), read)
    }

    #[test]
    fn a_kubeconfig_that_renews_itself_holds_no_secret() {
        let invocation = Invocation {
            command: "/usr/bin/gatepass".into(),
            arguments: vec!["kubeconfig".into(), "--parameter=a: 'b' #c".into()],
            environment: vec![("KUBECONFIG".into(), "/a:/b".into())],
        };
        let (text, read) = rendered(
            &Material::Bearer("canary".into()),
            Some("arn:aws:eks:x"),
            Some(&invocation),
        );
        assert!(!text.contains("canary"), "{text}");
        let exec = read.auth_infos[0]
            .auth_info
            .as_ref()
            .unwrap()
            .exec
            .as_ref()
            .unwrap();
        assert_eq!(exec.command.as_deref(), Some("/usr/bin/gatepass"));
        assert_eq!(exec.args.as_deref(), Some(&invocation.arguments[..]));
        assert_eq!(exec.api_version.as_deref(), Some(API_VERSION));
        assert_eq!(read.current_context.as_deref(), Some("arn:aws:eks:x"));
    }

    #[test]
    fn a_static_kubeconfig_holds_the_token() {
        let (text, read) = rendered(&Material::Bearer("canary".into()), None, None);
        assert!(text.contains("canary"));
        assert_eq!(read.contexts[0].name, "api.example:6443");
        assert_eq!(
            read.clusters[0].cluster.as_ref().unwrap().server.as_deref(),
            Some("https://api.example:6443")
        );
    }

    #[test]
    fn keys_are_no_login_to_a_cluster() {
        let [_, _, _, cluster, _] = sample::places();
        let failure = render(&sample::issue(&sample::aws(), cluster), None, None).unwrap_err();
        assert!(!failure.report().contains("canary"));
    }
}
