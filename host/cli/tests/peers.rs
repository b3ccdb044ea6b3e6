//! `gatepass oci` against a registry that is not ours.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where something is not as it must be"
)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatepass_tests::component;
use gatepass_tests::peer::certificate::Authority;
use gatepass_tests::peer::registry::{self, Accepts, Registry, Rights, User};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const REPOSITORY: &str = "team/app";
/// More than two chunks of the client.
const BIG: usize = 9 << 20;

/// A registry, three logins to it, and files to push.
struct World {
    registry: Registry,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let rights = |actions: &[&str]| {
            let actions = actions.iter().map(|action| (*action).to_owned()).collect();
            Rights::from([(REPOSITORY.to_owned(), actions)])
        };
        let user = |actions: &[&str]| User {
            password: "canary".into(),
            rights: rights(actions),
        };
        let users = BTreeMap::from([
            ("writer".to_owned(), user(&["pull", "push"])),
            ("reader".to_owned(), user(&["pull"])),
        ]);
        Self::of(Accepts::Tokens(users)).await
    }

    async fn of(accepts: Accepts) -> Self {
        let authority = Authority::new("gatepass tests").unwrap();
        let registry = registry::start(&component::target(), &authority, accepts)
            .await
            .unwrap();
        let world = Self {
            registry,
            folder: tempfile::tempdir().unwrap(),
        };
        fs::write(world.path("ca.pem"), authority.pem()).unwrap();
        let leaf = authority.issue(&["client.example"]).unwrap();
        leaf.write(world.folder.path()).unwrap();
        for (user, password) in [
            ("writer", "canary"),
            ("reader", "canary"),
            ("wrong", "canary-2"),
        ] {
            let auth = STANDARD.encode(format!("{user}:{password}"));
            let config = json!({ "auths": { world.registry.host(): { "auth": auth } } });
            fs::create_dir(world.path(user)).unwrap();
            fs::write(world.path(user).join("config.json"), config.to_string()).unwrap();
        }
        fs::create_dir_all(world.path("content/deep")).unwrap();
        fs::write(world.path("content/a.yaml"), "a: 1\n").unwrap();
        fs::write(world.path("content/deep/b.yaml"), "b: 2\n").unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn reference(&self, end: &str) -> String {
        format!("oci://{}/{REPOSITORY}{end}", self.registry.host())
    }

    /// Runs `gatepass oci` as this user of Docker's configuration; words that are paths are below our folder.
    fn run(&self, user: &str, words: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatepass"));
        command
            .env_clear()
            .env("DOCKER_CONFIG", self.path(user))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .arg("oci")
            .args(words)
            .args(["--registry-ca-file", "ca.pem", "-o", "json"]);
        Ran(command.output().unwrap())
    }

    fn push(&self, user: &str, path: &str, tag: &str) -> Ran {
        self.run(user, &["push", &self.reference(tag), path])
    }
}

struct Ran(Output);

impl Ran {
    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    #[track_caller]
    fn json(self) -> Value {
        assert_eq!(self.0.status.code(), Some(0), "{}", self.stderr());
        serde_json::from_slice(&self.0.stdout).unwrap()
    }

