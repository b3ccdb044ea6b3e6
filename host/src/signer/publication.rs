//! What relying parties read: the keys, in the two forms that they want, and where the keys are.

use super::authority::Anchor;
use super::issuer::IssuerUrl;
use super::keys::PublishedKeys;
use super::signing_key::VerificationKey;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Seconds after which a relying party should read the bundle again: what implementations do by
/// default.
const REFRESH_HINT: u64 = 300;

/// The SPIFFE bundle (SPIFFE Trust Domain and Bundle §4): each key with its use, and each anchor of
/// certificates without a name.
pub(super) fn bundle(published: &PublishedKeys) -> Value {
    let tokens = token_keys(published).into_iter().map(|key| {
        let named = with(key.key.jwk(), &[("use", "jwt-svid"), ("kid", key.id())]);
        Value::Object(named)
    });
    let mut anchors: Vec<&Anchor> = Vec::new();
    for anchor in published.keys.iter().filter_map(|key| key.anchor.as_ref()) {
        if !anchors.contains(&anchor) {
            anchors.push(anchor);
        }
    }
    let certificates = anchors.into_iter().map(|anchor| {
        let mut key = with(anchor.key.jwk(), &[("use", "x509-svid")]);
        key.insert("x5c".into(), json!([STANDARD.encode(&anchor.certificate)]));
        Value::Object(key)
    });
    json!({
        "keys": tokens.chain(certificates).collect::<Vec<_>>(),
        "spiffe_sequence": published.sequence,
        "spiffe_refresh_hint": REFRESH_HINT,
    })
}

/// The JSON Web Key Set of the OIDC issuer: its relying parties know neither the uses of SPIFFE nor
/// keys for anything but tokens.
pub(super) fn jwks(published: &PublishedKeys) -> Value {
    let keys = token_keys(published).into_iter().map(|key| {
        let uses = [("use", "sig"), ("alg", key.algorithm()), ("kid", key.id())];
        Value::Object(with(key.key.jwk(), &uses))
    });
    json!({ "keys": keys.collect::<Vec<_>>() })
}

/// The issuer's configuration (OpenID Connect Discovery §3). There is nothing to log in at, and the
/// fields that say so are required.
pub(super) fn discovery(issuer: &IssuerUrl) -> Value {
    json!({
        "issuer": issuer.as_str(),
        "jwks_uri": issuer.jwks_uri(),
        "authorization_endpoint": "",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256", "ES384"],
    })
}

/// A key under two certificates is one key.
fn token_keys(published: &PublishedKeys) -> Vec<&VerificationKey> {
    let mut keys: Vec<&VerificationKey> = Vec::new();
    for key in &published.keys {
        if keys.iter().all(|seen| seen.id() != key.id()) {
            keys.push(key);
        }
    }
    keys
}

fn with(mut key: Map<String, Value>, members: &[(&str, &str)]) -> Map<String, Value> {
    for (name, value) in members {
        key.insert((*name).into(), (*value).into());
    }
    key
}
