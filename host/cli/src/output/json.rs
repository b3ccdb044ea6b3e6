//! JSON with everything, the secret too.

use super::time::rfc3339;
use crate::answer::{Issue, Place};
use crate::failure::Failure;
use gatepass::{Material, Secret};
use serde_json::{Map, Value, json};

/// A credential with all that is known of it.
pub(crate) fn render(issue: &Issue<'_>) -> Result<Secret, Failure> {
    let attributes: Map<String, Value> = issue
        .attributes
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().into()))
        .collect();
    let mut object = json!({
        "provider": issue.provider,
        "identity": issue.identity,
        "from": issue.from(),
        "expiresAt": rfc3339(issue.expires_at),
        "kind": issue.material.kind(),
        "attributes": attributes,
    });
    if let Some(fields) = object.as_object_mut() {
        fields.extend(place(issue.place));
        fields.extend(material(issue.material));
    }
    text(&object)
}

/// Indented, with a line end.
pub(crate) fn text(value: &Value) -> Result<Secret, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::machine("cannot write JSON", error))?;
    Ok(Secret::from(text + "\n"))
}

fn place(place: Place<'_>) -> Vec<(String, Value)> {
    match place {
        Place::Anywhere => vec![],
        Place::Registry { host } => vec![("registry".into(), host.into())],
        Place::Remote { url } => vec![("remote".into(), url.into())],
        Place::Workload { socket } => vec![("socket".into(), socket.into())],
        Place::Cluster { server, ca } => vec![
            ("server".into(), server.into()),
            (
                "certificateAuthority".into(),
                ca.map_or(Value::Null, |ca| ca.pem().into()),
            ),
        ],
    }
}

fn material(material: &Material) -> Option<(String, Value)> {
    let value = match material {
        Material::Bearer(token) => return Some(("token".into(), token.expose().into())),
        Material::Aws(keys) => json!({
            "accessKeyId": keys.access_key_id,
            "secretAccessKey": keys.secret_access_key.expose(),
            "sessionToken": keys.session_token.as_ref().map(Secret::expose),
        }),
        Material::Basic(basic) => {
            json!({ "username": basic.username.expose(), "password": basic.password.expose() })
        }
        Material::X509(x509) => json!({
            "certificateChain": x509.certificate_chain,
            "privateKey": x509.private_key.expose(),
        }),
        Material::Custom(values) => values
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().into()))
            .collect::<Map<_, _>>()
            .into(),
        _ => return None,
    };
    Some((material.kind().into(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn rendered(material: &Material, place: Place<'_>) -> Value {
        let text = render(&sample::issue(material, place)).unwrap();
        serde_json::from_str(text.expose()).unwrap()
    }

    #[test]
    fn every_kind_is_written_whole() {
        for material in sample::materials() {
            let value = rendered(&material, Place::Anywhere);
            assert_eq!(value["kind"], material.kind());
            assert!(value.to_string().contains("canary"), "{value}");
        }
    }

    #[test]
    fn keys_places_and_times_have_their_fields() {
        let value = rendered(&sample::aws(), Place::Anywhere);
        assert_eq!(value["aws"]["secretAccessKey"], "canary'secret");
        assert_eq!(value["expiresAt"], "2026-11-20T18:00:00Z");
        let [_, registry, _, cluster, _] = sample::places();
        assert_eq!(
            rendered(&sample::aws(), registry)["registry"],
            "registry.example:5000"
        );
        assert_eq!(
            rendered(&sample::aws(), cluster)["server"],
            "https://api.example:6443/"
        );
    }
}
