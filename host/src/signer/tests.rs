use super::fixture::{Certified, HOUR, ID, KINDS, claims, now, object, signer};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation};
use serde_json::json;
use spiffe::bundle::BundleSource;
use spiffe::{JwtBundle, JwtSvid};
use std::time::Duration;

/// A relying party of SPIFFE, which has read our bundle.
#[derive(Debug)]
struct RelyingParty(JwtBundle);

impl RelyingParty {
    fn new(bundle: &Value) -> Self {
        let mut known = JwtBundle::new("example.org".try_into().unwrap());
        for key in bundle["keys"].as_array().unwrap() {
            if key["use"] == "jwt-svid" {
                known
                    .add_jwk_authority_json(key.to_string().as_bytes())
                    .unwrap();
            }
        }
        Self(known)
    }
}

impl BundleSource for RelyingParty {
    type Item = JwtBundle;
    type Error = std::io::Error;

    fn bundle_for_trust_domain(
        &self,
        trust_domain: &spiffe::TrustDomain,
    ) -> Result<Option<Arc<JwtBundle>>, Self::Error> {
        let own = self.0.trust_domain() == trust_domain;
        Ok(own.then(|| Arc::new(self.0.clone())))
    }
}

fn signed(signer: &Signer) -> Secret {
    let now = now();
    signer
        .sign_jwt(&object("team-a"), &claims(now), now)
        .unwrap()
}

/// The part of a token, decoded.
fn part(token: &Secret, number: usize) -> Value {
    let part = token.expose().split('.').nth(number).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[test]
fn an_independent_library_takes_the_token_for_a_jwt_svid() {
    for (kind, algorithm) in KINDS {
        let signer = signer(Certified::root(kind).signing_key());
        let token = signed(&signer);
        let party = RelyingParty::new(&signer.bundle(now()));
        let audience = ["https://registry.example"];
        let svid = JwtSvid::parse_and_validate(token.expose(), &party, &audience).unwrap();
        assert_eq!(svid.spiffe_id().to_string(), ID, "{algorithm}");
        assert!(JwtSvid::parse_and_validate(token.expose(), &party, &["other"]).is_err());
    }
}

#[test]
fn an_oidc_relying_party_takes_the_token_by_the_key_set() {
    for (kind, algorithm) in KINDS {
        let signer = signer(Certified::root(kind).signing_key());
        let token = signed(&signer);
        let header = jsonwebtoken::decode_header(token.expose()).unwrap();
        let keys: JwkSet = serde_json::from_value(signer.jwks(now())).unwrap();
        let key = keys.find(&header.kid.unwrap()).unwrap();
        assert_eq!(serde_json::to_value(key).unwrap()["alg"], algorithm);
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&["https://issuer.example"]);
        validation.set_audience(&["https://registry.example"]);
        validation.sub = Some(ID.into());
        let key = DecodingKey::from_jwk(key).unwrap();
        jsonwebtoken::decode::<Value>(token.expose(), &key, &validation).unwrap();
    }
}

#[test]
fn a_token_holds_three_headers_and_seven_claims() {
    let signer = signer(Certified::root(KINDS[1].0).signing_key());
    let token = signed(&signer);
    let kid = signer.jwks(now())["keys"][0]["kid"].clone();
    assert_eq!(
        part(&token, 0),
        json!({"alg": "ES256", "kid": kid, "typ": "JWT"})
    );
    let expected: Value = serde_json::from_str(&claims(now())).unwrap();
    let names = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&part(&token, 1)), names(&expected));
}

#[test]
fn nothing_is_signed_for_another_object() {
    let signer = signer(Certified::root(KINDS[1].0).signing_key());
    let now = now();
    let token = signer.sign_jwt(&object("team-b"), &claims(now), now);
    assert!(matches!(token, Err(SignerError::Refused(_))));
    for id in [
        "spiffe://example.org/ocirepositories/team-b/app",
        "spiffe://example.org/ocirepositories/team-a/app2",
        "SPIFFE://example.org/ocirepositories/team-a/app",
        "spiffe://example.org",
        "",
    ] {
        let issued = signer.issue_x509(&object("team-a"), id, now + HOUR, now);
        assert!(matches!(issued, Err(SignerError::Refused(_))), "{id}");
    }
    let nameless = signer.issue_x509(&object(".."), ID, now + HOUR, now);
    assert!(matches!(nameless, Err(SignerError::Refused(_))));
}

#[test]
fn a_provider_chooses_no_audience() {
    let signer = signer(Certified::root(KINDS[1].0).signing_key());
    let now = now();
    let sign = |audiences: &[&str]| {
        let audiences: Vec<String> = audiences.iter().map(|text| (*text).into()).collect();
        signer.sign_jwt_for(&object("team-a"), &audiences, &claims(now), now)
    };
    assert!(sign(&["other", "https://registry.example"]).is_ok());
    for audiences in [&[][..], &["other"], &["https://registry.example/"]] {
        assert!(matches!(sign(audiences), Err(SignerError::Refused(_))));
    }
}

