//! An issuer of a test's own, whose documents the sandbox publishes.

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::world::World;

/// A key of the test's own, its JWK set, and tokens signed with it.
pub(crate) struct Issuer {
    private: EncodingKey,
    algorithm: Algorithm,
    pub(crate) keys: String,
}

impl Issuer {
    pub(crate) fn create() -> Self {
        Self::of(&rcgen::PKCS_ECDSA_P256_SHA256, Algorithm::ES256)
    }

    pub(crate) fn of(kind: &'static rcgen::SignatureAlgorithm, algorithm: Algorithm) -> Self {
        let pair = rcgen::KeyPair::generate_for(kind).unwrap();
        let private = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        let mut public = Jwk::from_encoding_key(&private, algorithm).unwrap();
        public.common.key_id = Some("one".to_owned());
        let keys = json!({"keys": [public]}).to_string();
        Self {
            private,
            algorithm,
            keys,
        }
    }

    /// Publishes the documents under `https://HOST`, and answers that URL.
    pub(crate) fn publish(&self, world: &World, host: &str) -> String {
        let url = format!("https://{host}");
        let discovery = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
        let json = "application/json";
        for (path, body) in [
            ("/.well-known/openid-configuration", &discovery),
            ("/keys", &self.keys),
        ] {
            world.sandbox.publish(host, path, json, body.as_bytes());
        }
        url
    }

    pub(crate) fn token(&self, kid: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = kid.map(str::to_owned);
        jsonwebtoken::encode(&header, claims, &self.private).unwrap()
    }
}
