//! Logins for Docker and its relatives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass::{Material, Secret};
use serde_json::json;

/// `config.json` with this one login; `None` for what is no login to a registry.
pub(crate) fn config(host: &str, material: &Material) -> Option<Secret> {
    let login = match material {
        Material::Basic(basic) => {
            let pair = Secret::from(format!(
                "{}:{}",
                basic.username.expose(),
                basic.password.expose()
            ));
            json!({ "auth": STANDARD.encode(pair.expose()) })
        }
        // The field in which Docker's own file keeps a token that goes to the registry as it is.
        Material::Bearer(token) => json!({ "registrytoken": token.expose() }),
        _ => return None,
    };
    let object = json!({ "auths": { host: login } });
    Some(Secret::from(format!("{object}\n")))
}

/// What a credential helper prints (<https://github.com/docker/docker-credential-helpers>). The
/// protocol knows no bearer token.
pub(crate) fn credential(host: &str, material: &Material) -> Option<Secret> {
    let Material::Basic(basic) = material else {
        return None;
    };
    let object = json!({ "ServerURL": host, "Username": basic.username.expose(), "Secret": basic.password.expose() });
    Some(Secret::from(format!("{object}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass::Basic;
    use serde_json::Value;

    fn basic() -> Material {
        Material::Basic(Basic {
            username: "AWS".into(),
            password: "p:w".into(),
        })
    }

    fn value(text: Option<Secret>) -> Value {
        serde_json::from_str(text.unwrap().expose()).unwrap()
    }

    #[test]
    fn a_password_is_written_in_both_ways() {
        let expected = json!({ "auths": { "r.example": { "auth": "QVdTOnA6dw==" } } });
        assert_eq!(value(config("r.example", &basic())), expected);
        let expected = json!({ "ServerURL": "r.example", "Username": "AWS", "Secret": "p:w" });
        assert_eq!(value(credential("r.example", &basic())), expected);
    }

    #[test]
    fn a_bearer_token_is_for_the_file_alone() {
        let bearer = Material::Bearer("t".into());
        let expected = json!({ "auths": { "r.example:5000": { "registrytoken": "t" } } });
        assert_eq!(value(config("r.example:5000", &bearer)), expected);
        assert!(credential("r.example:5000", &bearer).is_none());
    }
}
