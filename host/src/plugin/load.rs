//! How a component becomes a plugin: what is checked before it serves its first call.

use super::engine::PluginEngine;
use super::grant::Granted;
use super::instance::Linked;
use super::limits::{self, PluginLimits};
use super::parameters::ParameterSchema;
use super::source::{Digest, PluginSource};
use super::{Plugin, PluginOptions, convert, version};
use crate::egress::send::Sender;
use crate::error::Error;
use crate::journal::Journal;
use crate::provider::Description;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::component::Component;

impl Plugin {
    pub(super) async fn load_component(
        engine: &PluginEngine,
        source: PluginSource,
        options: PluginOptions,
    ) -> Result<Self, Error> {
        version::check_header(source.bytes())?;
        let (source, component) = compile(engine, source).await?;
        let wit_version = version::check(&component, engine.wasmtime())?;
        check_resources(&component)?;
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
            turns: Semaphore::new(
                options
                    .limits
                    .concurrency
                    .min(PluginLimits::MAX_CONCURRENCY),
            ),
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

fn check_resources(component: &Component) -> Result<(), Error> {
    let Some(needs) = component.resources_required() else {
        return Err(Error::plugin("it imports modules or components of its own"));
    };
    let excess = [
        ("memories", needs.num_memories, limits::MAX_MEMORIES),
        ("tables", needs.num_tables, limits::MAX_TABLES),
    ];
    match excess.into_iter().find(|(_, needed, limit)| needed > limit) {
        None => Ok(()),
        Some((what, needed, limit)) => Err(Error::plugin(format!(
            "it needs {needed} {what}, more than {limit}"
        ))),
    }
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
    let journal = Journal::off();
    let call = linked.call(
        &name,
        "describe",
        limits,
        None,
        &journal,
        |plugin, store| {
            Box::pin(async move {
                plugin
                    .gatepass_provider_provider()
                    .call_describe(store)
                    .await
            })
        },
    );
    Ok(convert::description(call.await?.answer))
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
