//! What `discover` tells the pure verbs of the environment. No secrets.

use crate::region::Region;
use gatepass_sdk::{Error, Facts};

/// The region of the process.
pub(crate) const REGION: &str = "region";

/// The role that the process assumes with its web identity.
pub(crate) const ROLE_ARN: &str = "role-arn";

/// The region of the environment.
///
/// # Errors
///
/// `needs-facts` if the environment is not known yet; `invalid-configuration` if it has no region,
/// or what it has is none.
pub(crate) fn region(facts: &Facts) -> Result<Region, Error> {
    let facts = facts.as_ref().ok_or_else(Error::needs_facts)?;
    match facts.get(REGION) {
        Some(text) => Region::parse("the environment's region", text),
        None => Err(Error::invalid_configuration(
            "no region is given, and the host's environment has none: set region to that of the token service, us-east-1 say, or AWS_REGION in the host's environment",
        )),
    }
}

/// The role of the environment, if it is known.
pub(crate) fn role(facts: &Facts) -> Option<&str> {
    facts.as_ref()?.get(ROLE_ARN).map(String::as_str)
}
