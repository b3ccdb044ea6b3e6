//! Which files are an identity, and what an assertion says; its signature is checked by another
//! implementation.

use super::*;
use crate::Azure;
use aws_lc_rs::signature::{RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents};
use gatepass_sdk::testing::{self, NOW, ScriptedHost};
use gatepass_sdk::{ErrorCode, Exchange, Facts, Provider, Request, Source, Subject, egress};
use rcgen::{CertificateParams, KeyPair, PKCS_RSA_SHA256, RsaKeySize};
use serde_json::Value;
use std::sync::OnceLock;

const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";
const PATH: &str = "/etc/azure/client.pem";
const AUDIENCE: &str = "https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token";

/// A key and its certificate. Making an RSA key takes a noticeable part of a second.
fn rsa() -> &'static (KeyPair, rcgen::Certificate) {
    static IDENTITY: OnceLock<(KeyPair, rcgen::Certificate)> = OnceLock::new();
    IDENTITY.get_or_init(|| identity(generate(RsaKeySize::_2048)))
}

fn generate(size: RsaKeySize) -> KeyPair {
    KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size).unwrap()
}

fn identity(key: KeyPair) -> (KeyPair, rcgen::Certificate) {
    let certificate = CertificateParams::new(vec!["app.example".into()]);
    let certificate = certificate.unwrap().self_signed(&key).unwrap();
    (key, certificate)
}

fn pem() -> String {
    let (key, certificate) = rsa();
    format!("{}{}", certificate.pem(), key.serialize_pem())
}

