//! An outside issuer of the test's own.

use gatepass_sandbox::FederatedCredential;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::{AUDIENCE, CLIENT};
use crate::world::World;

pub(super) const HOST: &str = "issuer.example";
pub(super) const URL: &str = "https://issuer.example";

pub(super) struct Issuer {
    private: EncodingKey,
    public: Jwk,
}

impl Issuer {
    pub(super) fn create() -> Self {
        let size = rcgen::RsaKeySize::_2048;
        let pair = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, size).unwrap();
        let private = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap();
        let mut public = Jwk::from_encoding_key(&private, Algorithm::RS256).unwrap();
        public.common.key_id = Some("one".to_owned());
        Self { private, public }
    }

    /// Publishes the issuer's documents and lets its `job` stand for tenant A's application.
    pub(super) fn join(&self, world: &World) {
        self.publish(
            world,
            json!({"issuer": URL, "jwks_uri": format!("{URL}/keys")}),
        );
        let credential = FederatedCredential {
            issuer: URL.to_owned(),
            subject: "job".to_owned(),
            audience: AUDIENCE.to_owned(),
        };
        let azure = world.sandbox.azure();
        azure.federated_credential(CLIENT, credential).unwrap();
    }

    pub(super) fn publish(&self, world: &World, discovery: Value) {
        let keys = json!({"keys": [self.public]});
        for (path, document) in [
            ("/.well-known/openid-configuration", discovery),
            ("/keys", keys),
        ] {
            let body = document.to_string();
            world
                .sandbox
                .publish(HOST, path, "application/json", body.as_bytes());
        }
    }

    pub(super) fn token(&self, key: Option<&str>, algorithm: Algorithm, claims: &Value) -> String {
        let mut header = Header::new(algorithm);
        header.kid = key.map(str::to_owned);
        jsonwebtoken::encode(&header, claims, &self.private).unwrap()
    }

    /// The claims of a good token at this time.
    pub(super) fn claims(now: i64) -> Value {
        json!({"iss": URL, "sub": "job", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 600})
    }
}
