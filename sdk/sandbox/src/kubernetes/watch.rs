//! Watches: a stream of newline-delimited events from a resource version on.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::resource::Resource;
use super::selector::Selector;
use super::status::Refusal;
use super::store::{Change, Store};
use crate::answer::{self, Answer};
use crate::call::Call;

/// A watch without a `timeoutSeconds` of its own; the API server's is between 30 and 60 minutes.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// What a watch was asked for.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) resource: Resource,
    pub(crate) namespace: Option<String>,
    pub(crate) selector: Selector,
    /// Begin with the present objects, then these changes; or with the changes after a version.
    start: Start,
    timeout: Duration,
}

#[derive(Debug, PartialEq, Eq)]
enum Start {
    Present { announce_end: bool },
    After(u64),
}

impl Watch {
    pub(crate) fn read(
        resource: Resource,
        namespace: Option<String>,
        call: &Call,
    ) -> Result<Self, Refusal> {
        let timeout = call
            .parameter("timeoutSeconds")
            .and_then(|seconds| seconds.parse().ok());
        Ok(Self {
            resource,
            namespace,
            selector: Selector::read(call)?,
            start: start(call)?,
            timeout: timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
        })
    }

    /// Opens the stream; what is wrong later comes as an event, as the protocol has it.
    pub(crate) fn answer(self, store: Arc<Store>) -> Answer {
        let events = self.events(store).map(|event| {
            let line = Bytes::from(format!("{event}\n"));
            Ok::<_, io::Error>(Frame::data(line))
        });
        let answer = Response::new(StreamBody::new(events).boxed_unsync());
        answer::with_header(answer, CONTENT_TYPE, "application/json")
    }

    fn events(self, store: Arc<Store>) -> impl Stream<Item = Value> + Send + 'static {
        let versions = store.versions();
        let (from, waiting) = self.opening(&store);
        let course = Course {
            deadline: Instant::now() + self.timeout,
            watch: self,
            store,
            versions,
            from,
            waiting,
            over: false,
        };
        stream::unfold(course, |mut course| async move {
            let event = course.next().await?;
            Some((event, course))
        })
    }

    fn opening(&self, store: &Store) -> (u64, VecDeque<Value>) {
        let Start::Present { announce_end } = self.start else {
            return (self.after(), VecDeque::new());
        };
        let (version, objects) = store.list(self.resource, self.namespace.as_deref());
        let fitting = objects
            .into_iter()
            .filter(|object| self.selector.fits(object));
        let mut events: VecDeque<Value> = fitting.map(|object| event("ADDED", &object)).collect();
        if announce_end {
            events.push_back(self.end_of_present(version));
        }
        (version, events)
    }

    fn after(&self) -> u64 {
        match self.start {
            Start::After(version) => version,
            Start::Present { .. } => 0,
        }
    }

    /// The bookmark that ends the initial events of a streaming list (KEP-3157).
    fn end_of_present(&self, version: u64) -> Value {
        let object = json!({
            "kind": self.resource.kind(),
            "apiVersion": "v1",
            "metadata": {
                "resourceVersion": version.to_string(),
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
        });
        event("BOOKMARK", &object)
    }

    /// The event that this watch sees of a change: what enters its view is added, what leaves it deleted.
    fn view(&self, change: &Change) -> Option<Value> {
        let namespace = self.namespace.as_deref();
        if change.key.resource != self.resource
            || namespace.is_some_and(|namespace| namespace != change.key.namespace)
        {
            return None;
        }
        let seen =
            |object: &Option<Value>| object.clone().filter(|object| self.selector.fits(object));
        match (seen(&change.before), seen(&change.after)) {
            (None, Some(after)) => Some(event("ADDED", &after)),
            (Some(_), Some(after)) => Some(event("MODIFIED", &after)),
            (Some(before), None) => {
                Some(event("DELETED", change.after.as_ref().unwrap_or(&before)))
            }
            (None, None) => None,
        }
    }
}

/// A watch under way.
struct Course {
    watch: Watch,
    store: Arc<Store>,
    versions: watch::Receiver<u64>,
    from: u64,
    waiting: VecDeque<Value>,
    deadline: Instant,
    over: bool,
}

impl Course {
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            self.collect();
            if self.waiting.is_empty() {
                let changed = tokio::time::timeout_at(self.deadline, self.versions.changed()).await;
                changed.ok()?.ok()?;
            }
        }
    }

    fn collect(&mut self) {
        match self.store.since(self.from) {
            Ok(changes) => {
                self.from = changes.last().map_or(self.from, |change| change.version);
                let views = changes.iter().filter_map(|change| self.watch.view(change));
                self.waiting.extend(views);
            }
            Err(refusal) => {
                self.over = true;
                self.waiting.push_back(event("ERROR", &refusal.body()));
            }
        }
    }
}

fn start(call: &Call) -> Result<Start, Refusal> {
    let version = call.parameter("resourceVersion").unwrap_or_default();
    if call.parameter("sendInitialEvents").as_deref() == Some("true") {
        return Ok(Start::Present { announce_end: true });
    }
    match version.parse() {
        _ if version.is_empty() => Ok(Start::Present {
            announce_end: false,
        }),
        Ok(0) => Ok(Start::Present {
            announce_end: false,
        }),
        Ok(version) => Ok(Start::After(version)),
        Err(_) => Err(Refusal::bad_request(format!(
            "invalid resource version \"{version}\""
        ))),
    }
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

/// A list of objects as GET on a collection answers it.
pub(crate) fn list(resource: Resource, version: u64, objects: &[Value]) -> Answer {
    let body = json!({
        "kind": format!("{}List", resource.kind()),
        "apiVersion": "v1",
        "metadata": {"resourceVersion": version.to_string()},
        "items": objects,
    });
    answer::json(StatusCode::OK, &body)
}