fn section(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

fn assertion_of(pem: &str, host: &ScriptedHost) -> Result<Secret, Error> {
    let client = ClientId::parse("client", CLIENT).unwrap();
    assertion(PATH, pem.as_bytes(), &client, AUDIENCE, host)
}

fn part(token: &str, index: usize) -> Vec<u8> {
    let part = token.split('.').nth(index).unwrap();
    URL_SAFE_NO_PAD.decode(part).unwrap()
}

/// Checks a signature as the specification of JWTs has it (RFC 7518 §3.5).
fn verify(token: &str, key: &KeyPair) {
    let key = RsaKey::pkcs8(&key.serialize_der()).unwrap();
    let public = RsaPublicKeyComponents {
        n: key.modulus.as_slice(),
        e: EXPONENT.as_slice(),
    };
    let (signed, _) = token.rsplit_once('.').unwrap();
    let signature = part(token, 2);
    public
        .verify(&RSA_PSS_2048_8192_SHA256, signed.as_bytes(), &signature)
        .unwrap();
}

#[test]
fn an_assertion_is_signed_and_says_who_where_and_how_long() {
    let (key, certificate) = rsa();
    let token = assertion_of(&pem(), &ScriptedHost::new()).unwrap();
    let header: Value = serde_json::from_slice(&part(token.expose(), 0)).unwrap();
    let thumbprint = URL_SAFE_NO_PAD.encode(Sha256::digest(certificate.der()));
    assert_eq!(
        header,
        json!({"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint})
    );
    let claims: Value = serde_json::from_slice(&part(token.expose(), 1)).unwrap();
    let now = NOW.as_secs();
    for (name, value) in [
        ("aud", json!(AUDIENCE)),
        ("iss", json!(CLIENT)),
        ("sub", json!(CLIENT)),
        ("nbf", json!(now)),
        ("iat", json!(now)),
        ("exp", json!(now + 600)),
    ] {
        assert_eq!(claims[name], value, "{name}");
    }
    verify(token.expose(), key);
    let again = assertion_of(&pem(), &ScriptedHost::new()).unwrap();
    let again: Value = serde_json::from_slice(&part(again.expose(), 1)).unwrap();
    assert_ne!(claims["jti"], again["jti"], "each has a name of its own");
}

#[test]
fn every_order_and_form_of_a_file_is_read() {
    let (key, certificate) = rsa();
    let pkcs8 = key.serialize_der();
    let mut info = Reader::new(&pkcs8).sequence().unwrap();
    info.element(INTEGER).unwrap();
    info.element(SEQUENCE).unwrap();
    let pkcs1 = section("RSA PRIVATE KEY", info.element(OCTET_STRING).unwrap());
    let (leaf, key_pem) = (certificate.pem(), key.serialize_pem());
    let parameters = section("DH PARAMETERS", b"x");
    for pem in [
        format!("{key_pem}{leaf}"),
        format!("{leaf}{pkcs1}"),
        format!("Bag Attributes\n  x: y\n{leaf}\n\n{key_pem}\n"),
        format!("{parameters}{leaf}{key_pem}"),
        format!("{leaf}{key_pem}").replace('\n', "\r\n"),
    ] {
        let token = assertion_of(&pem, &ScriptedHost::new()).unwrap();
        verify(token.expose(), key);
    }
}

#[test]
fn the_chain_is_sent_only_where_it_is_asked_for() {
    let other = KeyPair::generate().unwrap();
    let (_, above) = identity(other);
    let (_, certificate) = rsa();
    let pem = format!("{}{}", pem(), above.pem());
    for (value, sent) in [("true", true), ("1", true), ("false", false), ("", false)] {
        let host = ScriptedHost::new().variable(CHAIN_VARIABLE, value);
        let token = assertion_of(&pem, &host).unwrap();
        let header: Value = serde_json::from_slice(&part(token.expose(), 0)).unwrap();
        let chain = [certificate.der(), above.der()].map(|der| STANDARD.encode(der));
        let expected = if sent { json!(chain) } else { Value::Null };
        assert_eq!(header["x5c"], expected, "{value}");
    }
}

#[test]
fn a_file_that_is_no_identity_is_refused_and_not_shown() {
    let (key, certificate) = rsa();
    let (leaf, key_pem) = (certificate.pem(), key.serialize_pem());
    let der = key.serialize_der();
    let elliptic = KeyPair::generate().unwrap();
    let (stranger, _) = identity(KeyPair::generate().unwrap());
    let other = generate(RsaKeySize::_2048);
    let long = der.len();
    let cut = section("PRIVATE KEY", &der[..long / 2]);
    let encrypted = section("ENCRYPTED PRIVATE KEY", &der);
    let (malformed, unsupported) = (ErrorCode::InvalidConfiguration, ErrorCode::Unsupported);
    for (pem, code, word) in [
        (String::new(), malformed, "no key"),
        ("hunter2".into(), malformed, "no key"),
        (leaf.clone(), malformed, "no key"),
        (key_pem.clone(), malformed, "no certificate"),
        (
            format!("{leaf}{key_pem}{key_pem}"),
            malformed,
            "more than one",
        ),
        (format!("{leaf}{encrypted}"), malformed, "without password"),
        (format!("{leaf}{cut}"), malformed, "cut off"),
        (
            format!("{leaf}{}", section("PRIVATE KEY", b"")),
            malformed,
            "cut off",
        ),
        (
            format!("{leaf}{}", section("RSA PRIVATE KEY", &der)),
            malformed,
            "cut off",
        ),
        (
            format!("{leaf}-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n"),
            malformed,
            "broken",
        ),
        (
            format!("{leaf}{}", key_pem.split("-----END").next().unwrap()),
            malformed,
            "broken",
        ),
        (
            format!("{leaf}{}", other.serialize_pem()),
            malformed,
            "first certificate",
        ),
        (
            format!("{leaf}{}", elliptic.serialize_pem()),
            unsupported,
            "not RSA",
        ),
        (
            format!(
                "{leaf}{}",
                section("EC PRIVATE KEY", &stranger.serialize_der())
            ),
            unsupported,
            "not RSA",
        ),
    ] {
        let error = assertion_of(&pem, &ScriptedHost::new()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(error.message().contains(CERTIFICATE_VARIABLE), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
    let binary = [0x30, 0x82, 0xff];
    let client = ClientId::parse("client", CLIENT).unwrap();
    assert!(assertion(PATH, &binary, &client, AUDIENCE, &ScriptedHost::new()).is_err());
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let (key, certificate) = rsa();
    let whole = format!("{}{}", key.serialize_pem(), certificate.pem());
    for end in (0..whole.trim_end().len()).step_by(5) {
        let pem = whole.split_at(end).0.as_bytes();
        assert!(Identity::read(pem).is_err(), "{end}");
    }
    let der = key.serialize_der();
    for end in 0..der.len() {
        assert!(RsaKey::pkcs8(&der[..end]).is_err(), "{end}");
    }
}

#[test]
fn keys_of_odd_sizes_and_exponents_are_unsupported() {
    let integer = |bytes: &[u8]| {
        let length = u16::try_from(bytes.len() + 1).unwrap().to_be_bytes();
        [&[0x02, 0x82], &length[..], &[0x00], bytes].concat()
    };
    let key = |modulus: usize, public: &[u8], private: usize| {
        let parts = [
            vec![0x02, 0x01, 0x00],
            integer(&vec![0xc1; modulus]),
            integer(public),
            integer(&vec![0x55; private]),
        ]
        .concat();
        let length = u16::try_from(parts.len()).unwrap().to_be_bytes();
        RsaKey::pkcs1(&[&[0x30, 0x82], &length[..], &parts].concat()).map(|_| ())
    };
    for size in MODULUS_BYTES {
        assert_eq!(key(size, &EXPONENT, size), Ok(()));
        assert_eq!(key(size, &EXPONENT, size - 1), Ok(()));
        assert_eq!(
            key(size, &EXPONENT, size + 1),
            Err(Fault::Malformed(BROKEN))
        );
    }
    for (modulus, public) in [
        (128, &EXPONENT[..]),
        (255, &EXPONENT),
        (1024, &EXPONENT),
        (256, &[3]),
    ] {
        let outcome = key(modulus, public, modulus);
        assert!(matches!(outcome, Err(Fault::Unsupported(_))), "{modulus}");
    }
    // A modulus that is even has no inverse to count with: the signature fails, and nothing else.
    let even = RsaKey {
        modulus: vec![0xc2; 256],
        exponent: Zeroizing::new(vec![0x55; 256]),
    };
    assert!(even.sign(b"x").is_err());
}

#[test]
fn a_password_is_unsupported() {
    let host = ScriptedHost::new().variable(PASSWORD_VARIABLE, "hunter2");
    let error = assertion_of(&pem(), &host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    assert!(!error.message().contains("hunter2"), "{error}");
}

#[test]
fn the_ambient_chain_sends_the_assertion() {
    let host = ScriptedHost::new()
        .variable("AZURE_TENANT_ID", "contoso.com")
        .variable("AZURE_CLIENT_ID", CLIENT)
        .variable(CERTIFICATE_VARIABLE, PATH)
        .file(PATH, pem().as_bytes())
        .answer(egress::Response::new(
            200,
            br#"{"token_type":"Bearer","expires_in":3599,"access_token":"at"}"#,
        ));
    let exchange = Exchange {
        subject: Subject::Ambient,
        identity: "ambient".into(),
        facts: Facts::Some(Default::default()),
        source: Source::Ambient,
        request: Request::default(),
    };
    let credential = Azure.exchange(&exchange, &host).unwrap();
    let source = ("source".to_owned(), "client-certificate".to_owned());
    assert!(credential.attributes.contains(&source));
    let [sent] = host.sent().try_into().unwrap();
    assert_eq!(sent.url(), AUDIENCE);
    let body = testing::body(&sent);
    let (_, token) = body.split_once("jwt-bearer&client_assertion=").unwrap();
    verify(token, &rsa().0);
}
