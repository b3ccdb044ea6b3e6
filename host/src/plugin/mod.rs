//! Providers that are WebAssembly components.

mod bindings;
mod convert;
mod engine;
mod grant;
mod instance;
mod limits;
mod load;
mod parameters;
mod source;
mod verbs;
mod version;

pub use engine::PluginEngine;
pub use grant::{Grant, GrantPolicy};
pub use limits::PluginLimits;
pub use source::{Digest, PluginSource};

use crate::egress::send::{Network, Sender};
use crate::error::{Error, ErrorKind};
use crate::journal::Journal;
use crate::provider::{Description, Failure, SourceKind, Verb};
use crate::request::Transport;
use crate::service_account::SubjectToken;
use bindings::gatepass::provider::types;
use futures::future::BoxFuture;
use grant::Granted;
use instance::{Linked, Powers, State};
use parameters::ParameterSchema;
use std::fmt;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::Store;

/// How a plugin is loaded.
#[derive(Clone, Debug)]
pub struct PluginOptions {
    /// What it is allowed.
    pub grant: GrantPolicy,
    /// What one call may use.
    pub limits: PluginLimits,
    /// How the host reaches the world.
    pub network: Network,
}

/// A provider that is a WebAssembly component. Each call runs in a fresh instance.
pub struct Plugin {
    name: Arc<str>,
    digest: Arc<str>,
    wit_version: String,
    size: usize,
    description: Description,
    granted: Granted,
    limits: PluginLimits,
    sender: Sender,
    schema: ParameterSchema,
    linked: Linked,
    turns: Semaphore,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Plugin({} {})", self.name, self.digest)
    }
}

impl Plugin {
    /// Compiles a component on a thread of its own, proves that it fits the contract by instantiating
    /// it once, and reads its description.
    ///
    /// # Errors
    ///
    /// `Plugin`: it is no component, no provider, of another version, asks for what no host has, or its
    /// description breaks a rule. The message names it by its digest.
    pub async fn load(
        engine: &PluginEngine,
        source: PluginSource,
        options: PluginOptions,
    ) -> Result<Self, Error> {
        let digest = source.digest().clone();
        let loaded = Self::load_component(engine, source, options).await;
        loaded.map_err(|error| error.during(format!("cannot load plugin {digest}")))
    }

    /// The WIT version that it was built against.
    #[must_use]
    pub fn wit_version(&self) -> &str {
        &self.wit_version
    }

    /// Bytes of the component.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// What it is allowed.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.granted.grant
    }

    async fn turn(&self, verb: &str) -> Result<tokio::sync::SemaphorePermit<'_>, Error> {
        let busy = || {
            Error::unavailable(format!(
                "plugin '{}' has {} calls under way, and none ended within {} ms for {verb}",
                self.name,
                self.limits.concurrency,
                self.limits.queue.as_millis()
            ))
        };
        match tokio::time::timeout(self.limits.queue, self.turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    fn check_verb(&self, verb: Verb) -> Result<(), Error> {
        if self.description.verbs.contains(&verb) {
            return Ok(());
        }
        let kind = ErrorKind::Configuration;
        Err(Error::new(
            kind,
            format!("provider '{}' does not do {}", self.name, verb.as_str()),
        ))
    }

    fn check_source(&self, source: SourceKind) -> Result<(), Error> {
        if self.description.sources.contains(&source) {
            return Ok(());
        }
        let error = Error::configuration(format!(
            "provider '{}' does not start from {}",
            self.name,
            source.as_str()
        ));
        let starts: Vec<&str> = self
            .description
            .sources
            .iter()
            .map(|source| source.as_str())
            .collect();
        Err(error.remedy(format!("it starts from {}", starts.join(", "))))
    }

    /// What a verb with side effects gets.
    fn powers(&self, transport: &Transport, token: Option<&SubjectToken>, ambient: bool) -> Powers {
        let environment = match ambient {
            true => self.granted.environment(),
            false => Vec::new(),
        };
        Powers {
            sender: self.sender.clone(),
            plugin: Arc::clone(&self.digest),
            reach: Arc::clone(&self.granted.reach),
            transport: transport.clone(),
            token: token.map(|token| token.token.clone()),
            environment: environment
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }

    /// A pure verb.
    async fn ask<R: Send>(
        &self,
        verb: Verb,
        journal: &Journal,
        run: impl Run<R>,
    ) -> Result<R, Failure> {
        self.check_verb(verb)?;
        let _turn = self.turn(verb.as_str()).await?;
        let ended = self
            .linked
            .call(&self.name, verb.as_str(), &self.limits, None, journal, run)
            .await?;
        ended
            .answer
            .map_err(|error| convert::failure(&self.name, verb.as_str(), &error))
    }

    /// A verb with side effects. A request that the grant refused is why the verb failed, whatever the
    /// guest says.
    async fn act<R: Send>(
        &self,
        verb: Verb,
        powers: Powers,
        journal: &Journal,
        run: impl Run<R>,
    ) -> Result<R, Error> {
        self.check_verb(verb)?;
        let _turn = self.turn(verb.as_str()).await?;
        let ended = self
            .linked
            .call(
                &self.name,
                verb.as_str(),
                &self.limits,
                Some(powers),
                journal,
                run,
            )
            .await?;
        ended.answer.map_err(|error| match ended.refused {
            None => convert::error(&self.name, verb.as_str(), &error),
            Some(refused) => not_granted(&self.name, verb, &refused),
        })
    }
}

fn not_granted(plugin: &str, verb: Verb, refused: &crate::egress::EgressError) -> Error {
    let message = format!(
        "plugin '{plugin}' may not send what {} needs: {refused}",
        verb.as_str()
    );
    Error::new(ErrorKind::Egress, message)
        .remedy("compare its wishes with its grant: `gatepass plugin inspect`")
}

/// Runs a verb of an instance. A name for what the verbs below all pass.
trait Run<R>:
    for<'a> FnOnce(
        &'a bindings::Plugin,
        &'a mut Store<State>,
    ) -> BoxFuture<'a, wasmtime::Result<Result<R, types::Error>>>
    + Send
{
}

impl<R, F> Run<R> for F where
    F: for<'a> FnOnce(
            &'a bindings::Plugin,
            &'a mut Store<State>,
        ) -> BoxFuture<'a, wasmtime::Result<Result<R, types::Error>>>
        + Send
{
}
