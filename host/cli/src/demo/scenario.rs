//! Who asks whom for what in the demonstration, and how each request must end.

use super::furnishing::{self, AWS_DEPLOYER, GCP_DEPLOYER};
use crate::answer::Wanted;
use crate::failure::Failure;
use gatepass::{
    AccessRequest, ClusterReference, CredentialRequest, CredentialRequestBuilder, ObjectReference,
    SubjectReference,
};
use gatepass_sandbox::Sandbox;

const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];
const REGION: &str = "us-east-1";
const ECR: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
const EKS: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";
const AKS: &str = "/subscriptions/22222222-2222-2222-2222-222222222222/resourceGroups/demo/providers/Microsoft.ContainerService/managedClusters/demo";
const GKE: &str = "projects/demo-project/locations/us-central1/clusters/demo";
const CODECOMMIT: &str = "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app";
const DEVOPS: &str = "https://dev.azure.com/acme/shop/_git/app";
const ARTIFACTS: &str = "us-central1-docker.pkg.dev/demo-project";

/// How a request must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a credential from the cloud, or the second time from the cache.
    Issued { is_cached: bool },
    /// The cloud denies it.
    Denied,
}

/// On whose behalf a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// `ambient`, `service-account`, `object` or `chain`.
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// One request of the demonstration.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) who: Who,
    /// Whose objects a cluster must show.
    pub(crate) tenant: &'static str,
    pub(crate) request: CredentialRequest,
    pub(crate) wanted: Wanted,
    pub(crate) ending: Ending,
}

/// Every scene: all subjects, providers and verbs, twice; and those that must be refused.
pub(crate) fn scenes(sandbox: &Sandbox) -> Result<Vec<Scene>, Failure> {
    let workload = workload(sandbox)?;
    let mut asked = Vec::new();
    for tenant in TENANTS {
        asked.extend(of_aws(tenant)?);
        asked.extend(of_azure(tenant)?);
        asked.extend(of_gcp(tenant)?);
        asked.extend(of_generic(tenant, &workload)?);
        asked.extend(of_spiffe(tenant, &workload)?);
    }
    asked.extend(of_process(&workload)?);
    asked.extend(chains()?);
    let twice = asked.into_iter().flat_map(|scene| {
        [false, true].map(|is_cached| Scene {
            ending: Ending::Issued { is_cached },
            ..scene.clone()
        })
    });
    Ok(twice.chain(intruders()?).collect())
}

fn scene(
    who: Who,
    tenant: &'static str,
    request: CredentialRequestBuilder,
    wanted: Wanted,
) -> Result<Scene, Failure> {
    Ok(Scene {
        who,
        tenant,
        request: request.build()?,
        wanted,
        ending: Ending::Issued { is_cached: false },
    })
}

fn of_account(
    provider: &str,
    tenant: &'static str,
    account: &str,
    wanted: Wanted,
    more: impl FnOnce(CredentialRequestBuilder) -> CredentialRequestBuilder,
) -> Result<Scene, Failure> {
    let request = CredentialRequest::builder(provider).service_account(tenant, account);
    let who = Who {
        kind: "service-account",
        name: format!("{tenant}/{account}"),
    };
    scene(who, tenant, more(request), wanted)
}

fn cluster(name: &str) -> Wanted {
    Wanted::Cluster(ClusterReference {
        name: Some(name.into()),
        ..ClusterReference::default()
    })
}

fn registry(repository: &str) -> Result<Wanted, Failure> {
    Ok(Wanted::Registry(repository.parse()?))
}

fn of_aws(tenant: &'static str) -> Result<Vec<Scene>, Failure> {
    let (ecr, eks) = (format!("{tenant}-ecr-sa"), format!("{tenant}-eks-sa"));
    let here = |request: CredentialRequestBuilder| request.region(REGION);
    Ok(vec![
        of_account("aws", tenant, &ecr, Wanted::Token, here)?,
        of_account(
            "aws",
            tenant,
            &ecr,
            registry(&format!("{ECR}/{tenant}"))?,
            here,
        )?,
        of_account("aws", tenant, &ecr, Wanted::Git(CODECOMMIT.parse()?), here)?,
        of_account("aws", tenant, &eks, cluster(EKS), here)?,
    ])
}

