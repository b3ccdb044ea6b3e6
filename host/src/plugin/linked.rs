//! A component that is linked: one call of it is a fresh store, an instance, a verb, and the end.

use super::bindings::gatepass::provider::types;
use super::bindings::git::{GitPlugin, GitPluginPre};
use super::bindings::trust::{TrustPlugin, TrustPluginPre};
use super::bindings::{Plugin as ProviderPlugin, PluginPre};
use super::convert;
use super::engine::{PluginEngine, TICK};
use super::imports::{Powers, State};
use super::limits::{self, PluginLimits};
use crate::clock::Clock;
use crate::egress::EgressError;
use crate::error::{Error, ErrorKind};
use crate::journal::Journal;
use crate::provider::Failure;
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::{HostWallClock, WasiCtxBuilder};

/// The optional interfaces, without their versions.
const GIT: &str = "gatepass:provider/git";
const TRUST: &str = "gatepass:provider/trust";

/// A component that is linked and can be instantiated.
#[derive(Clone)]
pub(crate) struct Linked {
    engine: PluginEngine,
    /// What every plugin exports.
    pub(super) provider: PluginPre<State>,
    pub(super) git: Option<GitPluginPre<State>>,
    pub(super) trust: Option<TrustPluginPre<State>>,
}

/// An interface of a component.
#[async_trait]
pub(crate) trait Interface: Sync {
    type Instance: Send + Sync;

    async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<Self::Instance>;
}

#[async_trait]
impl Interface for PluginPre<State> {
    type Instance = ProviderPlugin;

    async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<ProviderPlugin> {
        self.instantiate_async(store).await
    }
}

#[async_trait]
impl Interface for GitPluginPre<State> {
    type Instance = GitPlugin;

    async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<GitPlugin> {
        self.instantiate_async(store).await
    }
}

#[async_trait]
impl Interface for TrustPluginPre<State> {
    type Instance = TrustPlugin;

    async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<TrustPlugin> {
        self.instantiate_async(store).await
    }
}

/// What a verb answers, once the guest has run to its end.
type Answer<R> = wasmtime::Result<Result<R, types::Error>>;

/// A verb of an instance. A name for what all calls pass.
pub(crate) trait Run<I, R>:
    for<'a> FnOnce(&'a I, &'a mut Store<State>) -> BoxFuture<'a, Answer<R>> + Send
{
}

impl<I, R, F> Run<I, R> for F where
    F: for<'a> FnOnce(&'a I, &'a mut Store<State>) -> BoxFuture<'a, Answer<R>> + Send
{
}

/// What one call is, beside the verb's own arguments.
pub(crate) struct Conduct<'a> {
    pub(crate) plugin: &'a Arc<str>,
    pub(crate) verb: &'static str,
    pub(crate) limits: &'a PluginLimits,
    /// `None` for a pure verb.
    pub(crate) powers: Option<Powers>,
    pub(crate) journal: &'a Journal,
}

/// The processor budget of a call is spent.
#[derive(Debug, thiserror::Error)]
#[error("the processor time of the call is spent")]
struct CpuSpent;

