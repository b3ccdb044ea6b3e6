//! OCI registries: push, pull, and who may.

mod access;
mod content;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sandbox::RegistryHost;
use serde_json::json;

use crate::world::{Reply, World};

const HOST: &str = "registry.example";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The digest of nothing.
const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A client of one registry with one way to log in.
struct Client<'a> {
    world: &'a World,
    host: &'a str,
    authorization: String,
}

impl Client<'_> {
    async fn send(&self, method: &str, path: &str, media_type: &str, body: &str) -> Reply {
        self.with(method, path, &[("content-type", media_type)], body)
            .await
    }

    async fn with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let url = format!("https://{}{path}", self.host);
        let mut request = http::Request::builder().method(method).uri(url);
        if !self.authorization.is_empty() {
            request = request.header("authorization", &self.authorization);
        }
        let request = headers
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .fold(request, |request, (name, value)| {
                request.header(*name, *value)
            });
        self.world
            .send(request.body(body.to_owned()).unwrap())
            .await
    }

    async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "", "").await
    }

    /// Pushes a blob in one piece, and answers its digest.
    async fn push_blob(&self, name: &str, content: &str) -> String {
        let digest = digest(content);
        let begun = self
            .send("POST", &format!("/v2/{name}/blobs/uploads/"), "", "")
            .await;
        assert_eq!(begun.status, 202, "{}", begun.body);
        let location = format!("{}?digest={digest}", begun.header("location"));
        let reply = self.send("PUT", &location, "", content).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        assert_eq!(reply.header("docker-content-digest"), digest);
        digest
    }
}

fn digest(content: &str) -> String {
    let bytes = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content.as_bytes());
    let digits: String = bytes
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A registry with a user `ci` who may push to `team/*`, and everybody who may pull `public/*`.
fn registry(world: &World) -> Arc<RegistryHost> {
    let host = world.sandbox.registry().host(HOST);
    host.user("ci", "secret");
    host.allow("ci", "team/*", true);
    host.allow("*", "public/*", false);
    host
}

async fn token(world: &World, authorization: &str, query: &str) -> Reply {
    let client = Client {
        world,
        host: HOST,
        authorization: authorization.to_owned(),
    };
    client.get(&format!("/token?service={HOST}&{query}")).await
}

async fn client<'a>(world: &'a World, authorization: &str, scope: &str) -> Client<'a> {
    let reply = token(world, authorization, &format!("scope={scope}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    Client {
        world,
        host: HOST,
        authorization: format!("Bearer {}", reply.json()["token"].as_str().unwrap()),
    }
}

fn manifest(config: &str, layer: &str) -> String {
    let part = |digest: &str| json!({"mediaType": "application/octet-stream", "digest": digest, "size": 1});
    json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": part(config), "layers": [part(layer)],
    })
    .to_string()
}

#[track_caller]
fn assert_error(reply: &Reply, status: u16, code: &str) {
    let error = &reply.json()["errors"][0];
    assert_eq!(
        (reply.status, error["code"].as_str()),
        (status, Some(code)),
        "{}",
        reply.body
    );
    assert!(error["message"].is_string());
}
