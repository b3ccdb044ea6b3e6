//! Tokens of service accounts: issued by TokenRequest, read back by the API server.

use std::collections::BTreeMap;

use http::StatusCode;
use jsonwebtoken::jwk::JwkSet;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::authentication::{OwnAccounts, User};
use super::resource::Resource;
use super::status::{Cause, Refusal};
use super::store::{Key, Store};
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;
use crate::json::{at, put};
use crate::token::{self, Claims};

/// Kubernetes' validation: ten minutes.
const SHORTEST_SECONDS: i64 = 600;
/// Kubernetes' validation: 2^32 seconds.
const LONGEST_SECONDS: i64 = 1 << 32;
/// Kubernetes' default: one hour.
const DEFAULT_SECONDS: i64 = 3_600;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<BoundObject>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct BoundObject {
    kind: String,
    api_version: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
}

/// Where a token is issued and for how long at most.
#[derive(Debug)]
pub(crate) struct Issuance<'a> {
    pub(crate) account: &'a Key,
    pub(crate) longest_seconds: Option<i64>,
}

/// POST `…/serviceaccounts/NAME/token`.
pub(crate) fn issue(
    call: &Call,
    issuance: &Issuance<'_>,
    own: &OwnAccounts<'_>,
) -> Result<Answer, Refusal> {
    let spec = read(call)?;
    let key = issuance.account;
    let account = own.store.find(key).ok_or_else(|| key.not_found())?;
    let seconds = seconds(spec.expiration_seconds, issuance.longest_seconds)?;
    let bound = spec.bound_object_ref.as_ref();
    let bound = bound
        .map(|reference| bind(reference, key, own.store))
        .transpose()?;
    // An empty list is what a client sends that leaves the choice to the server.
    let audiences = spec.audiences.filter(|audiences| !audiences.is_empty());
    let audiences = audiences.unwrap_or_else(|| vec![own.issuer.clone()]);
    let claims = claims(&account, bound, &audiences, seconds, own);
    let token = sign(&claims, own)?;
    let body = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "creationTimestamp": rfc3339(own.now),
        },
        "spec": {
            "audiences": audiences,
            "expirationSeconds": seconds,
            "boundObjectRef": spec.bound_object_ref,
        },
        "status": {"token": token, "expirationTimestamp": rfc3339(own.now + seconds)},
    });
    Ok(answer::json(StatusCode::CREATED, &body))
}

/// A token as the kubelet asks for it, for a volume of a pod.
pub(crate) fn of_volume(
    key: &Key,
    audiences: &[String],
    own: &OwnAccounts<'_>,
) -> Result<String, Refusal> {
    let account = own.store.find(key).ok_or_else(|| key.not_found())?;
    let claims = claims(&account, None, audiences, DEFAULT_SECONDS, own);
    sign(&claims, own)
}

fn sign(claims: &Value, own: &OwnAccounts<'_>) -> Result<String, Refusal> {
    let key = own.key.key()?;
    key.sign(claims)
        .map_err(|error| Refusal::internal(error.to_string()))
}

fn read(call: &Call) -> Result<Spec, Refusal> {
    if call.body.is_empty() {
        return Ok(Spec::default());
    }
    let mut request = super::object::body(call)?;
    for (field, expected) in [
        ("kind", "TokenRequest"),
        ("apiVersion", "authentication.k8s.io/v1"),
    ] {
        if at(&request, &[field])
            .as_str()
            .is_some_and(|sent| sent != expected)
        {
            return Err(Refusal::bad_request(format!(
                "the {field} in the data does not match the expected {field} ({expected})"
            )));
        }
    }
    let spec = request
        .get_mut("spec")
        .map(Value::take)
        .filter(|spec| !spec.is_null());
    let spec = spec.map(serde_json::from_value).transpose();
    let spec = spec.map_err(|error| {
        Refusal::bad_request(format!(
            "TokenRequest in version \"v1\" cannot be handled: {error}"
        ))
    })?;
    Ok(spec.unwrap_or_default())
}

