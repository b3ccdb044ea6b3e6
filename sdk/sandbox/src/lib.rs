//! A Kubernetes API, OCI registries, and the endpoints of AWS, Azure, Google Cloud and GitHub Actions
//! that credentials come from, in one process, for tests and demonstrations of whatever exchanges
//! identities.
//!
//! It is strict where the real services are: signatures are recomputed, tokens are verified with the
//! keys that their issuer publishes over HTTPS, and refusals carry the bodies that clients meet in
//! the wild. Everything listens on loopback, with certificates of an authority of its own.
//!
//! ```no_run
//! # async fn run() -> Result<(), gatepass_sandbox::StartError> {
//! let sandbox = gatepass_sandbox::Sandbox::demo().await?;
//! println!("the cloud is at {}", sandbox.address());
//! # Ok(())
//! # }
//! ```

mod answer;
mod authority;
mod aws;
mod azure;
mod builder;
mod call;
mod clock;
mod cloud;
mod demo;
mod dialer;
mod fault;
mod foundation;
mod github;
mod google;
mod guarded;
mod journal;
mod json;
mod kubernetes;
mod listener;
mod metadata;
mod oidc;
mod pattern;
mod random;
mod registry;
mod sandbox;
mod signing_key;
mod token;

pub use crate::aws::{AccessKey, Aws, AwsError, EksCluster, RegistryLogin, TrustPolicy};
pub use crate::azure::{
    AksCluster, AksRole, Azure, AzureCloud, AzureError, AzureRegistry, AzureRegistryLogin,
    ClientCertificate, FederatedCredential, MetadataPhase,
};
pub use crate::builder::{Builder, StartError};
pub use crate::clock::{Clock, SandboxClock, SystemClock};
pub use crate::fault::{Fault, Faults};
pub use crate::github::{GitHub, Job, JobAccess};
pub use crate::google::{
    GkeCluster, Google, GoogleError, GoogleLogin, Metadata as GoogleMetadata,
    WorkloadIdentityProvider,
};
pub use crate::journal::Request;
pub use crate::kubernetes::{Cluster, Rule, SetupError, TrustedIssuer};
pub use crate::registry::{Registry, RegistryError, RegistryHost};
pub use crate::sandbox::Sandbox;
