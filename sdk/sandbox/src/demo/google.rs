//! Google Cloud of the demonstration: per tenant a service account to act as, an identity of its
//! own, and a repository; a cluster, and an account of the host itself.

use super::{Scene, TENANTS, furnish, subject};
use crate::builder::StartError;
use crate::google::{Metadata, WorkloadIdentityProvider};

const PROJECT: &str = "demo-project";
const PROJECT_NUMBER: u64 = 345_678_901_234;
const LOCATION: &str = "us-central1";
const POOL: &str = "projects/345678901234/locations/global/workloadIdentityPools/gatepass";
const PROVIDER: &str =
    "projects/345678901234/locations/global/workloadIdentityPools/gatepass/providers/management";
/// What the management cluster is called when it is taken for one of GKE.
const MANAGEMENT: &str = "management";
const CLUSTER: &str = "projects/demo-project/locations/us-central1/clusters/demo";
const CONTROLLER: &str = "controller@demo-project.iam.gserviceaccount.com";
const PROVIDER_ANNOTATION: &str = "gcp.auth.fluxcd.io/workload-identity-provider";
const ACCOUNT_ANNOTATION: &str = "iam.gke.io/gcp-service-account";

pub(super) fn seed(scene: &Scene<'_>) -> Result<(), StartError> {
    let google = scene.google;
    let issuer = scene.management.issuer();
    google.project(PROJECT, PROJECT_NUMBER)?;
    google.provider(PROVIDER, WorkloadIdentityProvider::new(&issuer))?;
    google.fleet_issuer(
        &format!("projects/{PROJECT}/locations/{LOCATION}/clusters/{MANAGEMENT}"),
        &issuer,
    )?;
    google.cluster(CLUSTER)?;
    google.service_account(CONTROLLER)?;
    for role in ["container.clusterViewer", "artifactregistry.reader"] {
        let controller = format!("serviceAccount:{CONTROLLER}");
        google.bind(&project(), &format!("roles/{role}"), &controller)?;
    }
    google.set_metadata(
        Metadata::default()
            .project(PROJECT)
            .cluster(LOCATION, MANAGEMENT)
            .account(CONTROLLER),
    );
    for tenant in TENANTS {
        impersonation(scene, tenant)?;
        direct(scene, tenant)?;
    }
    Ok(())
}

/// `TENANT-gcp-sa` acts as `TENANT-gcp@…` by the provider; `TENANT-gke-sa` does by GKE.
fn impersonation(scene: &Scene<'_>, tenant: &str) -> Result<(), StartError> {
    let google = scene.google;
    let email = format!("{tenant}-gcp@{PROJECT}.iam.gserviceaccount.com");
    google.service_account(&email)?;
    let account = format!("{tenant}-gcp-sa");
    let annotations = [
        (PROVIDER_ANNOTATION, PROVIDER),
        (ACCOUNT_ANNOTATION, email.as_str()),
    ];
    scene
        .management
        .apply_service_account(tenant, &account, &annotations)?;
    let fleet = format!("{tenant}-gke-sa");
    scene
        .management
        .apply_service_account(tenant, &fleet, &[(ACCOUNT_ANNOTATION, &email)])?;
    for member in [
        principal(tenant, &account),
        format!("serviceAccount:{PROJECT}.svc.id.goog[{tenant}/{fleet}]"),
    ] {
        let resource = format!("projects/-/serviceAccounts/{email}");
        google.bind(&resource, "roles/iam.workloadIdentityUser", &member)?;
    }
    admit(scene, tenant, &email, &format!("serviceAccount:{email}"))
}

/// `TENANT-gcp-direct-sa` is let in under its own name.
fn direct(scene: &Scene<'_>, tenant: &str) -> Result<(), StartError> {
    let account = format!("{tenant}-gcp-direct-sa");
    scene
        .management
        .apply_service_account(tenant, &account, &[(PROVIDER_ANNOTATION, PROVIDER)])?;
    let principal = principal(tenant, &account);
    admit(scene, tenant, &principal, &principal)
}

/// Lets an identity into its namespace of the cluster and its repository of the registry.
fn admit(scene: &Scene<'_>, tenant: &str, user: &str, member: &str) -> Result<(), StartError> {
    let google = scene.google;
    google.bind(&project(), "roles/container.clusterViewer", member)?;
    let repository = format!("projects/{PROJECT}/locations/{LOCATION}/repositories/{tenant}");
    google.bind(&repository, "roles/artifactregistry.writer", member)?;
    match google.gke(CLUSTER) {
        Some(cluster) => furnish(cluster.kubernetes(), tenant, user),
        None => Ok(()),
    }
}

fn project() -> String {
    format!("projects/{PROJECT}")
}

fn principal(tenant: &str, account: &str) -> String {
    let subject = subject(tenant, account);
    format!("principal://iam.googleapis.com/{POOL}/subject/{subject}")
}
