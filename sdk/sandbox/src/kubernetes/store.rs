//! The objects of a cluster and the history of their changes: what etcd and the watch cache are.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use tokio::sync::watch;

use super::resource::Resource;
use super::status::Refusal;
use crate::guarded::Guarded;

/// Changes kept for watchers; older resource versions are `Expired`.
const MAXIMUM_HISTORY: usize = 10_000;

/// Where an object is. Cluster-wide objects have an empty namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) resource: Resource,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(resource: Resource, namespace: &str, name: &str) -> Self {
        Self {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn not_found(&self) -> Refusal {
        Refusal::not_found(self.resource, &self.name)
    }
}

/// One change; an object was there before, after, or both.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

#[derive(Debug)]
pub(crate) struct Store {
    state: Guarded<State>,
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    version: u64,
    /// Changes up to this version are forgotten.
    forgotten: u64,
    objects: BTreeMap<Key, Value>,
    history: VecDeque<Change>,
}

impl Store {
    pub(crate) fn new() -> Self {
        // The API server never hands out version 0; it means "any" in a request.
        let state = State {
            version: 1,
            forgotten: 0,
            objects: BTreeMap::new(),
            history: VecDeque::new(),
        };
        Self {
            state: Guarded::new(state),
            version: watch::Sender::new(1),
        }
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Value> {
        self.state.with(|state| state.objects.get(key).cloned())
    }

    /// All objects of a kind, of one namespace or of all, and the version that this list is of.
    pub(crate) fn list(&self, resource: Resource, namespace: Option<&str>) -> (u64, Vec<Value>) {
        self.state.with(|state| {
            let chosen = state.objects.iter().filter(|(key, _)| {
                key.resource == resource
                    && namespace.is_none_or(|namespace| key.namespace == namespace)
            });
            (
                state.version,
                chosen.map(|(_, object)| object.clone()).collect(),
            )
        })
    }

    /// Writes what `decide` makes of the present object; `None` deletes.
    ///
    /// An object that does not change keeps its resource version, as in the API server.
    pub(crate) fn write(
        &self,
        key: &Key,
        decide: impl FnOnce(Option<&Value>) -> Result<Option<Value>, Refusal>,
    ) -> Result<Option<Value>, Refusal> {
        let (version, written) = self.state.with(|state| -> Result<_, Refusal> {
            let before = state.objects.get(key).cloned();
            let after = decide(before.as_ref())?;
            if before == after {
                return Ok((state.version, after));
            }
            Ok((state.version + 1, state.record(key, before, after)))
        })?;
        self.version
            .send_if_modified(|seen| std::mem::replace(seen, version) != version);
        Ok(written)
    }

    /// Every object in a namespace, for its deletion.
    pub(crate) fn keys_in(&self, namespace: &str) -> Vec<Key> {
        self.state.with(|state| {
            let keys = state.objects.keys();
            keys.filter(|key| key.namespace == namespace)
                .cloned()
                .collect()
        })
    }

    /// The changes after `version`.
    ///
    /// # Errors
    ///
    /// `Expired` when some of them are forgotten.
    pub(crate) fn since(&self, version: u64) -> Result<Vec<Change>, Refusal> {
        self.state.with(|state| {
            if version < state.forgotten {
                return Err(Refusal::expired(version, state.forgotten));
            }
            let later = state
                .history
                .iter()
                .filter(|change| change.version > version);
            Ok(later.cloned().collect())
        })
    }

    /// Forgets all history: watches from before now are `Expired`.
    pub(crate) fn compact(&self) {
        self.state.with(|state| {
            state.forgotten = state.version;
            state.history.clear();
        });
    }

    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

impl State {
    fn record(&mut self, key: &Key, before: Option<Value>, after: Option<Value>) -> Option<Value> {
        self.version += 1;
        let after = after.map(|object| stamped(object, self.version));
        match &after {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        };
        // A deletion is an event of its own version, which its last state carries.
        let before = match &after {
            Some(_) => before,
            None => before.map(|object| stamped(object, self.version)),
        };
        self.history.push_back(Change {
            version: self.version,
            key: key.clone(),
            before: before.clone(),
            after: after.clone(),
        });
        self.trim();
        after.or(before)
    }

    fn trim(&mut self) {
        while self.history.len() > MAXIMUM_HISTORY {
            if let Some(oldest) = self.history.pop_front() {
                self.forgotten = oldest.version;
            }
        }
    }
}

fn stamped(mut object: Value, version: u64) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), version.to_string().into());
    }
    object
}
