//! How a component becomes a plugin: what is checked before it serves its first call.

use super::engine::PluginEngine;
use super::grant::Granted;
use super::limits::{self, PluginLimits};
use super::linked::{Conduct, Linked};
use super::parameters::ParameterSchema;
use super::source::{Digest, PluginSource};
use super::{Plugin, PluginOptions, convert, version};
use crate::egress::send::Sender;
use crate::error::Error;
use crate::journal::Journal;
use crate::provider::{Description, Verb};
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::component::Component;

impl Plugin {
    pub(super) async fn load_component(
        engine: &PluginEngine,
        source: PluginSource,
        options: PluginOptions,
    ) -> Result<Self, Error> {
        options.limits.check()?;
        version::check_header(source.bytes())?;
        let (source, component) = compile(engine, source).await?;
        let wit_version = version::check(&component, engine.wasmtime())?;
        let calls = calls_at_once(&component, &options.limits)?;
        let linked = Linked::new(engine, &component).map_err(|error| misfit(&error))?;
        let description = describe(&linked, source.digest(), &options.limits).await?;
        check_name(&description.name)?;
        let granted = Granted::new(options.grant, &description.wishes)?;
        Ok(Self {
            name: description.name.as_str().into(),
            digest: source.digest().as_str().into(),
            wit_version,
            size: source.bytes().len(),
            schema: ParameterSchema::parse(&description.parameters)?,
            granted,
            description,
            sender: Sender::new(options.network, options.limits.egress),
            turns: Semaphore::new(calls),
            pure_turns: Semaphore::new(calls),
            limits: options.limits,
            linked,
        })
    }
}

async fn compile(
    engine: &PluginEngine,
    source: PluginSource,
) -> Result<(PluginSource, Component), Error> {
    let engine = engine.clone();
    let compiled = tokio::task::spawn_blocking(move || {
        let component = engine.compile(&source);
        (source, component)
    });
    let (source, component) = compiled
        .await
        .map_err(|_| Error::plugin("its compilation was cancelled"))?;
    let component = component.map_err(|error| {
        tracing::debug!(%error, "component refused");
        Error::plugin(format!(
            "it does not compile: {}",
            convert::line(&error.root_cause().to_string())
        ))
    })?;
    Ok((source, component))
}

/// How many calls there may be at once, so that one plugin never holds more of the engine's pool than
/// its share, however many memories an instance of it has.
fn calls_at_once(component: &Component, limits: &PluginLimits) -> Result<usize, Error> {
    let Some(needs) = component.resources_required() else {
        return Err(Error::plugin("it imports modules or components of its own"));
    };
    let excess = [
        ("memories", needs.num_memories, limits::MAX_MEMORIES),
        ("tables", needs.num_tables, limits::MAX_TABLES),
    ];
    if let Some((what, needed, limit)) =
        excess.into_iter().find(|(_, needed, limit)| needed > limit)
    {
        return Err(Error::plugin(format!(
            "it needs {needed} {what}, more than {limit}"
        )));
    }
    let memories = usize::try_from(needs.num_memories.max(1)).unwrap_or(usize::MAX);
    let share = PluginLimits::MAX_CONCURRENCY / memories;
    Ok(limits.concurrency.min(share).max(1))
}

fn misfit(error: &wasmtime::Error) -> Error {
    Error::plugin(format!(
        "it does not fit gatepass:provider@{}: {}",
        version::WIT_VERSION,
        convert::line(&error.root_cause().to_string())
    ))
}

async fn describe(
    linked: &Linked,
    digest: &Digest,
    limits: &PluginLimits,
) -> Result<Description, Error> {
    let name: Arc<str> = digest.as_str().into();
    let conduct = Conduct {
        plugin: &name,
        verb: "describe",
        limits,
        powers: None,
        journal: &Journal::off(),
    };
    let call = linked.call(&linked.provider, conduct, |plugin, store| {
        Box::pin(async move {
            let guest = plugin.gatepass_provider_provider();
            Ok(Ok(guest.call_describe(store).await?))
        })
    });
    let described = call
        .await
        .map_err(|failure| convert::settled(&name, "describe", failure))?;
    let mut description = convert::description(described);
    if linked.git.is_some() {
        description
            .verbs
            .extend([Verb::Repository, Verb::GitCredentials]);
    }
    if linked.trust.is_some() {
        description.verbs.push(Verb::Policy);
    }
    Ok(description)
}

fn check_name(name: &str) -> Result<(), Error> {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=63).contains(&name.len()) && name.bytes().all(legal) && !name.starts_with('-') {
        return Ok(());
    }
    Err(Error::plugin(format!(
        "its name {:?} must be lower-case letters, digits and '-', at most 63",
        convert::line(name)
    )))
}