impl Linked {
    pub(crate) fn new(engine: &PluginEngine, component: &Component) -> wasmtime::Result<Self> {
        let mut linker = Linker::new(engine.wasmtime());
        // Files and sockets are linked and deny, so that guests of every language load.
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        ProviderPlugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut State| state)?;
        let pre = linker.instantiate_pre(component)?;
        let exported: Vec<String> = component
            .component_type()
            .exports(engine.wasmtime())
            .filter_map(|(name, _)| Some(name.split_once('@')?.0.to_owned()))
            .collect();
        let exports = |interface: &str| exported.iter().any(|name| name == interface);
        Ok(Self {
            engine: engine.clone(),
            git: optional(exports(GIT), &pre, GitPluginPre::new)?,
            trust: optional(exports(TRUST), &pre, TrustPluginPre::new)?,
            provider: PluginPre::new(pre)?,
        })
    }

    /// Runs one verb of an interface in a fresh instance and drops it. A request that the grant refused
    /// is why the verb failed, whatever the guest says or does.
    pub(crate) async fn call<I: Interface, R: Send>(
        &self,
        interface: &I,
        conduct: Conduct<'_>,
        run: impl Run<I::Instance, R>,
    ) -> Result<R, Failure> {
        let (plugin, verb, wall) = (conduct.plugin, conduct.verb, conduct.limits.wall);
        let mut store = self.store(conduct);
        let ticking = self.engine.tick();
        let call = async {
            let instance = interface.instantiate(&mut store).await?;
            run(&instance, &mut store).await
        };
        let outcome = tokio::time::timeout(wall, call).await;
        drop(ticking);
        if let Ok(Ok(Ok(answer))) = outcome {
            return Ok(answer);
        }
        if let Some(refused) = &store.data().refused {
            let error = not_granted(plugin, verb, refused);
            return Err(match &outcome {
                Ok(Ok(Err(told))) => error.because(Told(convert::line(&told.message))),
                _ => error,
            }
            .into());
        }
        match outcome {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(error))) => Err(convert::failure(plugin, verb, &error)),
            Ok(Err(error)) => Err(ended(plugin, verb, &error, &store).into()),
            Err(_) => Err(Failure::Error(Error::unavailable(format!(
                "plugin '{plugin}' did not end {verb} within {} ms",
                wall.as_millis()
            )))),
        }
    }

    pub(crate) fn engine(&self) -> &PluginEngine {
        &self.engine
    }

    fn store(&self, conduct: Conduct<'_>) -> Store<State> {
        let limits = conduct.limits;
        let mut wasi = WasiCtxBuilder::new();
        wasi.max_random_size(limits::MAX_RANDOM_BYTES)
            .wall_clock(HostClock(self.engine.clock()));
        let powers = conduct.powers.iter();
        for (variable, value) in powers.flat_map(|powers| &powers.variables) {
            wasi.env(variable, value.expose());
        }
        let state = State::new(wasi.build(), conduct);
        let mut store = Store::new(self.engine.wasmtime(), state);
        store.limiter(State::meter);
        store.set_hostcall_fuel(PluginLimits::MAX_BODY_BYTES);
        store.set_max_component_handles(limits::MAX_HANDLES);
        store.set_epoch_deadline(1);
        let mut ticks_left = ticks(limits.cpu);
        store.epoch_deadline_callback(move |_| match ticks_left.checked_sub(1) {
            Some(left) => {
                ticks_left = left;
                Ok(UpdateDeadline::Yield(1))
            }
            None => Err(CpuSpent.into()),
        });
        store
    }
}

/// An interface that the component exports, or none.
fn optional<I>(
    exported: bool,
    pre: &InstancePre<State>,
    interface: impl FnOnce(InstancePre<State>) -> wasmtime::Result<I>,
) -> wasmtime::Result<Option<I>> {
    exported.then(|| interface(pre.clone())).transpose()
}

/// The host's clock, as guests see it.
struct HostClock(Arc<dyn Clock>);

impl HostWallClock for HostClock {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        let since = self.0.wall().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

fn ticks(cpu: Duration) -> u128 {
    cpu.as_nanos() / TICK.as_nanos()
}

/// What a guest says beside a refused request: it may have tried something else before.
#[derive(Debug, thiserror::Error)]
#[error("the plugin says: {0}")]
struct Told(String);

fn not_granted(plugin: &str, verb: &str, refused: &EgressError) -> Error {
    let message = format!("plugin '{plugin}' may not send what {verb} needs: {refused}");
    Error::new(ErrorKind::Egress, message)
        .remedy("compare its wishes with its grant: `gatepass plugin inspect`")
}

/// A call that the guest did not answer. Only the class is told: a guest's own words at this point are
/// a panic message that may hold anything.
fn ended(name: &str, verb: &str, error: &wasmtime::Error, store: &Store<State>) -> Error {
    if error.downcast_ref::<CpuSpent>().is_some() {
        return Error::plugin(format!(
            "plugin '{name}' spent its processor time in {verb}"
        ));
    }
    if store.data().is_memory_exceeded() {
        return Error::plugin(format!(
            "plugin '{name}' needs more memory than it may in {verb}"
        ));
    }
    if error
        .downcast_ref::<wasmtime::PoolConcurrencyLimitError>()
        .is_some()
    {
        return Error::unavailable(format!(
            "there is no room for a further instance of plugin '{name}' now"
        ));
    }
    let what = match error.downcast_ref::<wasmtime::Trap>() {
        Some(wasmtime::Trap::UnreachableCodeReached) => "panicked or aborted",
        Some(wasmtime::Trap::StackOverflow) => "overflowed its stack",
        Some(_) => "trapped",
        None => "gave an answer that this host refuses",
    };
    tracing::debug!(plugin = name, verb, error = %error, "call ended without an answer");
    Error::new(
        ErrorKind::Plugin,
        format!("plugin '{name}' {what} in {verb}"),
    )
}
