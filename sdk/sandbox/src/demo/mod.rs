//! The demonstration scenario: two tenants, the same in every cloud.

mod aws;
mod azure;
mod google;

use std::sync::Arc;

use crate::aws::Aws;
use crate::azure::Azure;
use crate::builder::StartError;
use crate::foundation::Foundation;
use crate::google::Google;
use crate::kubernetes::{Cluster, Rule, TrustedIssuer};

const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];

/// What is furnished.
pub(crate) struct Scene<'a> {
    pub(crate) foundation: &'a Arc<Foundation>,
    pub(crate) management: &'a Cluster,
    pub(crate) aws: &'a Aws,
    pub(crate) azure: &'a Azure,
    pub(crate) google: &'a Google,
}

impl Scene<'_> {
    /// Furnishes the management cluster and every cloud; answers the workload cluster.
    pub(crate) fn seed(&self) -> Result<Arc<Cluster>, StartError> {
        aws::seed(self)?;
        azure::seed(self)?;
        google::seed(self)?;
        self.workload()
    }

    /// A cluster of no cloud, which trusts the management cluster's issuer.
    fn workload(&self) -> Result<Arc<Cluster>, StartError> {
        let workload = Cluster::start(self.foundation)?;
        workload.trust(TrustedIssuer {
            url: self.management.issuer(),
            audiences: vec![workload.url()],
            username_prefix: String::new(),
        });
        for tenant in TENANTS {
            self.management
                .apply_service_account(tenant, "workload", &[])?;
            let user = subject(tenant, "workload");
            furnish(&workload, tenant, &user)?;
        }
        Ok(workload)
    }
}

/// The `sub` of a tenant's account.
fn subject(tenant: &str, account: &str) -> String {
    format!("system:serviceaccount:{tenant}:{account}")
}

/// A tenant's namespace in a remote cluster, which this user may read and nobody else's.
fn furnish(cluster: &Cluster, tenant: &str, user: &str) -> Result<(), StartError> {
    cluster.apply_config_map(tenant, "greeting", &[("tenant", tenant)])?;
    let rule = Rule::allow(user, &["get", "list", "watch"], &["configmaps"]);
    cluster.allow(rule.in_namespace(tenant));
    Ok(())
}
