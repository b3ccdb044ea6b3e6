//! Azure of the demonstration: one directory; per tenant an application that trusts exactly its
//! account, and a registry; a cluster for both; an identity of the machine's own.

use super::{Scene, furnish, subject};
use crate::azure::{AksRole, AzureCloud, FederatedCredential};
use crate::builder::StartError;

const DIRECTORY: &str = "11111111-1111-1111-1111-111111111111";
const DOMAIN: &str = "demo.onmicrosoft.com";
const AUDIENCE: &str = "api://AzureADTokenExchange";
const CLIENT_ANNOTATION: &str = "azure.workload.identity/client-id";
const TENANT_ANNOTATION: &str = "azure.workload.identity/tenant-id";
const CLUSTER: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ContainerService/managedClusters/demo";
const MACHINE: &str = "00000000-0000-0000-0000-0000000000ff";
const MACHINE_RESOURCE: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/demo";

/// Namespace, client ID and registry of a tenant.
const TENANTS: [(&str, &str, &str); 2] = [
    (
        "tenant-a",
        "00000000-0000-0000-0000-00000000000a",
        "tenanta.azurecr.io",
    ),
    (
        "tenant-b",
        "00000000-0000-0000-0000-00000000000b",
        "tenantb.azurecr.io",
    ),
];

pub(super) fn seed(scene: &Scene<'_>) -> Result<(), StartError> {
    let azure = scene.azure;
    azure.tenant(AzureCloud::Public, DIRECTORY, DOMAIN)?;
    azure.managed_identity(DIRECTORY, MACHINE, Some(MACHINE_RESOURCE))?;
    let aks = azure.cluster(CLUSTER, DIRECTORY)?;
    aks.assign_role(MACHINE, AksRole::ClusterUser);
    aks.map_principal(MACHINE, "machine", &[]);
    for (tenant, client_id, host) in TENANTS {
        let account = format!("{tenant}-azure-sa");
        let annotations = [
            (CLIENT_ANNOTATION, client_id),
            (TENANT_ANNOTATION, DIRECTORY),
        ];
        scene
            .management
            .apply_service_account(tenant, &account, &annotations)?;
        azure.application(DIRECTORY, client_id)?;
        let credential = FederatedCredential {
            issuer: scene.management.issuer(),
            subject: subject(tenant, &account),
            audience: AUDIENCE.to_owned(),
        };
        azure.federated_credential(client_id, credential)?;
        let registry = azure.registry(host, DIRECTORY)?;
        registry.allow_pull(client_id);
        registry.allow_pull(MACHINE);
        aks.assign_role(client_id, AksRole::ClusterUser);
        aks.map_principal(client_id, tenant, &[]);
        furnish(aks.kubernetes(), tenant, tenant)?;
    }
    Ok(())
}
