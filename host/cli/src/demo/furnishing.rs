//! What the demonstration adds to the sandbox: intruders, chains, objects, and what the process is in
//! every cloud.

use crate::failure::Failure;
use gatepass::ObjectReference;
use gatepass::environment::FixedEnvironment;
use gatepass_sandbox::{Job, Rule, Sandbox, TrustPolicy, TrustedIssuer};
use std::error::Error;

/// A role that tenant-a's role may assume.
pub(super) const AWS_DEPLOYER: &str = "arn:aws:iam::123456789012:role/deploy";

/// A service account that tenant-a's may act as.
pub(super) const GCP_DEPLOYER: &str = "deployer@demo-project.iam.gserviceaccount.com";

/// What the process is, in AWS, and at the API server.
const AWS_NODE: &str = "arn:aws:iam::123456789012:role/node";
pub(super) const OWN_ACCOUNT: &str = "system:serviceaccount:gatepass:host";

/// Who the job of GitHub's is at a cluster that trusts its issuer.
const JOB: &str = "repo:acme/app:ref:refs/heads/main";

const EKS: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";
const AKS: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ContainerService/managedClusters/demo";
const GKE: &str = "projects/demo-project/locations/us-central1/clusters/demo";

/// The name of an account that names what is another tenant's.
pub(super) fn intruder(provider: &str) -> String {
    format!("intruder-{provider}")
}

/// An object that is its own identity.
pub(super) fn object(tenant: &str) -> ObjectReference {
    ObjectReference {
        api_version: "source.toolkit.fluxcd.io/v1".to_owned(),
        kind: "OCIRepository".to_owned(),
        resource: "ocirepositories".to_owned(),
        namespace: tenant.to_owned(),
        name: "app".to_owned(),
        uid: "0b6f1c9e-5d0a-4a3c-9f0e-6b7f5e0c7a11".to_owned(),
    }
}

/// Furnishes the sandbox, and answers the environment that the process has in it.
pub(super) fn furnish(sandbox: &Sandbox) -> Result<FixedEnvironment, Failure> {
    furnished(sandbox).map_err(|error| Failure::machine("cannot furnish the sandbox", error))
}

fn furnished(sandbox: &Sandbox) -> Result<FixedEnvironment, Box<dyn Error + Send + Sync>> {
    let kubernetes = sandbox.kubernetes();
    kubernetes.apply_service_account("gatepass", "host", &[])?;
    for (verbs, resource) in [
        (&["get"][..], "serviceaccounts"),
        (&["create"], "serviceaccounts/token"),
        (&["get", "list", "watch"], "secrets"),
    ] {
        kubernetes.allow(Rule::allow(OWN_ACCOUNT, verbs, &[resource]));
    }
    intruders(sandbox)?;
    aws(sandbox)?;
    gcp(sandbox)?;
    if let Some(aks) = sandbox.azure().aks(AKS) {
        admit(aks.kubernetes(), "machine");
    }
    if let Some(workload) = sandbox.workload() {
        for tenant in ["tenant-a", "tenant-b"] {
            let id = format!("spiffe://gatepass.example/ocirepositories/{tenant}/app");
            let rule = Rule::allow(&id, &["get", "list"], &["configmaps"]);
            workload.allow(rule.in_namespace(tenant));
        }
        workload.trust(TrustedIssuer {
            url: sandbox.github().issuer().to_owned(),
            audiences: vec![workload.url()],
            username_prefix: String::new(),
        });
        admit(workload, OWN_ACCOUNT);
        admit(workload, JOB);
    }
    let job = sandbox.github().start(&Job::of("acme/app"));
    Ok(FixedEnvironment::default()
        .variable("ACTIONS_ID_TOKEN_REQUEST_URL", job.request_url)
        .variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN", job.request_token))
}

/// Lets a user of a cluster list the objects of tenant-a, as the demonstration does.
fn admit(cluster: &gatepass_sandbox::Cluster, user: &str) {
    let rule = Rule::allow(user, &["get", "list"], &["configmaps"]);
    cluster.allow(rule.in_namespace("tenant-a"));
}

fn intruders(sandbox: &Sandbox) -> Result<(), Box<dyn Error + Send + Sync>> {
    let role = "arn:aws:iam::123456789012:role/tenant-b-ecr";
    let provider = "projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management";
    let email = "tenant-b-gcp@demo-project.iam.gserviceaccount.com";
    for (cloud, annotations) in [
        ("aws", &[("eks.amazonaws.com/role-arn", role)][..]),
        (
            "azure",
            &[
                (
                    "azure.workload.identity/client-id",
                    "00000000-0000-0000-0000-00000000000b",
                ),
                (
                    "azure.workload.identity/tenant-id",
                    "11111111-1111-1111-1111-111111111111",
                ),
            ],
        ),
        (
            "gcp",
            &[
                ("gcp.auth.fluxcd.io/workload-identity-provider", provider),
                ("iam.gke.io/gcp-service-account", email),
            ],
        ),
    ] {
        let kubernetes = sandbox.kubernetes();
        kubernetes.apply_service_account("tenant-a", &intruder(cloud), annotations)?;
    }
    Ok(())
}

fn aws(sandbox: &Sandbox) -> Result<(), Box<dyn Error + Send + Sync>> {
    let aws = sandbox.aws();
    aws.role(AWS_NODE, TrustPolicy::default())?;
    aws.set_instance(Some(AWS_NODE), "us-east-1");
    let tenant = "arn:aws:iam::123456789012:role/tenant-a-ecr";
    aws.role(AWS_DEPLOYER, TrustPolicy::principals(&[tenant]))?;
    if let Some(eks) = aws.eks(EKS) {
        eks.map_role(AWS_NODE, "machine", &[]);
        eks.map_role(AWS_DEPLOYER, "deployer", &[]);
        admit(eks.kubernetes(), "machine");
        admit(eks.kubernetes(), "deployer");
    }
    Ok(())
}

fn gcp(sandbox: &Sandbox) -> Result<(), Box<dyn Error + Send + Sync>> {
    let google = sandbox.google();
    google.service_account(GCP_DEPLOYER)?;
    google.bind(
        &format!("projects/-/serviceAccounts/{GCP_DEPLOYER}"),
        "roles/iam.serviceAccountTokenCreator",
        "serviceAccount:tenant-a-gcp@demo-project.iam.gserviceaccount.com",
    )?;
    for role in ["container.clusterViewer", "artifactregistry.reader"] {
        let member = format!("serviceAccount:{GCP_DEPLOYER}");
        google.bind("projects/demo-project", &format!("roles/{role}"), &member)?;
    }
    if let Some(gke) = google.gke(GKE) {
        admit(gke.kubernetes(), GCP_DEPLOYER);
        admit(
            gke.kubernetes(),
            "controller@demo-project.iam.gserviceaccount.com",
        );
    }
    Ok(())
}
