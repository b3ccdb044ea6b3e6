use super::*;
use crate::error::ErrorKind;
use crate::signer::fixture::{Certified, KINDS};
use base64::Engine as _;
use http::{Request, Response, Uri};
use kube::client::Body;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use tokio::sync::Notify;

/// An API server that lists one thing and then tells one event per watch.
#[derive(Default)]
struct ApiServer {
    listed: Mutex<Option<(u16, Value)>>,
    events: Mutex<VecDeque<Value>>,
    told: Notify,
}

impl ApiServer {
    fn list(&self, status: u16, answer: Value) {
        *self.listed.lock().unwrap() = Some((status, answer));
    }

    fn tell(&self, event: &str, object: &Value) {
        let event = json!({"type": event, "object": object});
        self.events.lock().unwrap().push_back(event);
        self.told.notify_one();
    }

    fn client(self: &Arc<Self>) -> Client {
        let server = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move { Ok::<_, Infallible>(server.answer(request.uri().clone()).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, uri: Uri) -> Response<Body> {
        let query = uri.query().unwrap_or_default();
        assert!(query.contains("metadata.name%3Dsigning"), "{query}");
        assert_eq!(uri.path(), "/api/v1/namespaces/system/secrets");
        if !query.contains("watch=true") {
            let (status, list) = self.listed.lock().unwrap().clone().unwrap();
            return response(status, &list);
        }
        loop {
            let event = self.events.lock().unwrap().pop_front();
            match event {
                Some(event) => return response(200, &event),
                None => self.told.notified().await,
            }
        }
    }
}

fn response(status: u16, body: &Value) -> Response<Body> {
    let body = Body::from(format!("{body}\n").into_bytes());
    Response::builder().status(status).body(body).unwrap()
}

fn list(secrets: &[Value]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "SecretList",
        "metadata": {"resourceVersion": "1"},
        "items": secrets,
    })
}

fn secret(version: u32, kind: &str, key: &str, certificates: &str) -> Value {
    let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "signing", "namespace": "system", "resourceVersion": version.to_string()},
        "type": kind,
        "data": {KEY: encode(key), CERTIFICATES: encode(certificates)},
    })
}

fn tls(version: u32, of: &Certified) -> Value {
    secret(version, TYPE, &of.key_pem(), &of.pem())
}

fn watch(server: &Arc<ApiServer>) -> SecretSigningKeys {
    let namespace = Namespace::new("system").unwrap();
    SecretSigningKeys::watch(server.client(), &namespace, "signing")
}

fn id(keys: &SecretSigningKeys) -> Result<String, SignerError> {
    Ok(keys.current()?.verification().id().to_owned())
}

fn own_id(of: &Certified) -> Result<String, SignerError> {
    Ok(of.signing_key().verification().id().to_owned())
}

/// Tells an event and waits until it has acted.
async fn tell(keys: &SecretSigningKeys, server: &ApiServer, event: &str, object: &Value) {
    let mut read = keys.shared.read.subscribe();
    server.tell(event, object);
    let acted = tokio::time::timeout(Duration::from_secs(30), read.changed());
    acted.await.expect("the event acts").unwrap();
}

#[tokio::test]
async fn a_rotation_acts_at_once_and_a_broken_secret_keeps_the_key() {
    let (first, second) = (Certified::root(KINDS[1].0), Certified::root(KINDS[2].0));
    let server = Arc::new(ApiServer::default());
    server.list(200, list(&[tls(1, &first)]));
    let keys = watch(&server);
    keys.ready().await.unwrap();
    assert_eq!(id(&keys), own_id(&first));

    tell(&keys, &server, "MODIFIED", &tls(2, &second)).await;
    assert_eq!(id(&keys), own_id(&second));
    let published = |keys: &SecretSigningKeys| keys.published(SystemTime::now()).keys.len();
    assert_eq!(published(&keys), 2, "the first still checks what it signed");

    for (version, broken) in [
        (3, secret(3, TYPE, "canary", "")),
        (4, secret(4, "Opaque", &first.key_pem(), &first.pem())),
        (5, secret(5, TYPE, &first.key_pem(), &second.pem())),
    ] {
        tell(&keys, &server, "MODIFIED", &broken).await;
        assert_eq!(id(&keys), own_id(&second), "{version}");
    }
    tell(&keys, &server, "MODIFIED", &tls(6, &first)).await;
    assert_eq!(id(&keys), own_id(&first));

    tell(&keys, &server, "DELETED", &tls(7, &first)).await;
    let error = id(&keys).unwrap_err().to_string();
    assert!(error.contains("'system/signing'"), "{error}");
    assert!(error.contains("does not exist"), "{error}");
    assert_eq!(published(&keys), 2);
    let shown = format!("{keys:?}");
    assert!(
        shown.contains("system/signing") && !shown.contains("BEGIN"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_absent_or_broken_secret_is_told_to_who_waits() {
    let broken = secret(1, TYPE, "canary", "canary");
    for (secrets, word) in [(&[][..], "does not exist"), (&[broken], "private key")] {
        let server = Arc::new(ApiServer::default());
        server.list(200, list(secrets));
        let error = watch(&server).ready().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.to_string().contains(word), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_refuses_says_what_to_grant_and_one_that_babbles_is_unavailable() {
    let refusal = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": "canary", "reason": "Forbidden", "code": 403,
    });
    for (status, answer, kind, word) in [
        (403, refusal, ErrorKind::ServiceAccount, "list and watch"),
        (
            200,
            json!({"canary": 1}),
            ErrorKind::Unavailable,
            "cannot be read",
        ),
    ] {
        let server = Arc::new(ApiServer::default());
        server.list(status, answer);
        let error = watch(&server).ready().await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains(word), "{error}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn a_secret_without_a_key_says_what_it_lacks() {
    let root = Certified::root(KINDS[1].0);
    let read = |value: Value| parse(serde_json::from_value(value).unwrap());
    let without = |item: &str| {
        let mut value = tls(1, &root);
        value["data"].as_object_mut().unwrap().remove(item);
        value
    };
    assert!(read(tls(1, &root)).is_ok());
    assert!(read(without(CERTIFICATES)).is_ok(), "it signs tokens alone");
    let mut empty = tls(1, &root);
    empty.as_object_mut().unwrap().remove("data");
    for (value, word) in [
        (without(KEY), "tls.key"),
        (empty, "tls.key"),
        (secret(1, "Opaque", "k", "c"), "kubernetes.io/tls"),
    ] {
        let error = read(value).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}
