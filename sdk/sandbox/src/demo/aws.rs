//! AWS of the demonstration: per tenant a role for ECR and one for EKS, and a cluster.

use super::{Scene, TENANTS, furnish, subject};
use crate::aws::TrustPolicy;
use crate::builder::StartError;

const ACCOUNT: &str = "123456789012";
const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";
/// What a tenant's roles are for: each has an account of its own.
const PURPOSES: [&str; 2] = ["ecr", "eks"];
const CLUSTER: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";

pub(super) fn seed(scene: &Scene<'_>) -> Result<(), StartError> {
    let issuer = scene.management.issuer();
    scene.aws.oidc_provider(&issuer, &["sts.amazonaws.com"]);
    let eks = scene.aws.cluster(CLUSTER)?;
    for tenant in TENANTS {
        for purpose in PURPOSES {
            let account = format!("{tenant}-{purpose}-sa");
            let role = format!("arn:aws:iam::{ACCOUNT}:role/{tenant}-{purpose}");
            let annotations = [(ROLE_ANNOTATION, role.as_str())];
            scene
                .management
                .apply_service_account(tenant, &account, &annotations)?;
            let subject = subject(tenant, &account);
            let trust = TrustPolicy::web_identity(&issuer, &[&subject]);
            scene.aws.role(&role, trust)?;
            eks.map_role(&role, tenant, &[]);
        }
        furnish(eks.kubernetes(), tenant, tenant)?;
    }
    Ok(())
}
