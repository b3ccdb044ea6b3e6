//! A sandbox, and a host whose plugins reach nothing else.

use crate::component;
use crate::signing::{ISSUER, SIGNING_SECRET, SigningSecret, publish};
use anyhow::{Context, Result};
use gatepass::clock::ManualClock;
use gatepass::config::{HostConfig, PluginConfig, SpiffeConfig};
use gatepass::environment::FixedEnvironment;
use gatepass::kubernetes::KubernetesServiceAccounts;
use gatepass::plugin::{Digest, PluginEngine};
use gatepass::signer::Signer;
use gatepass::{ClusterReference, CredentialHost, CredentialRequest, Error};
use gatepass_sandbox::{Clock, Sandbox};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A sandbox with the demonstration scenario, and a host that is pointed at it.
#[derive(Debug)]
pub struct House {
    /// The clouds and clusters.
    pub sandbox: Sandbox,
    /// The host.
    pub host: CredentialHost,
    /// The host's clock. It stands still at the time at which the house was built.
    pub clock: Arc<ManualClock>,
    /// Who signs for objects, if anybody does.
    pub signer: Option<Signer>,
}

impl House {
    /// A house with the bundled plugins.
    ///
    /// # Errors
    ///
    /// A plugin is not built, or the sandbox does not start.
    pub async fn new() -> Result<Self> {
        Self::with(|_| {}).await
    }

    /// A house with these bundled plugins alone.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub async fn serving(providers: &[&str]) -> Result<Self> {
        let plugins = HostConfig::bundled(providers).plugins;
        Self::with(|config| config.plugins = plugins).await
    }

    /// A house whose process has an environment, with these bundled plugins alone.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub async fn ambient(
        providers: &[&str],
        environment: impl FnOnce(&Sandbox) -> FixedEnvironment,
    ) -> Result<Self> {
        let plugins = HostConfig::bundled(providers).plugins;
        Self::run_by("admin", |sandbox, config| {
            config.plugins = plugins;
            environment(sandbox)
        })
        .await
    }

    /// A house whose configuration is changed before the host is built.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), or the configuration is refused.
    pub async fn with(change: impl FnOnce(&mut HostConfig)) -> Result<Self> {
        Self::run_by("admin", |_, config| {
            change(config);
            FixedEnvironment::default()
        })
        .await
    }

    /// A house whose process is this user at the API server, and has the environment that `furnish` makes.
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    pub async fn run_by(
        user: &str,
        furnish: impl FnOnce(&Sandbox, &mut HostConfig) -> FixedEnvironment,
    ) -> Result<Self> {
        let sandbox = Sandbox::demo().await?;
        let mut config = configuration(&sandbox);
        let environment = furnish(&sandbox, &mut config);
        let clock = Arc::new(ManualClock::at(sandbox.clock().now()));
        let engine = engine()?
            .with_clock(clock.clone())
            .with_environment(Arc::new(environment));
        let host = build(&config, &sandbox, &engine, user, &clock).await?;
        Ok(Self {
            sandbox,
            host,
            clock,
            signer: None,
        })
    }

    /// The API server of the management cluster, as this user.
    ///
    /// # Errors
    ///
    /// The kubeconfig is refused.
    pub async fn kubernetes(&self, user: &str) -> Result<kube::Client> {
        client(&self.sandbox, user).await
    }

    /// A house whose host signs for objects with the key of a Secret, in the trust domain `example.org`, as
    /// [`ISSUER`], which the sandbox's workload cluster trusts; with these bundled plugins alone.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub async fn signing(providers: &[&str]) -> Result<Self> {
        let sandbox = Sandbox::demo().await?;
        let keys = Arc::new(SigningSecret::new()?.watched(&sandbox).await?);
        let spiffe = SpiffeConfig {
            trust_domain: "example.org".into(),
            issuer: Some(ISSUER.into()),
            secret_name: SIGNING_SECRET.into(),
            secret_namespace: None,
        };
        let signer = spiffe.signer(keys)?;
        publish(&sandbox, &signer)?;
        let mut config = configuration(&sandbox);
        config.plugins = HostConfig::bundled(providers).plugins;
        let clock = Arc::new(ManualClock::at(sandbox.clock().now()));
        let engine = engine()?
            .with_clock(clock.clone())
            .with_signer(signer.clone());
        let host = build(&config, &sandbox, &engine, "admin", &clock).await?;
        Ok(Self {
            sandbox,
            host,
            clock,
            signer: Some(signer),
        })
    }

    /// What a remote cluster tells the bearer of this access in a tenant's namespace.
    ///
    /// # Errors
    ///
    /// There is no access, or the cluster refuses it.
    pub async fn greeting(
        &self,
        request: CredentialRequest,
        cluster: ClusterReference,
        namespace: &str,
    ) -> Result<String> {
        let source = self.host.cluster_source(request, cluster);
        let client = gatepass::kubernetes::client(source).await?;
        let greetings: kube::Api<ConfigMap> = kube::Api::namespaced(client, namespace);
        let greeting = greetings.get("greeting").await?;
        let tenant = greeting.data.and_then(|mut data| data.remove("tenant"));
        tenant.context("the greeting names no tenant")
    }

    /// Moves the clocks of host and sandbox.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.sandbox.advance(by);
    }

    /// How often the cloud was asked for this action.
    #[must_use]
    pub fn asked(&self, action: &str) -> usize {
        let requests = self.sandbox.requests();
        requests
            .iter()
            .filter(|request| request.action.as_deref() == Some(action))
            .count()
    }

    /// How many ServiceAccount tokens were asked for.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let requests = self.sandbox.requests();
        let token = |path: &str| path.contains("/serviceaccounts/") && path.ends_with("/token");
        requests
            .iter()
            .filter(|request| token(&request.path))
            .count()
    }
}

