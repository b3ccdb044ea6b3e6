//! The verbs on one object: what a write makes of what was there.

use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::resource::Resource;
use super::status::{Cause, Refusal};
use super::store::{Key, Store};
use crate::call::Call;
use crate::json::{at, put};
use crate::random;

/// The store's writing side, with the time that new objects carry.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    pub(crate) store: &'a Store,
    pub(crate) now: String,
}

impl Objects<'_> {
    /// POST to a collection.
    pub(crate) fn create(
        &self,
        resource: Resource,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Refusal> {
        let object = typed(resource, namespace, object)?;
        let name = name_to_create(resource, &object)?;
        self.require_namespace(resource, namespace)?;
        if at(&object, &["metadata", "resourceVersion"])
            .as_str()
            .is_some_and(|version| !version.is_empty())
        {
            return Err(Refusal::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let key = Key::new(resource, namespace, &name);
        let born = self.born(&key, object);
        let written = self.store.write(&key, |present| match present {
            Some(_) => Err(Refusal::already_exists(resource, &name)),
            None => Ok(Some(born)),
        })?;
        if resource == Resource::Namespaces {
            self.settle(&name)?;
        }
        Ok(written.unwrap_or_default())
    }

    /// PUT: the whole object, which must name the version it replaces if it names one.
    pub(crate) fn replace(&self, key: &Key, object: Value) -> Result<Value, Refusal> {
        let object = typed(key.resource, &key.namespace, object)?;
        if at(&object, &["metadata", "name"]).as_str() != Some(&key.name) {
            let sent = at(&object, &["metadata", "name"])
                .as_str()
                .unwrap_or_default();
            return Err(Refusal::bad_request(format!(
                "the name of the object ({sent}) does not match the name on the URL ({})",
                key.name
            )));
        }
        let written = self.store.write(key, |present| {
            let present = present.ok_or_else(|| key.not_found())?;
            check_version(key, present, &object)?;
            Ok(Some(kept(present, object)))
        })?;
        Ok(written.unwrap_or_default())
    }

    /// PATCH by merge (RFC 7396). Strategic patches of the kinds kept here differ from it only in
    /// lists that have merge keys, which no test of credentials patches; apply creates what is absent.
    pub(crate) fn patch(&self, key: &Key, call: &Call) -> Result<(bool, Value), Refusal> {
        let apply = match call.media_type() {
            "application/merge-patch+json" | "application/strategic-merge-patch+json" => false,
            "application/apply-patch+yaml" => true,
            other => return Err(Refusal::unsupported_media_type(other)),
        };
        if apply
            && call
                .parameter("fieldManager")
                .is_none_or(|manager| manager.is_empty())
        {
            return Err(Refusal::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ));
        }
        let patch = body(call)?;
        if apply && self.store.find(key).is_none() {
            return Ok((true, self.create(key.resource, &key.namespace, patch)?));
        }
        let written = self.store.write(key, |present| {
            let present = present.ok_or_else(|| key.not_found())?;
            check_version(key, present, &patch)?;
            let mut merged = present.clone();
            merge(&mut merged, &patch);
            let merged = typed(key.resource, &key.namespace, merged)?;
            Ok(Some(kept(present, merged)))
        })?;
        Ok((false, written.unwrap_or_default()))
    }

    /// DELETE, with the preconditions of the request's body.
    pub(crate) fn delete(&self, key: &Key, preconditions: &Value) -> Result<Value, Refusal> {
        let deleted = self.store.write(key, |present| {
            let present = present.ok_or_else(|| key.not_found())?;
            check_uid(key, present, at(preconditions, &["uid"]))?;
            Ok(None)
        })?;
        if key.resource == Resource::Namespaces {
            for inner in self.store.keys_in(&key.name) {
                self.store.write(&inner, |_| Ok(None))?;
            }
        }
        Ok(deleted.unwrap_or_default())
    }

    /// A namespace has its `default` account, as the controller manager sees to.
    fn settle(&self, namespace: &str) -> Result<(), Refusal> {
        let account = json!({"metadata": {"name": "default"}});
        self.create(Resource::ServiceAccounts, namespace, account)?;
        Ok(())
    }

    fn require_namespace(&self, resource: Resource, namespace: &str) -> Result<(), Refusal> {
        let key = Key::new(Resource::Namespaces, "", namespace);
        if resource.is_namespaced() && self.store.find(&key).is_none() {
            return Err(key.not_found());
        }
        Ok(())
    }

    fn born(&self, key: &Key, mut object: Value) -> Value {
        set(&mut object, "generateName", Value::Null);
        set(&mut object, "name", key.name.clone().into());
        if key.resource.is_namespaced() {
            set(&mut object, "namespace", key.namespace.clone().into());
        }
        set(&mut object, "uid", Uuid::new_v4().to_string().into());
        set(&mut object, "creationTimestamp", self.now.clone().into());
        finished(key.resource, object)
    }
}

/// The request's body as JSON.
pub(crate) fn body(call: &Call) -> Result<Value, Refusal> {
    serde_json::from_slice(&call.body).map_err(|error| {
        Refusal::bad_request(format!("the object provided is unrecognized: {error}"))
    })
}

/// The `preconditions` of a delete; its body is optional.
pub(crate) fn preconditions(call: &Call) -> Result<Value, Refusal> {
    if call.method != Method::DELETE || call.body.is_empty() {
        return Ok(Value::Null);
    }
    Ok(at(&body(call)?, &["preconditions"]).clone())
}

/// Checks kind, version and namespace and fills them in.
fn typed(resource: Resource, namespace: &str, mut object: Value) -> Result<Value, Refusal> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Refusal::bad_request(
            "the object provided is unrecognized: it is no JSON object",
        ));
    };
    for (field, expected) in [("kind", resource.kind()), ("apiVersion", "v1")] {
        let sent = fields.entry(field).or_insert_with(|| expected.into());
        if sent.as_str() != Some(expected) {
            return Err(Refusal::bad_request(format!(
                "the {field} in the data ({sent}) does not match the expected {field} ({expected})"
            )));
        }
    }
    if !(at(&object, &["metadata"]).is_object() || at(&object, &["metadata"]).is_null()) {
        return Err(Refusal::bad_request(
            "the object provided is unrecognized: metadata is no JSON object",
        ));
    }
    if let Some(sent) = at(&object, &["metadata", "namespace"]).as_str()
        && sent != namespace
    {
        return Err(Refusal::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(object)
}

fn name_to_create(resource: Resource, object: &Value) -> Result<String, Refusal> {
    let metadata = at(object, &["metadata"]);
    let name = match (
        at(metadata, &["name"]).as_str(),
        at(metadata, &["generateName"]).as_str(),
    ) {
        (Some(name), _) if !name.is_empty() => name.to_owned(),
        (_, Some(prefix)) if !prefix.is_empty() => {
            format!("{prefix}{}", random::capitals(5).to_ascii_lowercase())
        }
        _ => {
            let message = "Required value: name or generateName is required".to_owned();
            let cause = Cause {
                reason: "FieldValueRequired",
                field: "metadata.name",
                message,
            };
            return Err(Refusal::invalid("", resource.kind(), "", &cause));
        }
    };
    if is_subdomain(&name) {
        return Ok(name);
    }
    let message = format!(
        "Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character"
    );
    let cause = Cause {
        reason: "FieldValueInvalid",
        field: "metadata.name",
        message,
    };
    Err(Refusal::invalid("", resource.kind(), &name, &cause))
}

/// RFC 1123 as Kubernetes reads it: at most 253 characters, labels of `[a-z0-9-]`.
fn is_subdomain(name: &str) -> bool {
    let edge = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let label = |label: &str| {
        edge(label.bytes().next())
            && edge(label.bytes().next_back())
            && label.bytes().all(|byte| edge(Some(byte)) || byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

fn check_version(key: &Key, present: &Value, sent: &Value) -> Result<(), Refusal> {
    check_uid(key, present, at(sent, &["metadata", "uid"]))?;
    let sent = at(sent, &["metadata", "resourceVersion"])
        .as_str()
        .unwrap_or_default();
    if sent.is_empty() || at(present, &["metadata", "resourceVersion"]) == sent {
        return Ok(());
    }
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Err(Refusal::conflict(key.resource.plural(), &key.name, why))
}

fn check_uid(key: &Key, present: &Value, sent: &Value) -> Result<(), Refusal> {
    let (Some(sent), Some(uid)) = (sent.as_str(), at(present, &["metadata", "uid"]).as_str())
    else {
        return Ok(());
    };
    if sent == uid {
        return Ok(());
    }
    let why =
        format!("Precondition failed: UID in precondition: {sent}, UID in object meta: {uid}");
    Err(Refusal::conflict(key.resource.plural(), &key.name, &why))
}

/// What a write cannot change is taken from the present object.
fn kept(present: &Value, mut object: Value) -> Value {
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "resourceVersion",
    ] {
        set(
            &mut object,
            field,
            at(present, &["metadata", field]).clone(),
        );
    }
    let resource = Resource::of_kind(at(&object, &["kind"]).as_str().unwrap_or_default());
    resource.map_or(Value::Null, |resource| finished(resource, object))
}

/// Defaults and write-only fields of single kinds.
fn finished(resource: Resource, mut object: Value) -> Value {
    match resource {
        Resource::Secrets => {
            fold_string_data(&mut object);
            default(&mut object, "type", "Opaque".into());
        }
        Resource::Namespaces => default(&mut object, "status", json!({"phase": "Active"})),
        _ => {}
    }
    object
}

fn default(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry(field).or_insert(value);
    }
}

/// `stringData` is write-only: it ends up in `data`, encoded.
fn fold_string_data(secret: &mut Value) {
    use base64::Engine;
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert_with(|| json!({}));
    let Some(data) = data.as_object_mut() else {
        return;
    };
    for (name, value) in plain {
        let encoded =
            base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap_or_default());
        data.insert(name, encoded.into());
    }
}

/// Sets a field of the metadata, which `typed` has seen to be an object; null removes it.
fn set(object: &mut Value, field: &str, value: Value) {
    if !value.is_null() {
        put(object, &["metadata", field], value);
    } else if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(field);
    }
}

/// RFC 7396 §2.
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(target) = target.as_object_mut() else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.as_str()).or_insert(Value::Null), value);
        }
    }
}