fn seconds(asked: Option<i64>, longest: Option<i64>) -> Result<i64, Refusal> {
    let asked = asked.unwrap_or(DEFAULT_SECONDS);
    let why = match asked {
        ..SHORTEST_SECONDS => "may not specify a duration less than 10 minutes",
        SHORTEST_SECONDS..=LONGEST_SECONDS => {
            return Ok(longest.map_or(asked, |longest| asked.min(longest)));
        }
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let cause = Cause {
        reason: "FieldValueInvalid",
        field: "spec.expirationSeconds",
        message: format!("Invalid value: {asked}: {why}"),
    };
    Err(Refusal::invalid(
        "authentication.k8s.io",
        "TokenRequest",
        "",
        &cause,
    ))
}

/// The claim of the object that the token is bound to: it dies with the object.
fn bind(
    reference: &BoundObject,
    account: &Key,
    store: &Store,
) -> Result<(&'static str, Value), Refusal> {
    let (resource, claim) = match (reference.kind.as_str(), reference.api_version.as_str()) {
        ("Pod", "v1") => (Resource::Pods, "pod"),
        ("Secret", "v1") => (Resource::Secrets, "secret"),
        (kind, version) => {
            let message = format!("cannot bind token to object of type {version}, Kind={kind}");
            return Err(Refusal::bad_request(message));
        }
    };
    let key = Key::new(resource, &account.namespace, &reference.name);
    let object = store.find(&key).ok_or_else(|| key.not_found())?;
    let uid = at(&object, &["metadata", "uid"])
        .as_str()
        .unwrap_or_default();
    if !reference.uid.is_empty() && reference.uid != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            reference.uid
        );
        return Err(Refusal::conflict(&reference.kind, &reference.name, &why));
    }
    let runs_as = at(&object, &["spec", "serviceAccountName"])
        .as_str()
        .unwrap_or("default");
    if resource == Resource::Pods && runs_as != account.name {
        return Err(Refusal::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            account.name
        )));
    }
    Ok((claim, json!({"name": reference.name, "uid": uid})))
}

fn claims(
    account: &Value,
    bound: Option<(&str, Value)>,
    audiences: &[String],
    seconds: i64,
    own: &OwnAccounts<'_>,
) -> Value {
    let metadata = at(account, &["metadata"]);
    let (name, namespace) = (at(metadata, &["name"]), at(metadata, &["namespace"]));
    let mut origin = json!({
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": at(metadata, &["uid"])},
    });
    if let Some((claim, object)) = bound {
        put(&mut origin, &[claim], object);
    }
    let subject = subject(
        namespace.as_str().unwrap_or_default(),
        name.as_str().unwrap_or_default(),
    );
    json!({
        "aud": audiences,
        "exp": own.now + seconds,
        "iat": own.now,
        "nbf": own.now,
        "iss": own.issuer,
        "jti": Uuid::new_v4().to_string(),
        "kubernetes.io": origin,
        "sub": subject,
    })
}

fn subject(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// Reads a token of this cluster's own issuer back: the user, and those of the `audiences` it is for.
///
/// The account, and the object it may be bound to, must still be the ones it was issued for.
pub(crate) fn review(
    token: &str,
    audiences: &[String],
    own: &OwnAccounts<'_>,
) -> Option<(User, Vec<String>)> {
    // Cheaply first: a token of another issuer needs no key of ours.
    if token::unproven(token).ok()?.iss.as_ref() != Some(&own.issuer) {
        return None;
    }
    let claims = own.prove(token)?;
    let meant = claims.aud.as_ref()?.all();
    let shared: Vec<String> = audiences
        .iter()
        .filter(|audience| meant.contains(audience))
        .cloned()
        .collect();
    if shared.is_empty() || !claims.is_current(own.now) {
        return None;
    }
    let origin = claims.rest.get("kubernetes.io")?;
    let namespace = at(origin, &["namespace"]).as_str()?;
    let lives = |resource, claim: &str| lives(own.store, resource, namespace, at(origin, &[claim]));
    if !lives(Resource::ServiceAccounts, "serviceaccount") {
        return None;
    }
    for (resource, claim) in [(Resource::Pods, "pod"), (Resource::Secrets, "secret")] {
        if !at(origin, &[claim]).is_null() && !lives(resource, claim) {
            return None;
        }
    }
    let user = user(
        namespace,
        at(origin, &["serviceaccount"]),
        claims.rest.get("jti"),
    );
    Some((user, shared))
}

fn lives(store: &Store, resource: Resource, namespace: &str, reference: &Value) -> bool {
    let name = at(reference, &["name"]).as_str().unwrap_or_default();
    let object = store.find(&Key::new(resource, namespace, name));
    object.is_some_and(|object| at(&object, &["metadata", "uid"]) == at(reference, &["uid"]))
}

fn user(namespace: &str, account: &Value, id: Option<&Value>) -> User {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ];
    let mut user = User::authenticated(&subject(namespace, &text(at(account, &["name"]))), &groups);
    user.uid = text(at(account, &["uid"]));
    if let Some(id) = id.and_then(Value::as_str) {
        let name = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra = BTreeMap::from([(name, vec![format!("JTI={id}")])]);
    }
    user
}

impl OwnAccounts<'_> {
    fn prove(&self, token: &str) -> Option<Claims> {
        let keys = JwkSet {
            keys: vec![self.key.key().ok()?.public().clone()],
        };
        token::proven(token, &keys).ok()
    }
}
