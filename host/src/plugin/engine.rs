//! The engine that compiles and runs plugins, and the clock tick that keeps them fair.

use super::limits::{self, PluginLimits};
use super::source::{Digest, PluginSource};
use crate::clock::{Clock, SystemClock};
use crate::environment::{Environment, ProcessEnvironment};
use crate::error::Error;
use crate::signer::Signer;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;
use wasmtime::component::Component;
use wasmtime::{Config, Enabled, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often a running guest gives way to others: with this tick, eight spinning guests on two
/// threads leave a good one under 5 ms.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The most instances at once in a process, over all plugins. More wait in the plugins' own queues
/// as long as these together are no longer.
const MAX_INSTANCES: u32 = 1024;

/// What a slot of the pool keeps resident between calls: more is faster for large guests, and memory
/// that never shrinks.
const KEEP_RESIDENT: usize = 256 << 10;

/// Compiles and runs plugins. One is enough for a process; cloning shares it.
#[derive(Clone)]
pub struct PluginEngine {
    engine: wasmtime::Engine,
    ticker: Arc<Ticker>,
    clock: Arc<dyn Clock>,
    environment: Arc<dyn Environment>,
    signer: Option<Arc<Signer>>,
    // A few lines without await: the standard mutex.
    compiled: Arc<Mutex<HashMap<Digest, Component>>>,
}

impl fmt::Debug for PluginEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PluginEngine")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

impl PluginEngine {
    /// Starts an engine and its ticking thread.
    ///
    /// # Errors
    ///
    /// `Plugin`: this machine lacks what the engine needs, address space or threads.
    pub fn new() -> Result<Self, Error> {
        let engine = wasmtime::Engine::new(&config()).map_err(|error| {
            Error::plugin(format!("cannot start the WebAssembly engine: {error}"))
        })?;
        let ticker = Ticker::start(engine.weak()).map_err(|error| {
            Error::plugin("cannot start the engine's ticking thread").because(error)
        })?;
        Ok(Self {
            engine,
            ticker: Arc::new(ticker),
            clock: Arc::new(SystemClock),
            environment: Arc::new(ProcessEnvironment),
            signer: None,
            compiled: Arc::default(),
        })
    }

    /// The same engine, whose guests see the time of this clock.
    #[must_use]
    pub fn with_clock(&self, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            ..self.clone()
        }
    }

    /// The same engine, whose guests are lent variables and files of this environment.
    #[must_use]
    pub fn with_environment(&self, environment: Arc<dyn Environment>) -> Self {
        Self {
            environment,
            ..self.clone()
        }
    }

    /// The same engine, whose guests may be lent this signer.
    #[must_use]
    pub fn with_signer(&self, signer: Signer) -> Self {
        Self {
            signer: Some(Arc::new(signer)),
            ..self.clone()
        }
    }

    pub(crate) fn signer(&self) -> Option<&Arc<Signer>> {
        self.signer.as_ref()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn environment(&self) -> Arc<dyn Environment> {
        Arc::clone(&self.environment)
    }

    /// Compiles a component, unless it has done so before: the digest is that of the bytes.
    pub(crate) fn compile(&self, source: &PluginSource) -> wasmtime::Result<Component> {
        if let Some(component) = self.compiled().get(source.digest()) {
            return Ok(component.clone());
        }
        let component = Component::from_binary(&self.engine, source.bytes())?;
        self.compiled()
            .insert(source.digest().clone(), component.clone());
        Ok(component)
    }

    fn compiled(&self) -> MutexGuard<'_, HashMap<Digest, Component>> {
        // The map holds whole components or none, so a poisoned lock is still good.
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.engine
    }

    /// Ticks as long as the guard lives.
    pub(crate) fn tick(&self) -> Ticking {
        Ticking::new(Arc::clone(&self.ticker))
    }
}

/// Every switch that a short call of foreign code wants set, with its reason.
fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(MAX_INSTANCES)
        .total_core_instances(MAX_INSTANCES * 8)
        .total_memories(MAX_INSTANCES)
        .total_tables(MAX_INSTANCES * 4)
        .total_stacks(MAX_INSTANCES)
        .max_memory_size(PluginLimits::MAX_MEMORY)
        .table_elements(limits::MAX_TABLE_ELEMENTS)
        .max_core_instances_per_component(limits::MAX_CORE_INSTANCES)
        .max_memories_per_component(limits::MAX_MEMORIES)
        .max_tables_per_component(limits::MAX_TABLES)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_RESIDENT)
        // Resets only the pages that a guest touched, where the kernel can tell them.
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        // The tick; without it a loop never ends.
        .epoch_interruption(true)
        // One call, one task: the async component model is not even compiled in.
        .concurrency_support(false)
        // What no guest needs is attack surface: threads, garbage collection and exceptions are not
        // compiled in.
        .wasm_memory64(false)
        // A guest's backtrace is its own text, and would reach error messages.
        .wasm_backtrace_max_frames(None);
    config
}

/// A thread that moves the engine's epoch while calls run, and sleeps while none does.
#[derive(Debug)]
struct Ticker {
    state: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct TickerState {
    calls: AtomicUsize,
    stopped: AtomicBool,
}

impl Ticker {
    fn start(engine: EngineWeak) -> std::io::Result<Self> {
        let state = Arc::new(TickerState::default());
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("gatepass-ticker".into())
            .spawn(move || run(&shared, &engine))?;
        Ok(Self {
            state,
            thread: Some(thread),
        })
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.as_ref().map(JoinHandle::thread) {
            Thread::unpark(thread);
        }
    }
}

fn run(state: &TickerState, engine: &EngineWeak) {
    while !state.stopped.load(Ordering::Acquire) {
        if state.calls.load(Ordering::Acquire) == 0 {
            std::thread::park();
            continue;
        }
        std::thread::sleep(TICK);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        engine.increment_epoch();
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Release);
        self.wake();
    }
}

/// A call that runs.
#[derive(Debug)]
pub(crate) struct Ticking(Arc<Ticker>);

impl Ticking {
    fn new(ticker: Arc<Ticker>) -> Self {
        if ticker.state.calls.fetch_add(1, Ordering::AcqRel) == 0 {
            ticker.wake();
        }
        Self(ticker)
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.state.calls.fetch_sub(1, Ordering::AcqRel);
    }
}