fn of_azure(tenant: &'static str) -> Result<Vec<Scene>, Failure> {
    let account = format!("{tenant}-azure-sa");
    let repository = format!("{}.azurecr.io/app", tenant.replace('-', ""));
    let as_it_is = |request| request;
    Ok(vec![
        of_account("azure", tenant, &account, Wanted::Token, as_it_is)?,
        of_account("azure", tenant, &account, registry(&repository)?, as_it_is)?,
        of_account(
            "azure",
            tenant,
            &account,
            Wanted::Git(DEVOPS.parse()?),
            as_it_is,
        )?,
        of_account("azure", tenant, &account, cluster(AKS), as_it_is)?,
    ])
}

/// Acting as a service account of Google's by federation and by GKE, and under the account's own name.
fn of_gcp(tenant: &'static str) -> Result<Vec<Scene>, Failure> {
    let account = format!("{tenant}-gcp-sa");
    let repository = format!("{ARTIFACTS}/{tenant}/app");
    let as_it_is = |request| request;
    let mut scenes = vec![
        of_account("gcp", tenant, &account, Wanted::Token, as_it_is)?,
        of_account("gcp", tenant, &account, registry(&repository)?, as_it_is)?,
        of_account("gcp", tenant, &account, cluster(GKE), as_it_is)?,
    ];
    for account in [
        format!("{tenant}-gke-sa"),
        format!("{tenant}-gcp-direct-sa"),
    ] {
        scenes.push(of_account(
            "gcp",
            tenant,
            &account,
            Wanted::Token,
            as_it_is,
        )?);
    }
    Ok(scenes)
}

fn of_generic(tenant: &'static str, workload: &ClusterReference) -> Result<Vec<Scene>, Failure> {
    let (account, as_it_is) = ("workload", |request| request);
    let repository = format!("registry.example/{tenant}/app");
    let vault = |request: CredentialRequestBuilder| request.audiences(["vault.example"]);
    let cluster = Wanted::Cluster(workload.clone());
    Ok(vec![
        of_account("generic", tenant, account, Wanted::Token, vault)?,
        of_account("generic", tenant, account, registry(&repository)?, as_it_is)?,
        of_account("generic", tenant, account, cluster, as_it_is)?,
    ])
}

fn of_spiffe(tenant: &'static str, workload: &ClusterReference) -> Result<Vec<Scene>, Failure> {
    let object = furnishing::object(tenant);
    let who = || Who {
        kind: "object",
        name: format!("{} {tenant}/{}", object.resource, object.name),
    };
    let request = |object: &ObjectReference| {
        let subject = SubjectReference::Object(object.clone());
        CredentialRequest::builder("spiffe").subject(subject)
    };
    let vault = request(&object).audiences(["vault.example"]);
    let certificate = request(&object).parameter("type", "SpiffeCertificate");
    let registry = registry(&format!("registry.example/{tenant}/app"))?;
    let cluster = Wanted::Cluster(workload.clone());
    Ok(vec![
        scene(who(), tenant, vault, Wanted::Token)?,
        scene(who(), tenant, certificate, Wanted::Token)?,
        scene(who(), tenant, request(&object), registry)?,
        scene(who(), tenant, request(&object), cluster)?,
    ])
}

