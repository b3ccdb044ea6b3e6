//! Objects that are signed for, and `gatepass issuer`.

use crate::world::{Ran, World};
use gatepass_tests::signing::{ISSUER, SigningSecret};

const OBJECT: &str = "--object configmaps.v1/tenant-a/app";

/// A world whose configuration signs with the key of a Secret.
async fn world() -> World {
    let world = World::new().await;
    SigningSecret::new().unwrap().apply(&world.sandbox).unwrap();
    let kubernetes = world.sandbox.kubernetes();
    kubernetes.apply_config_map("tenant-a", "app", &[]).unwrap();
    let configuration = world.configuration("[{bundled: spiffe}]");
    let spiffe = format!(
        "spiffe: {{trustDomain: example.org, issuer: '{ISSUER}', secretName: spiffe-signing, secretNamespace: gatepass}}\n"
    );
    world.write("gatepass.yaml", &format!("{configuration}{spiffe}"));
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_gets_a_token_that_the_published_keys_verify() {
    let world = world().await;
    let issued = world.run(&format!("token spiffe {OBJECT} --audience vault -o json"));
    let issued = issued.json();
    assert_eq!(
        issued["identity"],
        "spiffe://example.org/configmaps/tenant-a/app"
    );
    let discovery = world.run("issuer discovery").json();
    assert_eq!(discovery["issuer"], ISSUER);
    let (jwks, bundle) = (
        world.run("issuer jwks").json(),
        world.run("issuer bundle").json(),
    );
    assert_eq!(jwks["keys"][0]["use"], "sig");
    let uses: Vec<_> = bundle["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["use"])
        .collect();
    assert_eq!(uses, ["jwt-svid", "x509-svid"]);
    let all = format!("{discovery}{jwks}{bundle}");
    assert!(!all.contains("\"d\""), "a private part was printed");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_lie_over_the_configuration() {
    let world = world().await;
    let line = format!("token spiffe {OBJECT} --audience vault -o json");
    let issued = world
        .run(&format!("{line} --spiffe-trust-domain other.example"))
        .json();
    assert_eq!(
        issued["identity"],
        "spiffe://other.example/configmaps/tenant-a/app"
    );
    for (flag, words) in [
        ("--spiffe-secret-name absent", "absent"),
        ("--spiffe-trust-domain Bad_Domain!", "trust domain"),
        ("--spiffe-issuer http://plain.example", "https"),
    ] {
        world.run(&format!("{line} {flag}")).refused(3, &[words]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nothing_is_signed_nor_told() {
    let world = World::new().await;
    world
        .run("issuer jwks")
        .refused(3, &["--spiffe-trust-domain"]);
    let half = "issuer jwks --spiffe-trust-domain example.org";
    world.run(half).refused(3, &["--spiffe-secret-name"]);
    let help = Ran::of(crate::world::program().args(["issuer", "--help"])).ok();
    assert!(
        help.contains("discovery") && help.contains("bundle"),
        "{help}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_not_be_read_is_for_the_clusters_administrator() {
    let world = world().await;
    world.write("kubeconfig", &world.sandbox.kubernetes().kubeconfig("jane"));
    world
        .run("issuer jwks")
        .refused(5, &["403", "list and watch"]);
}
