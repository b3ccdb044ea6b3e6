//! A kubeconfig file for one user of one cluster.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// YAML; every scalar that is not ours is quoted as JSON, which YAML 1.2 reads.
pub(crate) fn yaml(server: &str, authority: &str, user: &str, token: &str) -> String {
    let server = Value::from(server);
    let authority = Value::from(STANDARD.encode(authority));
    let user = Value::from(user);
    let token = Value::from(token);
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: sandbox
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    token: {token}
contexts:
- name: sandbox
  context:
    cluster: sandbox
    user: {user}
current-context: sandbox
"
    )
}
