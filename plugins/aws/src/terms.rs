//! A request for an access token, checked.

use crate::arn::RoleArn;
use crate::endpoint::{self, Service};
use crate::exchange::Assumption;
use crate::facts;
use crate::parameter::{CLUSTER_NAME, EXPECTED_ACCOUNT, Parameters};
use crate::partition::Partition;
use crate::region::Region;
use crate::session_name::SessionName;
use crate::sign::{Signer, Unsigned};
use gatepass_sdk::{AwsKeys, Error, Facts, Request, egress};
use std::time::SystemTime;

/// A request for an access token, checked.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Region of the token service.
    pub(crate) region: Region,
    /// Host of the token service.
    pub(crate) sts_host: String,
    pub(crate) parameters: Parameters,
}

impl Terms {
    /// Checks every field of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule; `needs-facts` if it has
    /// no region, and the facts are not known yet.
    pub(crate) fn parse(request: &Request, facts: &Facts) -> Result<Self, Error> {
        request.refuse_scopes()?;
        let region = region(request, facts)?;
        let parameters = Parameters::parse(request)?;
        if parameters.cluster_name.is_some() {
            return Err(Error::invalid_configuration(format!(
                "parameter {CLUSTER_NAME} has effect for a cluster alone: remove it"
            )));
        }
        for policy in &parameters.policy_arns {
            require_partition("policy", policy.as_str(), policy.partition(), &region)?;
        }
        if let Some(link) = &parameters.link {
            let role = &link.role;
            require_partition("role", role.as_str(), role.partition(), &region)?;
            require_account(role, &parameters)?;
        }
        let endpoint = request.endpoint.as_deref();
        let sts_host = endpoint::sts_host(&region, parameters.variant, endpoint)?;
        Ok(Self {
            region,
            sts_host,
            parameters,
        })
    }

    /// A session of a role, within the limits of the request.
    pub(crate) fn assumption<'a>(
        &'a self,
        role: &'a RoleArn,
        session_name: &'a SessionName,
    ) -> Assumption<'a> {
        Assumption {
            role,
            session_name,
            duration_seconds: self.parameters.duration_seconds,
            policy: self.parameters.policy.as_deref(),
            policy_arns: &self.parameters.policy_arns,
        }
    }

    /// A request to the token service, signed.
    ///
    /// # Errors
    ///
    /// `internal` if the keys cannot sign.
    pub(crate) fn sign(
        &self,
        keys: &AwsKeys,
        form: &str,
        now: SystemTime,
    ) -> Result<egress::Request, Error> {
        let signer = Signer {
            keys,
            service: Service::Sts.signing_name(),
            region: &endpoint::sts_signing_region(&self.sts_host, &self.region),
            now,
        };
        signer.request(&Unsigned {
            method: "POST",
            url: &format!("https://{}/", self.sts_host),
            headers: &[("content-type", "application/x-www-form-urlencoded")],
            body: form.as_bytes(),
        })
    }
}

/// The region of a request: its own, or that of the environment.
///
/// # Errors
///
/// `needs-facts` if it has none and the environment is not known yet; `invalid-configuration` if
/// neither has one, or it is no region.
pub(crate) fn region(request: &Request, facts: &Facts) -> Result<Region, Error> {
    match request.region.as_deref() {
        Some(text) => Region::parse("region", text),
        None => facts::region(facts),
    }
}

/// Says before the exchange what would be refused after it.
pub(crate) fn require_account(role: &RoleArn, parameters: &Parameters) -> Result<(), Error> {
    match &parameters.expected_account {
        Some(expected) if expected != role.account() => Err(Error::invalid_configuration(format!(
            "parameter {EXPECTED_ACCOUNT} '{expected}' is not the account of role '{role}': correct one of them"
        ))),
        _ => Ok(()),
    }
}

/// Keys of one partition are void in another.
pub(crate) fn require_partition(
    what: &str,
    arn: &str,
    partition: Partition,
    region: &Region,
) -> Result<(), Error> {
    if partition == region.partition() {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "{what} '{arn}' is of partition {}, and region {region} of partition {}: correct one of them",
        partition.name(),
        region.partition().name()
    )))
}
