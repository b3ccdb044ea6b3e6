use super::*;
use crate::signer::fixture::Certified;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};

/// Made for these tests with `openssl genpkey`; they sign nothing anywhere.
const LARGEST: &str = include_str!("largest.pem");
const LONG: &str = include_str!("long.pem");
const SHORT: &str = include_str!("../signing_key/short_rsa.pem");

const MESSAGE: &[u8] = b"header.payload";

fn verified(key: &str, message: &[u8], signature: &[u8]) -> bool {
    let public = parse(key).unwrap().public_key().as_ref().to_vec();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public);
    public.verify(message, signature).is_ok()
}

/// The same key in PKCS#8 and in PKCS#1.
fn encodings() -> [String; 2] {
    let made = Certified::root(&PKCS_RSA_SHA256);
    // Version, algorithm and the heads of three values stand before the key (RFC 5208 §5).
    let pkcs1 = pem::encode("RSA PRIVATE KEY", &made.key.serialized_der()[26..]);
    [made.key_pem(), pkcs1.to_string()]
}

#[test]
fn a_signature_is_checked_by_the_public_key() {
    let [pkcs8, pkcs1] = encodings();
    let signature = sign_rs256(&pkcs8, MESSAGE).unwrap();
    assert_eq!(signature.len(), 256);
    assert!(verified(&pkcs8, MESSAGE, &signature));
    assert!(!verified(&pkcs8, b"header.payloae", &signature));
    // The padding holds nothing random (RFC 8017 §9.2).
    assert_eq!(sign_rs256(&pkcs1, MESSAGE), Ok(signature));

    let signature = sign_rs256(LARGEST, MESSAGE).unwrap();
    assert_eq!(signature.len(), 512);
    assert!(verified(LARGEST, MESSAGE, &signature));
}

#[test]
fn any_other_key_is_refused() {
    let [pkcs8, pkcs1] = encodings();
    let other = Certified::root(&PKCS_ECDSA_P256_SHA256).key_pem();
    let relabelled = |label: &str| pkcs8.replace("PRIVATE KEY", label);
    for (key, error) in [
        ("", RsaError::NO_PEM),
        ("canary", RsaError::NO_PEM),
        (&pkcs8.repeat(2), RsaError::NO_PEM),
        (&pkcs8.replace('\n', "\\n"), RsaError::NO_PEM),
        (&relabelled("ENCRYPTED PRIVATE KEY"), RsaError::NO_PEM),
        (&relabelled("CERTIFICATE"), RsaError::NO_PEM),
        (&relabelled("RSA PRIVATE KEY"), RsaError::UNUSABLE),
        (&pkcs1.replace("RSA ", ""), RsaError::UNUSABLE),
        (&pem::encode("PRIVATE KEY", b"canary"), RsaError::UNUSABLE),
        (&other, RsaError::UNUSABLE),
        (SHORT, RsaError::SIZE),
        (LONG, RsaError::SIZE),
    ] {
        assert_eq!(sign_rs256(key, MESSAGE), Err(error), "{error}");
    }
}

#[test]
fn numbers_that_do_not_belong_together_sign_nothing() {
    let (label, der) = pem::decode(LARGEST).unwrap();
    let step = der.len() / 97;
    for place in (0..der.len()).step_by(step) {
        let mut broken = der.clone();
        broken[place] ^= 1;
        let signed = sign_rs256(&pem::encode(label, &broken), MESSAGE);
        // A flaw in what is not a part of the key's numbers, as an absent parameter, is none.
        if let Ok(signature) = signed {
            assert!(verified(LARGEST, MESSAGE, &signature), "{place}");
        }
    }
}

#[test]
fn what_is_larger_than_any_in_use_is_refused() {
    let padded = |bytes: usize| format!("{LARGEST:>bytes$}");
    let message = |bytes: usize| vec![b'a'; bytes];
    assert!(sign_rs256(&padded(MAX_KEY_BYTES), &message(MAX_MESSAGE_BYTES)).is_ok());
    for (key, message, what) in [
        (padded(MAX_KEY_BYTES + 1), message(0), "private key"),
        (
            LARGEST.to_owned(),
            message(MAX_MESSAGE_BYTES + 1),
            "message",
        ),
    ] {
        let error = sign_rs256(&key, &message).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(matches!(error, RsaError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn an_error_shows_nothing_of_the_key() {
    for key in [
        "canary",
        "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----",
    ] {
        let error = sign_rs256(key, MESSAGE).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}
