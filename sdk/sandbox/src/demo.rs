//! The demonstration scenario.

use std::sync::Arc;

use crate::aws::{Aws, TrustPolicy};
use crate::builder::StartError;
use crate::foundation::Foundation;
use crate::kubernetes::{Cluster, Rule, TrustedIssuer};

const ACCOUNT: &str = "123456789012";
const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";
const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];
/// What a tenant's roles are for: each has an account of its own.
const PURPOSES: [&str; 2] = ["ecr", "eks"];
const CLUSTER: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";

/// Furnishes the management cluster and AWS; answers the workload cluster.
pub(crate) fn seed(
    foundation: &Arc<Foundation>,
    management: &Cluster,
    aws: &Aws,
) -> Result<Arc<Cluster>, StartError> {
    let issuer = management.issuer();
    aws.oidc_provider(&issuer, &["sts.amazonaws.com"]);
    let eks = aws.cluster(CLUSTER)?;
    let workload = Cluster::start(foundation)?;
    workload.trust(TrustedIssuer {
        url: issuer.clone(),
        audiences: vec![workload.url()],
        username_prefix: String::new(),
    });
    for tenant in TENANTS {
        for purpose in PURPOSES {
            let account = format!("{tenant}-{purpose}-sa");
            let role = format!("arn:aws:iam::{ACCOUNT}:role/{tenant}-{purpose}");
            let subject = format!("system:serviceaccount:{tenant}:{account}");
            management.apply_service_account(tenant, &account, &[(ROLE_ANNOTATION, &role)])?;
            aws.role(&role, TrustPolicy::web_identity(&issuer, &[&subject]))?;
            eks.map_role(&role, tenant, &[]);
        }
        furnish(eks.kubernetes(), tenant, tenant)?;
        management.apply_service_account(tenant, "workload", &[])?;
        furnish(
            &workload,
            tenant,
            &format!("system:serviceaccount:{tenant}:workload"),
        )?;
    }
    Ok(workload)
}

/// A tenant's namespace in a remote cluster, which this user may read and nobody else's.
fn furnish(cluster: &Cluster, tenant: &str, user: &str) -> Result<(), StartError> {
    cluster.apply_config_map(tenant, "greeting", &[("tenant", tenant)])?;
    let rule = Rule::allow(user, &["get", "list", "watch"], &["configmaps"]);
    cluster.allow(rule.in_namespace(tenant));
    Ok(())
}
