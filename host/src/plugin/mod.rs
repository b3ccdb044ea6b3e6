//! Providers that are WebAssembly components.

mod bindings;
mod convert;
mod engine;
mod grant;
mod imports;
mod limits;
mod linked;
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
use crate::provider::{Description, Failure, Verb};
use crate::service_account::SubjectToken;
use crate::signer::Signer;
use crate::subject::ObjectReference;
use crate::transport::Transport;
use grant::Granted;
use imports::{Powers, Signing};
use linked::{Conduct, Interface, Linked, Run};
use parameters::ParameterSchema;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

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
    /// Calls at once of verbs that wait for others. They have their own, so that a slow token service
    /// holds up no pure verb, and so no hit of the cache.
    turns: Semaphore,
    pure_turns: Semaphore,
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

    async fn turn<'a>(
        &self,
        turns: &'a Semaphore,
        verb: &str,
    ) -> Result<SemaphorePermit<'a>, Error> {
        let busy = || {
            Error::unavailable(format!(
                "plugin '{}' has {} calls under way, and none ended within {} ms for {verb}",
                self.name,
                self.limits.concurrency,
                self.limits.queue.as_millis()
            ))
        };
        match tokio::time::timeout(self.limits.queue, turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }

    fn check_verb(&self, verb: Verb) -> Result<(), Error> {
        if self.description.verbs.contains(&verb) {
            return Ok(());
        }
        // What every request needs is the vendor's to serve; the rest is the caller's to ask for.
        let kind = match verb {
            Verb::Discover | Verb::Audience | Verb::Identity | Verb::Exchange => ErrorKind::Plugin,
            _ => ErrorKind::Configuration,
        };
        Err(Error::new(
            kind,
            format!("provider '{}' does not do {}", self.name, verb.as_str()),
        ))
    }

    /// What a verb with side effects gets.
    fn powers(&self, transport: &Transport, token: Option<&SubjectToken>, ambient: bool) -> Powers {
        let environment = self.linked.engine().environment();
        let (variables, files) = match ambient {
            true => (
                self.granted.variables(environment.as_ref()),
                self.granted.files(environment.as_ref()),
            ),
            false => (Vec::new(), Vec::new()),
        };
        Powers {
            sender: self.sender.clone(),
            plugin: Arc::clone(&self.digest),
            reach: self.granted.reach(ambient),
            transport: transport.clone(),
            token: token.map(|token| token.token.clone()),
            variables,
            files,
            environment,
            signing: None,
            brings_keys: false,
        }
    }

    /// The signer, where it is granted and there is one.
    fn signer(&self) -> Option<&Arc<Signer>> {
        self.linked
            .engine()
            .signer()
            .filter(|_| self.granted.may_sign())
    }

    /// What the signer may do in one call: for `object` and these audiences, or, without one, tell in
    /// whose name it signs.
    fn signing(&self, object: Option<&ObjectReference>, audiences: &[String]) -> Option<Signing> {
        Some(Signing {
            signer: Arc::clone(self.signer()?),
            object: object.cloned(),
            audiences: audiences.to_vec(),
            clock: self.linked.engine().clock(),
        })
    }

    /// A pure verb.
    async fn ask<I: Interface, R: Send>(
        &self,
        interface: &I,
        verb: Verb,
        journal: &Journal,
        run: impl Run<I::Instance, R>,
    ) -> Result<R, Failure> {
        self.check_verb(verb)?;
        let _turn = self.turn(&self.pure_turns, verb.as_str()).await?;
        let conduct = self.conduct(verb, None, journal);
        self.linked.call(interface, conduct, run).await
    }

    /// A verb with side effects.
    async fn act<I: Interface, R: Send>(
        &self,
        interface: &I,
        verb: Verb,
        powers: Powers,
        journal: &Journal,
        run: impl Run<I::Instance, R>,
    ) -> Result<R, Error> {
        self.check_verb(verb)?;
        let _turn = self.turn(&self.turns, verb.as_str()).await?;
        let conduct = self.conduct(verb, Some(powers), journal);
        let answer = self.linked.call(interface, conduct, run).await;
        answer.map_err(|failure| convert::settled(&self.name, verb.as_str(), failure))
    }

    fn conduct<'a>(
        &'a self,
        verb: Verb,
        powers: Option<Powers>,
        journal: &'a Journal,
    ) -> Conduct<'a> {
        Conduct {
            plugin: &self.name,
            verb: verb.as_str(),
            limits: &self.limits,
            powers,
            journal,
        }
    }
}
