//! What it costs to sign a token, beside the bare signature: at most 1.3 times as much.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "criterion's macros make undocumented items, and a broken benchmark may end"
)]

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use criterion::{Criterion, criterion_group, criterion_main};
use gatepass::ObjectReference;
use gatepass::signer::{FixedKey, Signer, SigningKey};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const NOW: u64 = 1_767_225_600;

fn object() -> ObjectReference {
    ObjectReference {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: "OCIRepository".into(),
        resource: "ocirepositories".into(),
        namespace: "team-a".into(),
        name: "app".into(),
        uid: "0f8f3e7a-7b3c-4f0e-9a55-6f2f0f1d7c11".into(),
    }
}

fn claims() -> String {
    format!(
        r#"{{"iss":"https://issuer.example","sub":"spiffe://example.org/ocirepositories/team-a/app","aud":["https://registry.example"],"exp":{},"nbf":{NOW},"iat":{NOW},"jti":"0f8f3e7a-7b3c-4f0e-9a55-6f2f0f1d7c11"}}"#,
        NOW + 3_600
    )
}

fn signer(key: &KeyPair) -> Signer {
    let key = SigningKey::parse(key.serialize_pem().as_bytes(), b"").unwrap();
    Signer::new(
        "example.org".parse().unwrap(),
        Some("https://issuer.example".parse().unwrap()),
        Arc::new(FixedKey::new(key)),
    )
}

fn tokens(criterion: &mut Criterion) {
    let (object, claims) = (object(), claims());
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
    let random = SystemRandom::new();
    // As long as what is signed of a token.
    let message = vec![b'a'; 450];

    let key = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    let bare = RsaKeyPair::from_pkcs8(key.serialized_der()).unwrap();
    let mut signature = vec![0; bare.public_modulus_len()];
    criterion.bench_function("RS256 bare", |bencher| {
        bencher.iter(|| {
            let message = black_box(&message);
            bare.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                .unwrap();
        });
    });
    let own = signer(&key);
    criterion.bench_function("RS256 sign_jwt", |bencher| {
        bencher.iter(|| own.sign_jwt(&object, black_box(&claims), now).unwrap());
    });

    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let bare =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.serialized_der()).unwrap();
    criterion.bench_function("ES256 bare", |bencher| {
        bencher.iter(|| bare.sign(&random, black_box(&message)).unwrap());
    });
    let own = signer(&key);
    criterion.bench_function("ES256 sign_jwt", |bencher| {
        bencher.iter(|| own.sign_jwt(&object, black_box(&claims), now).unwrap());
    });
}

criterion_group!(benches, tokens);
criterion_main!(benches);
