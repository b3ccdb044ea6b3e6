//! The metadata server as a source: the service account of the machine or the pod.

use crate::identity::Plan;
use crate::metadata::Metadata;
use crate::parameter::UNIVERSE;
use crate::token;
use gatepass_sdk::{Credential, Error, Host};

/// How people know it.
pub(crate) const NAME: &str = "metadata server";

/// Asks for a token of the default service account.
///
/// # Errors
///
/// What the metadata server refuses; `denied` where there is no service account;
/// `invalid-configuration` if the machine is of another universe than the request.
pub(crate) fn token(plan: &Plan, host: &dyn Host) -> Result<Credential, Error> {
    let metadata = Metadata::of(host)?;
    check_universe(&metadata, plan, host)?;
    let scopes: String =
        form_urlencoded::byte_serialize(plan.scopes.list().join(",").as_bytes()).collect();
    let path = format!("instance/service-accounts/default/token?scopes={scopes}");
    let response = metadata.get(&path, host)?.ok_or_else(|| {
        Error::denied(
            "the metadata server knows no default service account: attach one to the machine or the pod",
        )
    })?;
    token::of_oauth(
        "reading the default service account's token",
        &response,
        host.now(),
    )
}

/// The machine's universe is asked for where the request names one: a token is for one alone.
fn check_universe(metadata: &Metadata, plan: &Plan, host: &dyn Host) -> Result<(), Error> {
    let universe = &plan.parameters.universe;
    if universe.is_public() {
        return Ok(());
    }
    // Nothing there: a metadata server from before there were universes.
    let response = metadata.get("universe/universe-domain", host)?;
    let found: &[u8] = response.as_ref().map_or(&[], |response| response.body());
    if found.trim_ascii() == universe.as_str().as_bytes() {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "parameter {UNIVERSE} '{universe}' is not the universe of this machine, which its metadata server names: correct or remove it"
    )))
}
