//! The resources that tokens may be for: those of the cloud, and those of the test's own.

use std::collections::BTreeSet;

use super::cloud::AzureCloud;
use crate::guarded::Guarded;

#[derive(Debug, Default)]
pub(crate) struct Resources(Guarded<BTreeSet<String>>);

impl Resources {
    pub(crate) fn add(&self, audience: &str) {
        self.0
            .with(|resources| resources.insert(audience.to_owned()));
    }

    pub(crate) fn knows(&self, cloud: AzureCloud, audience: &str) -> bool {
        cloud.has_resource(audience) || self.0.with(|resources| resources.contains(audience))
    }
}