/// What the process itself becomes, in every cloud, at the API server and in a job of GitHub's.
fn of_process(workload: &ClusterReference) -> Result<Vec<Scene>, Failure> {
    let of = |provider: &str, wanted: Wanted| {
        let who = Who {
            kind: "ambient",
            name: "this process".to_owned(),
        };
        let request = CredentialRequest::builder(provider);
        let request = match (provider, &wanted) {
            ("generic" | "github", Wanted::Token) => request.audiences(["vault.example"]),
            _ => request,
        };
        scene(who, "tenant-a", request, wanted)
    };
    let trusted = || Wanted::Cluster(workload.clone());
    Ok(vec![
        of("aws", Wanted::Token)?,
        of("aws", registry(&format!("{ECR}/app"))?)?,
        of("aws", Wanted::Git(CODECOMMIT.parse()?))?,
        of("aws", cluster(EKS))?,
        of("azure", Wanted::Token)?,
        of("azure", registry("tenanta.azurecr.io/app")?)?,
        of("azure", Wanted::Git(DEVOPS.parse()?))?,
        of("azure", cluster(AKS))?,
        of("gcp", Wanted::Token)?,
        of("gcp", registry(&format!("{ARTIFACTS}/tenant-a/app"))?)?,
        of("gcp", cluster(GKE))?,
        of("generic", Wanted::Token)?,
        of("generic", registry("registry.example/acme/app")?)?,
        of("generic", trusted())?,
        of("github", Wanted::Token)?,
        of("github", registry("registry.example/acme/app")?)?,
        of("github", trusted())?,
    ])
}

/// A further link: another role, and another service account of Google's.
fn chains() -> Result<Vec<Scene>, Failure> {
    let of_aws = |wanted| {
        let request = CredentialRequest::builder("aws")
            .service_account("tenant-a", "tenant-a-ecr-sa")
            .region(REGION)
            .link(link("role-arn", AWS_DEPLOYER));
        scene(
            chain("tenant-a-ecr-sa", "deploy"),
            "tenant-a",
            request,
            wanted,
        )
    };
    let of_gcp = |wanted| {
        let request = CredentialRequest::builder("gcp")
            .service_account("tenant-a", "tenant-a-gcp-sa")
            .link(link("impersonate", GCP_DEPLOYER));
        scene(
            chain("tenant-a-gcp-sa", "deployer"),
            "tenant-a",
            request,
            wanted,
        )
    };
    Ok(vec![
        of_aws(Wanted::Token)?,
        of_aws(registry(&format!("{ECR}/app"))?)?,
        of_aws(Wanted::Git(CODECOMMIT.parse()?))?,
        of_aws(cluster(EKS))?,
        of_gcp(Wanted::Token)?,
        of_gcp(registry(&format!("{ARTIFACTS}/tenant-a/app"))?)?,
        of_gcp(cluster(GKE))?,
    ])
}

fn chain(account: &str, to: &str) -> Who {
    Who {
        kind: "chain",
        name: format!("tenant-a/{account} > {to}"),
    }
}

fn link(name: &str, value: &str) -> AccessRequest {
    AccessRequest {
        parameters: [(name.to_owned(), value.to_owned())].into(),
        ..AccessRequest::default()
    }
}

/// Accounts of tenant-a whose annotations name what is tenant-b's: the other side's trust decides.
fn intruders() -> Result<Vec<Scene>, Failure> {
    ["aws", "azure", "gcp"]
        .into_iter()
        .map(|provider| {
            let account = furnishing::intruder(provider);
            let here = |request: CredentialRequestBuilder| match provider {
                "aws" => request.region(REGION),
                _ => request,
            };
            let scene = of_account(provider, "tenant-a", &account, Wanted::Token, here)?;
            Ok(Scene {
                ending: Ending::Denied,
                ..scene
            })
        })
        .collect()
}

fn workload(sandbox: &Sandbox) -> Result<ClusterReference, Failure> {
    let workload = sandbox
        .workload()
        .ok_or_else(|| Failure::configuration("the sandbox has no workload cluster"))?;
    Ok(ClusterReference {
        address: Some(workload.url()),
        ca: Some(sandbox.ca_pem().parse()?),
        name: None,
    })
}