    #[track_caller]
    fn refused(self, code: i32, words: &[&str]) {
        let said = self.stderr();
        assert_eq!(self.0.status.code(), Some(code), "{said}");
        for word in words {
            assert!(said.contains(word), "no {word:?} in {said}");
        }
        assert!(!said.contains("canary"), "{said}");
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Bytes that do not get smaller.
fn noise() -> Vec<u8> {
    let mut state: u32 = 1;
    let mut next = || {
        // Xorshift (Marsaglia, 2003).
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_be_bytes()[0]
    };
    (0..BIG).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_is_pushed_listed_tagged_pulled_and_compared() {
    let world = World::new().await;
    let line = [
        "push",
        &world.reference(":v1"),
        "content",
        "--source",
        "https://git.example/app",
        "--revision",
        "main@sha1:0123",
    ];
    let pushed = world.run("writer", &line).json();
    assert_eq!(pushed["files"], 2);
    // The same files again are the same artifact.
    assert_eq!(world.run("writer", &line).json(), pushed);

    let tagged = ["tag", &world.reference(":v1"), "--tag", "v2,latest"];
    assert_eq!(
        world.run("writer", &tagged).json()["digest"],
        pushed["digest"]
    );
    let listed = world
        .run("reader", &["list", &world.reference(""), "--details"])
        .json();
    let line = |tag: &str| {
        json!({
            "tag": tag,
            "digest": pushed["digest"],
            "source": "https://git.example/app",
            "revision": "main@sha1:0123",
        })
    };
    assert_eq!(
        listed["tags"],
        json!([line("latest"), line("v1"), line("v2")])
    );

    let pinned = pushed["artifact"].as_str().unwrap();
    let pulled = world.run("reader", &["pull", pinned, "out"]).json();
    assert_eq!(pulled["digest"], pushed["digest"]);
    assert_eq!(text(&world.path("out/deep/b.yaml")), "b: 2\n");

    world
        .run("reader", &["diff", &world.reference(":v2"), "out"])
        .json();
    fs::write(world.path("out/a.yaml"), "a: 2\n").unwrap();
    let differs = world.run("reader", &["diff", &world.reference(":v2"), "out"]);
    let changes: Value = serde_json::from_slice(&differs.0.stdout).unwrap();
    assert_eq!(
        changes["changes"],
        json!([{ "path": "a.yaml", "change": "changed" }])
    );
    differs.refused(1, &["differ"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_is_told_who_must_act() {
    let world = World::new().await;
    world.push("writer", "content", ":v1").json();
    world
        .push("reader", "content", ":v2")
        .refused(4, &["cannot push", "administrator"]);
    world
        .push("wrong", "content", ":v2")
        .refused(4, &["token service refuses the login"]);
    world
        .push("nobody", "content", ":v2")
        .refused(4, &["docker login", "--creds"]);
    world
        .run("reader", &["pull", &world.reference(":v3"), "out"])
        .refused(3, &["manifest unknown", ":v3"]);
    assert!(!world.path("out").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_during_a_push_is_renewed() {
    let world = World::new().await;
    fs::write(world.path("content/noise"), noise()).unwrap();
    // Each token has expired for the client as it comes, and for the registry within its leeway.
    world.registry.tokens.set_behind(90);
    world.push("writer", "content", ":v1").json();
    let scope = format!("repository:{REPOSITORY}:pull,push");
    let asked = world.registry.tokens.asked();
    let renewed = asked.iter().filter(|asked| **asked == scope).count();
    // The beginning, the chunks and the end of the upload, the config and the manifest.
    assert!(renewed >= 7, "asked {renewed} times: {asked:?}");
    world.registry.tokens.set_behind(0);
    world
        .run("reader", &["diff", &world.reference(":v1"), "content"])
        .json();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_tampered_with_is_refused_and_nothing_of_it_stays() {
    let world = World::new().await;
    let pushed = world.push("writer", "content", ":v1").json();
    let manifest = text(&world.registry.blob(pushed["digest"].as_str().unwrap()));
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let layer = world
        .registry
        .blob(manifest["layers"][0]["digest"].as_str().unwrap());
    let mut bytes = fs::read(&layer).unwrap();
    bytes[20] ^= 1;
    fs::write(&layer, bytes).unwrap();
    world
        .run("reader", &["pull", &world.reference(":v1"), "out"])
        .refused(9, &["cannot fetch sha256:"]);
    assert!(!world.path("out").exists());
    let hidden = fs::read_dir(world.folder.path()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".gatepass-")
    });
    assert_eq!(hidden.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_a_file_goes_to_the_registry_as_it_is() {
    let world = World::new().await;
    let scope = format!("repository:{REPOSITORY}:pull,push");
    let token = world.registry.tokens.issue("writer", &scope).unwrap();
    fs::write(world.path("token"), format!("{token}\n")).unwrap();
    let reference = world.reference(":v1");
    let line = [
        "push",
        &reference,
        "content",
        "--creds=ServiceAccountToken",
        "--sa-token=token",
    ];
    world.run("nobody", &line).json();
    assert_eq!(world.registry.tokens.asked(), [""; 0]);
    fs::write(world.path("token"), "e30.e30.canary").unwrap();
    world
        .run("nobody", &line)
        .refused(4, &["authentication required", "administrator"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_of_an_unknown_authority_is_refused() {
    let world = World::new().await;
    let other = Authority::new("another").unwrap();
    fs::write(world.path("ca.pem"), other.pem()).unwrap();
    world
        .push("writer", "content", ":v1")
        .refused(9, &["certificate", "--registry-ca-file"]);
    assert_eq!(world.registry.tokens.asked(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_a_login() {
    let world = World::of(Accepts::Certificates).await;
    fs::write(world.path("content/noise"), noise()).unwrap();
    let shown = ["--client-certificate", "tls.crt", "--client-key", "tls.key"];
    let reference = world.reference(":v1");
    let run = |words: &[&str]| world.run("nobody", &[words, &shown].concat());
    run(&["push", &reference, "content"]).json();
    run(&["tag", &reference, "--tag", "v2"]).json();
    let listed = run(&["list", &world.reference("")]).json();
    assert_eq!(listed["tags"], json!([{ "tag": "v1" }, { "tag": "v2" }]));
    run(&["diff", &world.reference(":v2"), "content"]).json();

    // Without it, and with that of a stranger, the door stays closed.
    world
        .run("nobody", &["list", &world.reference("")])
        .refused(9, &["cannot log in"]);
    let stranger = Authority::new("another").unwrap();
    let leaf = stranger.issue(&["client.example"]).unwrap();
    leaf.write(world.folder.path()).unwrap();
    run(&["list", &world.reference("")]).refused(9, &["502"]);
    fs::write(world.path("tls.key"), "canary").unwrap();
    run(&["list", &world.reference("")]).refused(3, &["client certificate"]);
}