/// One engine for all tests of a process, as in a controller.
///
/// # Errors
///
/// The machine lacks what the engine needs.
pub fn engine() -> Result<PluginEngine, Error> {
    static ENGINE: OnceLock<PluginEngine> = OnceLock::new();
    if let Some(engine) = ENGINE.get() {
        return Ok(engine.clone());
    }
    let engine = PluginEngine::new()?;
    Ok(ENGINE.get_or_init(|| engine).clone())
}

/// The bundled plugins, the gate open, and every host name leading to the sandbox.
fn configuration(sandbox: &Sandbox) -> HostConfig {
    let mut config = HostConfig::bundled(&["aws", "generic"]);
    config
        .feature_gates
        .insert("ObjectLevelWorkloadIdentity".into(), true);
    config.network.ca = Some(sandbox.ca_pem().into());
    config.network.system_authorities = Some(false);
    config
        .network
        .connect_to
        .insert("*:443".into(), sandbox.address().to_string());
    config
        .network
        .connect_to
        .insert("*:80".into(), sandbox.metadata_address().to_string());
    config
}

/// Adds a guest of the tests to a configuration, with its digest and a grant in YAML's words.
///
/// # Errors
///
/// The guest is not built.
pub fn guest(name: &str, change: impl FnOnce(&mut PluginConfig)) -> Result<PluginConfig> {
    let file = component::target()
        .join("guests")
        .join(format!("{name}.wasm"));
    let mut plugin = PluginConfig {
        digest: Some(Digest::of(&component::guest(name)?).to_string()),
        file: Some(file),
        ..PluginConfig::default()
    };
    change(&mut plugin);
    Ok(plugin)
}

async fn build(
    config: &HostConfig,
    sandbox: &Sandbox,
    engine: &PluginEngine,
    user: &str,
    clock: &Arc<ManualClock>,
) -> Result<CredentialHost> {
    let bundled = |name: &str| component::plugin(name).ok();
    let builder = config
        .builder(engine, Path::new("."), &bundled, None)
        .await?;
    let accounts = KubernetesServiceAccounts::new(client(sandbox, user).await?);
    Ok(builder
        .service_accounts(accounts)
        .clock(clock.clone())
        .build()?)
}

pub(crate) async fn client(sandbox: &Sandbox, user: &str) -> Result<kube::Client> {
    let kubeconfig = Kubeconfig::from_yaml(&sandbox.kubernetes().kubeconfig(user))?;
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // What the host does with an answer is tested, not what the client tries by itself.
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

/// A request for the role that trusts tenant A's account for ECR.
///
/// # Errors
///
/// Never: the names are legal.
pub fn tenant_a() -> Result<CredentialRequest, Error> {
    tenant("tenant-a", "tenant-a-ecr-sa")
}

/// A request for AWS in us-east-1 on behalf of this account.
///
/// # Errors
///
/// The names are illegal.
pub fn tenant(namespace: &str, account: &str) -> Result<CredentialRequest, Error> {
    CredentialRequest::builder("aws")
        .service_account(namespace, account)
        .region("us-east-1")
        .build()
}