#[test]
fn without_an_issuer_certificates_alone_are_signed() {
    let key = Certified::root(KINDS[1].0).signing_key();
    let keys = Arc::new(FixedKey::new(key));
    let signer = Signer::new("example.org".parse().unwrap(), None, keys);
    let now = now();
    let token = signer.sign_jwt(&object("team-a"), &claims(now), now);
    assert!(matches!(token, Err(SignerError::NotGranted(_))));
    assert!(signer.discovery_document().is_err());
    assert!(
        signer
            .issue_x509(&object("team-a"), ID, now + HOUR, now)
            .is_ok()
    );
}

#[test]
fn the_bundle_has_each_key_under_its_use() {
    let root = Certified::root(KINDS[0].0);
    let bundle = signer(root.signing_key()).bundle(now());
    let keys = bundle["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0]["use"], "jwt-svid");
    assert!(keys[0]["kid"].is_string());
    assert!(keys[0].get("x5c").is_none());
    assert_eq!(keys[1]["use"], "x509-svid");
    assert!(keys[1].get("kid").is_none());
    let certificate = base64::engine::general_purpose::STANDARD.encode(root.certificate.der());
    assert_eq!(keys[1]["x5c"], json!([certificate]));
    assert_eq!(keys[0]["n"], keys[1]["n"]);
    assert_eq!(bundle["spiffe_refresh_hint"], 300);
    assert!(bundle["spiffe_sequence"].is_u64());
}

#[test]
fn the_configuration_says_where_the_keys_are() {
    let document = signer(Certified::root(KINDS[1].0).signing_key()).discovery_document();
    let expected = json!({
        "issuer": "https://issuer.example",
        "jwks_uri": "https://issuer.example/keys",
        "authorization_endpoint": "",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256", "ES384"],
    });
    assert_eq!(document, Ok(expected));
}

/// A history behind a lock, as a source that is rotated has it.
#[derive(Debug, Default)]
struct Rotated(std::sync::Mutex<KeyHistory>);

impl SigningKeys for Rotated {
    fn current(&self) -> Result<Arc<SigningKey>, SignerError> {
        let history = self.0.lock().unwrap();
        let current = history.current().map(Arc::clone);
        current.ok_or_else(|| SignerError::Unavailable("none".into()))
    }

    fn published(&self, now: SystemTime) -> PublishedKeys {
        self.0.lock().unwrap().published(now)
    }
}

#[test]
fn a_key_is_published_for_as_long_as_what_it_signed_may_live() {
    let (first, second) = (Certified::root(KINDS[1].0), Certified::root(KINDS[2].0));
    let keys = Arc::new(Rotated::default());
    let issuer = "https://issuer.example".parse().unwrap();
    let signer = Signer::new("example.org".parse().unwrap(), Some(issuer), keys.clone());
    let start = now();
    let count = |after: Duration| {
        let jwks = signer.jwks(start + after);
        jwks["keys"].as_array().unwrap().len()
    };
    let sequence = |after: Duration| signer.bundle(start + after)["spiffe_sequence"].as_u64();
    let rotate = |key: &Certified, after: Duration| {
        let mut history = keys.0.lock().unwrap();
        history.rotate(key.signing_key(), start + after)
    };
    assert_eq!(count(Duration::ZERO), 0);
    assert!(rotate(&first, Duration::ZERO));
    let token = signed(&signer);
    let before = sequence(Duration::ZERO);
    assert!(
        !rotate(&first, Duration::from_secs(1)),
        "it is the same key"
    );
    assert_eq!(sequence(Duration::from_secs(1)), before);

    assert!(rotate(&second, Duration::from_secs(2)));
    assert_ne!(part(&signed(&signer), 0)["kid"], part(&token, 0)["kid"]);
    assert!(sequence(Duration::from_secs(2)) > before);
    let party = RelyingParty::new(&signer.bundle(start + HOUR));
    let audience = ["https://registry.example"];
    assert!(JwtSvid::parse_and_validate(token.expose(), &party, &audience).is_ok());
    assert_eq!(count(Duration::from_secs(2 + 3_659)), 2);
    assert_eq!(count(Duration::from_secs(2 + 3_660)), 1);
    let ended = sequence(Duration::from_secs(2 + 3_660));
    assert!(ended > sequence(Duration::from_secs(2 + 3_659)));

    keys.0.lock().unwrap().withdraw(start + HOUR * 3);
    assert!(
        signer
            .sign_jwt(&object("team-a"), &claims(start), start)
            .is_err()
    );
    assert_eq!(count(HOUR * 3), 1);
    assert_eq!(count(HOUR * 5), 0);
    let withdrawn = sequence(HOUR * 3);
    assert!(withdrawn > ended);
    keys.0.lock().unwrap().withdraw(start + HOUR * 3);
    assert_eq!(sequence(HOUR * 3), withdrawn, "there was none to withdraw");
}

#[test]
fn a_key_that_returns_is_published_once() {
    let (first, second) = (Certified::root(KINDS[1].0), Certified::root(KINDS[1].0));
    let mut history = KeyHistory::default();
    for key in [&first, &second, &first, &second, &first] {
        assert!(history.rotate(key.signing_key(), now()));
    }
    assert_eq!(history.published(now()).keys.len(), 2);
}
