use super::*;
use crate::signer::fixture::{Certified, KINDS, authority};
use crate::signer::pem;
use aws_lc_rs::encoding::{AsDer as _, EcPrivateKeyRfc5915Der};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rcgen::{PKCS_ECDSA_P521_SHA512, PKCS_ED25519};

/// Made for this test with `openssl genrsa 1024`; it signs nothing anywhere.
const SHORT_RSA: &str = include_str!("short_rsa.pem");

fn parse(key: &str, certificates: &str) -> Result<SigningKey, KeyError> {
    SigningKey::parse(key.as_bytes(), certificates.as_bytes())
}

#[test]
fn the_algorithm_follows_the_key() {
    for (kind, algorithm) in KINDS {
        let root = Certified::root(kind);
        let key = parse(&root.key_pem(), &root.pem()).unwrap();
        assert_eq!(key.verification().algorithm(), algorithm);
        assert!(key.authority().is_ok());
        let alone = parse(&root.key_pem(), " \n").unwrap();
        assert_eq!(alone.verification().id(), key.verification().id());
        assert!(matches!(alone.authority(), Err(SignerError::NotGranted(_))));
    }
}

#[test]
fn every_encoding_of_a_key_is_read() {
    let rsa = Certified::root(KINDS[0].0);
    // Version, algorithm and the heads of three values stand before the key (RFC 5208 §5).
    let pkcs1 = pem::encode("RSA PRIVATE KEY", &rsa.key.serialized_der()[26..]);
    let same = |one: &str, other: &str| {
        let id = |key: &str| parse(key, "").unwrap().verification().id().to_owned();
        assert_eq!(id(one), id(other));
    };
    same(&pkcs1, &rsa.key_pem());

    let ec = Certified::root(KINDS[1].0);
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, ec.key.serialized_der());
    let sec1: EcPrivateKeyRfc5915Der<'_> = pair.unwrap().private_key().as_der().unwrap();
    let sec1 = pem::encode("EC PRIVATE KEY", sec1.as_ref());
    same(&sec1, &ec.key_pem());
    same(&format!("a comment\n{}", ec.key_pem()), &ec.key_pem());
}

#[test]
fn any_other_key_is_refused() {
    let made = |kind| Certified::root(kind).key_pem();
    let good = made(KINDS[1].0);
    let twice = format!("{good}{good}");
    let cut = good.replace("-----END PRIVATE KEY-----", "");
    let encrypted = good.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let mislabelled = good.replace("PRIVATE KEY", "RSA PRIVATE KEY");
    let garbled = pem::encode("PRIVATE KEY", b"canary");
    for (key, error) in [
        ("", KeyError::PrivateKeys),
        ("canary", KeyError::PrivateKeys),
        (&twice, KeyError::PrivateKeys),
        (&cut, KeyError::PrivateKeys),
        (&encrypted, KeyError::PrivateKeys),
        (&Certified::root(KINDS[1].0).pem(), KeyError::PrivateKeys),
        (&mislabelled, KeyError::UnsupportedKey),
        (&garbled, KeyError::UnsupportedKey),
        (&made(&PKCS_ED25519), KeyError::UnsupportedKey),
        (&made(&PKCS_ECDSA_P521_SHA512), KeyError::UnsupportedKey),
        (SHORT_RSA, KeyError::RsaSize),
    ] {
        assert_eq!(parse(key, "").unwrap_err(), error, "{key:.60}");
    }
}

#[test]
fn no_bytes_of_a_key_make_it_panic() {
    for (kind, _) in &KINDS[1..] {
        let der = Certified::root(kind).key.serialized_der().to_vec();
        for position in 0..der.len() {
            for value in [0x00, 0x7f, 0xff] {
                let mut broken = der.clone();
                broken[position] = value;
                for label in ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"] {
                    let cut = pem::encode(label, &broken[..position]);
                    assert!(parse(&cut, "").is_err());
                    // Most are refused; what is taken signs.
                    let pem = pem::encode(label, &broken);
                    let taken = parse(&pem, "").map(|key| key.sign(b"x").is_ok());
                    assert!(taken.unwrap_or(true), "{label} {position}");
                }
            }
        }
    }
}

#[test]
fn a_certificate_that_cannot_be_read_or_is_anothers_is_refused() {
    let (own, other) = (Certified::root(KINDS[1].0), Certified::root(KINDS[1].0));
    let both = format!("{}{}", own.pem(), other.pem());
    let broken = pem::encode("CERTIFICATE", b"canary");
    let trailing = pem::encode(
        "CERTIFICATE",
        &[own.certificate.der().as_ref(), b"x"].concat(),
    );
    let cut = own.pem().replace("-----END CERTIFICATE-----", "");
    let upper_broken = format!("{}{}", own.pem(), broken.as_str());
    for (certificates, error) in [
        ("canary", KeyError::Certificate(0)),
        (&cut, KeyError::Certificate(0)),
        (&broken, KeyError::Certificate(0)),
        (&trailing, KeyError::Certificate(0)),
        (&upper_broken, KeyError::Certificate(1)),
        (&own.pem().repeat(9), KeyError::Certificate(8)),
        (&other.pem(), KeyError::AnotherKey),
    ] {
        assert_eq!(parse(&own.key_pem(), certificates).unwrap_err(), error);
    }
    // What is above it and has not signed it makes it no authority.
    let key = parse(&own.key_pem(), &both).unwrap();
    assert!(matches!(key.authority(), Err(SignerError::NotGranted(_))));
}

#[test]
fn a_key_cannot_be_printed() {
    let root = Certified::with(authority("root"), KINDS[1].0, None);
    let key = root.signing_key();
    let shown = format!("{key:?} {:?}", key.private);
    let id = key.verification().id();
    assert!(shown.contains(id), "{shown}");
    let secret = root.key_pem();
    for line in secret.lines().filter(|line| !line.starts_with('-')) {
        assert!(!shown.contains(line));
    }
    assert!(shown.contains("[private key]"), "{shown}");
}
