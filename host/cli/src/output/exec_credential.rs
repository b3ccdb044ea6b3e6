//! What Kubernetes clients read from an exec plugin
//! (<https://kubernetes.io/docs/reference/config-api/client-authentication.v1/>).

use super::time::rfc3339;
use crate::answer::Issue;
use gatepass::{Material, Secret};
use serde_json::json;

/// The version that is answered.
pub(crate) const API_VERSION: &str = "client.authentication.k8s.io/v1";

/// A token or a client certificate; `None` for what no Kubernetes client logs in with.
pub(crate) fn render(issue: &Issue<'_>) -> Option<Secret> {
    let expiry = rfc3339(issue.expires_at);
    let status = match issue.material {
        Material::Bearer(token) => {
            json!({ "expirationTimestamp": expiry, "token": token.expose() })
        }
        Material::X509(x509) => json!({
            "expirationTimestamp": expiry,
            "clientCertificateData": x509.certificate_chain,
            "clientKeyData": x509.private_key.expose(),
        }),
        _ => return None,
    };
    let object = json!({ "apiVersion": API_VERSION, "kind": "ExecCredential", "status": status });
    Some(Secret::from(format!("{object}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn a_token_comes_with_its_expiry() {
        let material = Material::Bearer("canary".into());
        let [_, _, _, cluster, _] = sample::places();
        let text = render(&sample::issue(&material, cluster)).unwrap();
        let value: serde_json::Value = serde_json::from_str(text.expose()).unwrap();
        let expected = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": { "expirationTimestamp": "2026-11-20T18:00:00Z", "token": "canary" },
        });
        assert_eq!(value, expected);
    }
}
