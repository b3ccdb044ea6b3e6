//! One call: a fresh store, what the guest reaches through its imports, and how the call ends.

use super::bindings::gatepass::provider::{egress as wire, log, signer, types};
use super::bindings::{Plugin as Bindings, PluginPre};
use super::convert;
use super::engine::{PluginEngine, TICK};
use super::limits::{self, Meter, PluginLimits};
use crate::clock::Clock;
use crate::egress::send::{Reach, Sender};
use crate::egress::{EgressError, Incoming, Outgoing, Refusal};
use crate::error::{Error, ErrorKind};
use crate::journal::{Journal, details};
use crate::request::Transport;
use crate::secret::Secret;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// What a verb with side effects may do. A pure verb has none of it.
pub(crate) struct Powers {
    pub(crate) sender: Sender,
    pub(crate) plugin: Arc<str>,
    pub(crate) reach: Arc<Reach>,
    pub(crate) transport: Transport,
    pub(crate) token: Option<Secret>,
    pub(crate) environment: Vec<(String, String)>,
}

/// The state of one store.
pub(crate) struct State {
    name: Arc<str>,
    wasi: WasiCtx,
    table: ResourceTable,
    meter: Meter,
    powers: Option<Powers>,
    journal: Journal,
    requests_left: u32,
    log_lines_left: u32,
    /// The first request that the grant refused: if the verb then fails, this is why.
    refused: Option<EgressError>,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl wire::Host for State {
    async fn send(&mut self, request: wire::Request) -> Result<wire::Response, wire::Error> {
        let outgoing = convert::outgoing(request);
        let shown = shown(&outgoing);
        let answer = self.send_within_budget(outgoing).await;
        self.note(&shown, &answer);
        match answer {
            Ok(incoming) => Ok(wire::Response {
                status: incoming.status,
                headers: incoming.headers,
                body: incoming.body.to_vec(),
            }),
            Err(error) => Err(wire::Error {
                code: convert::refusal(error.refusal),
                message: error.message,
            }),
        }
    }
}

impl State {
    async fn send_within_budget(&mut self, outgoing: Outgoing) -> Result<Incoming, EgressError> {
        let Some(powers) = &self.powers else {
            return Err(EgressError::not_granted("a pure verb sends nothing"));
        };
        let Some(left) = self.requests_left.checked_sub(1) else {
            return Err(EgressError::new(
                Refusal::BudgetExceeded,
                "the call has used up its number of requests",
            ));
        };
        self.requests_left = left;
        let Powers {
            sender,
            plugin,
            reach,
            transport,
            token,
            ..
        } = powers;
        sender
            .send(plugin, reach, transport, token.as_ref(), outgoing)
            .await
    }

    fn note(&mut self, shown: &str, answer: &Result<Incoming, EgressError>) {
        match answer {
            Ok(incoming) => self.journal.passed("egress", || {
                details([("request", &shown), ("status", &incoming.status)])
            }),
            Err(error) => {
                tracing::debug!(plugin = %self.name, request = %shown, %error, "egress refused or failed");
                self.journal.refused("egress", || {
                    details([("request", &shown), ("refusal", &error)])
                });
                if error.refusal == Refusal::NotGranted && self.refused.is_none() {
                    self.refused = Some(error.clone());
                }
            }
        }
    }
}

/// Method, scheme, host and port of a request, whatever else its URL holds.
fn shown(outgoing: &Outgoing) -> String {
    let origin = url::Url::parse(&outgoing.url).map(|url| url.origin().ascii_serialization());
    let method: String = outgoing
        .method
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(10)
        .collect();
    format!("{method} {}", origin.as_deref().unwrap_or("[no URL]"))
}

/// No signer is configured in this host, which is an answer of the contract.
impl signer::Host for State {
    fn authority(&mut self) -> Result<signer::SigningAuthority, signer::Error> {
        Err(no_signer())
    }

    fn sign_jwt(&mut self, _claims: String) -> Result<String, signer::Error> {
        Err(no_signer())
    }

