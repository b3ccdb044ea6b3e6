//! Facts of the environment: the region, and the role where the environment names it.

use super::instance::Asked;
use super::shared::Profiles;
use super::{Lookup, container, environment, instance, profile, variable, web_identity};
use crate::arn::RoleArn;
use crate::facts;
use crate::region::Region;
use gatepass_sdk::{Error, Host, Level};
use std::collections::BTreeMap;

/// The first goes before the second, as in AWS's command line.
pub(super) const VARIABLES: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];

/// Looks for facts. That there is no region is no failure: requests may bring their own. That it
/// is not known is one, since the host remembers facts for good, and no failure.
///
/// # Errors
///
/// `invalid-configuration` if a variable or a profile is wrong; that of a metadata service which
/// is there and fails; `unavailable` if it does not answer and could be the one to know.
pub(crate) fn discover(host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
    let mut facts = BTreeMap::new();
    if let Some(role) = role(host)? {
        facts.insert(facts::ROLE_ARN.into(), role.to_string());
    }
    if let Some(region) = region(host)? {
        facts.insert(facts::REGION.into(), region.name().into());
    }
    Ok(facts)
}

/// The role that the chain will come to: only where nothing goes before the web identity.
fn role(host: &dyn Host) -> Result<Option<RoleArn>, Error> {
    let variable = |name: &str| variable(host, name);
    if environment::is_configured(variable)
        || !web_identity::is_configured(variable)
        || profile::is_configured(host)?
    {
        return Ok(None);
    }
    variable(web_identity::ROLE_ARN)
        .map(|role| RoleArn::parse(web_identity::ROLE_ARN, &role))
        .transpose()
}

fn region(host: &dyn Host) -> Result<Option<Region>, Error> {
    for name in VARIABLES {
        if let Some(text) = variable(host, name) {
            return told(host, name, Region::parse(name, &text)?);
        }
    }
    if let Some(region) = of_profile(host)? {
        return told(host, "the profile", region);
    }
    match instance::region(host)? {
        Asked::Answered(region) => told(host, "the instance", region),
        Asked::Absent(why) => Ok(none(host, &why)),
        // Keys from elsewhere are used outside EC2 too, where nobody ever answers.
        Asked::Silent(why) if has_other_keys(host)? => Ok(none(host, &why)),
        Asked::Silent(why) => Err(Error::unavailable(format!(
            "the environment's region is not known: no variable, no profile, and {why}: set AWS_REGION in the host's environment, or outside EC2 AWS_EC2_METADATA_DISABLED to true"
        ))),
    }
}

fn none(host: &dyn Host, why: &str) -> Option<Region> {
    let line = format!("the environment has no region: no variable, no profile, and {why}");
    host.log(Level::Warn, &line);
    None
}

/// Whether a source of keys is configured that does without the instance.
fn has_other_keys(host: &dyn Host) -> Result<bool, Error> {
    let variable = |name: &str| variable(host, name);
    Ok(environment::is_configured(variable)
        || web_identity::is_configured(variable)
        || container::is_configured(variable)
        || profile::has_own_keys(host)?)
}

fn told(host: &dyn Host, source: &str, region: Region) -> Result<Option<Region>, Error> {
    host.log(
        Level::Info,
        &format!("the environment's region is {region}, from {source}"),
    );
    Ok(Some(region))
}

fn of_profile(host: &dyn Host) -> Result<Option<Region>, Error> {
    let Lookup::Found(profiles) = Profiles::read(host)? else {
        return Ok(None);
    };
    let profile = profiles.get(profiles.chosen());
    profile
        .and_then(|profile| Some((profile.field("region"), profile.property("region")?)))
        .map(|(field, text)| Region::parse(&field, text))
        .transpose()
}
