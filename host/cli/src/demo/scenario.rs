//! Who asks whom for what in the demonstration, and how each request must end.

use crate::answer::Wanted;
use crate::failure::Failure;
use gatepass::{ClusterReference, CredentialRequest};
use gatepass_sandbox::Sandbox;

const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];
const REGION: &str = "us-east-1";
const ECR: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
const EKS: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";

/// How a request must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a credential from the cloud, or the second time from the cache.
    Issued { is_cached: bool },
    /// The cloud denies it.
    Denied,
}

/// One request of the demonstration.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) tenant: &'static str,
    pub(crate) account: String,
    pub(crate) request: CredentialRequest,
    pub(crate) wanted: Wanted,
    pub(crate) ending: Ending,
}

/// Every scene: both tenants, both providers, all verbs, twice; and one that must be refused.
pub(crate) fn scenes(sandbox: &Sandbox) -> Result<Vec<Scene>, Failure> {
    let mut scenes = Vec::new();
    for tenant in TENANTS {
        for (account, request, wanted) in [of_aws(tenant)?, of_generic(sandbox, tenant)?].concat() {
            for is_cached in [false, true] {
                scenes.push(Scene {
                    tenant,
                    account: account.clone(),
                    request: request.clone(),
                    wanted: wanted.clone(),
                    ending: Ending::Issued { is_cached },
                });
            }
        }
    }
    scenes.push(intruder(sandbox)?);
    Ok(scenes)
}

type Request = (String, CredentialRequest, Wanted);

fn of_aws(tenant: &str) -> Result<Vec<Request>, Failure> {
    let request = |purpose: &str| -> Result<(String, CredentialRequest), Failure> {
        let account = format!("{tenant}-{purpose}-sa");
        let request = CredentialRequest::builder("aws")
            .service_account(tenant, &account)
            .region(REGION);
        Ok((account, request.build()?))
    };
    let cluster = ClusterReference {
        name: Some(EKS.into()),
        ..ClusterReference::default()
    };
    let ((ecr, ecr_request), (eks, eks_request)) = (request("ecr")?, request("eks")?);
    Ok(vec![
        (ecr.clone(), ecr_request.clone(), Wanted::Token),
        (
            ecr,
            ecr_request,
            Wanted::Registry(format!("{ECR}/{tenant}").parse()?),
        ),
        (eks, eks_request, Wanted::Cluster(cluster)),
    ])
}

fn of_generic(sandbox: &Sandbox, tenant: &str) -> Result<Vec<Request>, Failure> {
    let request = |audience: Option<&str>| -> Result<CredentialRequest, Failure> {
        let request = CredentialRequest::builder("generic").service_account(tenant, "workload");
        Ok(request.audiences(audience).build()?)
    };
    let workload = sandbox
        .workload()
        .ok_or_else(|| Failure::configuration("the sandbox has no workload cluster"))?;
    let cluster = ClusterReference {
        address: Some(workload.url()),
        ca: Some(sandbox.ca_pem().parse()?),
        name: None,
    };
    let account = || "workload".to_owned();
    Ok(vec![
        (account(), request(Some("vault.example"))?, Wanted::Token),
        (
            account(),
            request(None)?,
            Wanted::Registry(format!("registry.example/{tenant}/app").parse()?),
        ),
        (account(), request(None)?, Wanted::Cluster(cluster)),
    ])
}

/// An account of tenant-a whose annotation names a role of tenant-b: the role's trust policy decides.
fn intruder(sandbox: &Sandbox) -> Result<Scene, Failure> {
    let (tenant, account) = ("tenant-a", "intruder");
    let annotation = (
        "eks.amazonaws.com/role-arn",
        "arn:aws:iam::123456789012:role/tenant-b-ecr",
    );
    let applied = sandbox
        .kubernetes()
        .apply_service_account(tenant, account, &[annotation]);
    applied.map_err(|error| Failure::machine("cannot furnish the sandbox", error))?;
    Ok(Scene {
        tenant,
        account: account.to_owned(),
        request: CredentialRequest::builder("aws")
            .service_account(tenant, account)
            .region(REGION)
            .build()?,
        wanted: Wanted::Token,
        ending: Ending::Denied,
    })
}