    fn issue_x509(
        &mut self,
        _spiffe_id: String,
        _expires_at: u64,
    ) -> Result<signer::IssuedX509, signer::Error> {
        Err(no_signer())
    }
}

fn no_signer() -> signer::Error {
    signer::Error {
        code: signer::ErrorCode::NotGranted,
        message: "no signer is configured in this host".into(),
    }
}

impl log::Host for State {
    fn write(&mut self, level: log::Level, message: String) {
        let Some(left) = self.log_lines_left.checked_sub(1) else {
            return;
        };
        self.log_lines_left = left;
        let message = convert::line(&message);
        let plugin = &*self.name;
        match level {
            log::Level::Debug => tracing::debug!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Info => tracing::info!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Warn => tracing::warn!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Error => tracing::error!(target: "gatepass::guest", plugin, "{message}"),
        }
    }
}

impl types::Host for State {}

/// A component that is linked and can be instantiated.
#[derive(Clone)]
pub(crate) struct Linked {
    engine: PluginEngine,
    pre: PluginPre<State>,
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
        Bindings::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut State| state)?;
        let pre = PluginPre::new(linker.instantiate_pre(component)?)?;
        Ok(Self {
            engine: engine.clone(),
            pre,
        })
    }

    /// Runs one verb in a fresh instance and drops it.
    pub(crate) async fn call<R: Send>(
        &self,
        name: &Arc<str>,
        verb: &'static str,
        limits: &PluginLimits,
        powers: Option<Powers>,
        journal: &Journal,
        run: impl for<'a> FnOnce(
            &'a Bindings,
            &'a mut Store<State>,
        ) -> BoxFuture<'a, wasmtime::Result<R>>
        + Send,
    ) -> Result<Ended<R>, Error> {
        let mut store = self.store(name, limits, powers, journal);
        let ticking = self.engine.tick();
        let call = async {
            let bindings = self.pre.instantiate_async(&mut store).await?;
            run(&bindings, &mut store).await
        };
        let outcome = tokio::time::timeout(limits.wall, call).await;
        drop(ticking);
        match outcome {
            Ok(Ok(answer)) => Ok(Ended {
                answer,
                refused: store.into_data().refused,
            }),
            Ok(Err(error)) => Err(ended(name, verb, &error, &store)),
            Err(_) => Err(Error::unavailable(format!(
                "plugin '{name}' did not end {verb} within {} ms",
                limits.wall.as_millis()
            ))),
        }
    }

    fn store(
        &self,
        name: &Arc<str>,
        limits: &PluginLimits,
        powers: Option<Powers>,
        journal: &Journal,
    ) -> Store<State> {
        let mut wasi = WasiCtxBuilder::new();
        wasi.max_random_size(limits::MAX_RANDOM_BYTES)
            .wall_clock(HostClock(self.engine.clock()));
        for (variable, value) in powers.iter().flat_map(|powers| &powers.environment) {
            wasi.env(variable, value);
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::MAX_HANDLES);
        let state = State {
            name: Arc::clone(name),
            wasi: wasi.build(),
            table,
            meter: Meter::new(limits.memory.min(limits::MAX_MEMORY)),
            requests_left: limits.egress.max_requests,
            log_lines_left: limits.log_lines,
            powers,
            journal: journal.clone(),
            refused: None,
        };
        let mut store = Store::new(self.engine.wasmtime(), state);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(limits::HOSTCALL_BYTES);
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

/// How a call ended that the guest answered.
pub(crate) struct Ended<R> {
    pub(crate) answer: R,
    pub(crate) refused: Option<EgressError>,
}

/// A call that the guest did not answer. Only the class is told: a guest's own words at this point are
/// a panic message that may hold anything.
fn ended(name: &str, verb: &str, error: &wasmtime::Error, store: &Store<State>) -> Error {
    let meter = &store.data().meter;
    if error.downcast_ref::<CpuSpent>().is_some() {
        return Error::plugin(format!(
            "plugin '{name}' spent its processor time in {verb}"
        ));
    }
    if meter.exceeded {
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
