//! Hands a workload the short-lived credential it is entitled to, and nothing else.
//!
//! A [`CredentialHost`] runs providers (three clouds, SPIFFE, GitHub, and whatever a vendor ships) as sandboxed WebAssembly
//! components. The host does what needs trust: Kubernetes `TokenRequest`, signing, caching, HTTP. A
//! provider does what needs knowledge of one cloud, and never sees the token that it exchanges.
//!
//! # A controller
//!
//! ```no_run
//! use gatepass::kubernetes::KubernetesServiceAccounts;
//! use gatepass::plugin::{GrantPolicy, Plugin, PluginEngine, PluginLimits, PluginOptions, PluginSource};
//! use gatepass::{CredentialHost, CredentialRequest, Network};
//!
//! # async fn controller(client: kube::Client) -> Result<(), gatepass::Error> {
//! let engine = PluginEngine::new()?;
//! let pinned = "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".parse()?;
//! let source = PluginSource::from_file("aws.wasm".as_ref(), &pinned)?;
//! let options = PluginOptions {
//!     grant: GrantPolicy::AsWished,
//!     limits: PluginLimits::default(),
//!     network: Network::default(),
//! };
//! let host = CredentialHost::builder()
//!     .provider(Plugin::load(&engine, source, options).await?)
//!     .service_accounts(KubernetesServiceAccounts::new(client))
//!     .object_level_workload_identity(true)
//!     .build()?;
//!
//! let request = CredentialRequest::builder("aws")
//!     .service_account("tenant-a", "app")
//!     .region("eu-central-1")
//!     .build()?;
//! let issued = host.access_token(&request).await?;
//! println!("{} until {:?}", issued.identity, issued.value.expires_at());
//! # Ok(())
//! # }
//! ```
//!
//! # Rooms
//!
//! From the ground up, and each knows only those below: values ([`CredentialRequest`],
//! [`SubjectReference`], [`Credential`], [`ServiceAccount`]); the [`provider::Provider`] trait, the
//! [`cache`], the policy of [`egress`]; [`kubernetes`], the [`signer`] and the sending of requests;
//! [`plugin`]; and the façade, which alone knows the order of the steps.

mod builder;
pub mod cache;
pub mod clock;
mod cluster_config;
pub mod config;
mod credential;
pub mod egress;
pub mod environment;
mod error;
mod git;
mod host;
mod journal;
pub mod kubernetes;
pub mod plugin;
pub mod provider;
mod repository;
mod request;
pub mod retry;
mod secret;
mod service_account;
pub mod signer;
mod subject;
pub mod text;
mod transport;

pub use builder::CredentialHostBuilder;
pub use cluster_config::ClusterConfig;
pub use credential::{
    AwsKeys, Basic, ClusterAccess, ClusterReference, Credential, Issued, Material, Origination,
    RegistryCredential, StartingKeys, X509,
};
pub use egress::send::Network;
pub use error::{Error, ErrorKind};
pub use git::GitUrl;
pub use host::{CredentialHost, TrustPolicy};
pub use journal::{Journal, Step, Verdict};
pub use repository::Repository;
pub use request::{AccessRequest, CredentialRequest, CredentialRequestBuilder, MAX_LINKS};
pub use secret::Secret;
pub use service_account::{
    DEFAULT_TOKEN_LIFETIME, Lookup, MAX_TOKEN_LIFETIME, MIN_TOKEN_LIFETIME, ServiceAccount,
    ServiceAccountName, ServiceAccounts, SubjectToken,
};
pub use subject::{Namespace, ObjectReference, Subject, SubjectReference};
pub use transport::{CaBundle, ProxyUrl, Transport};
