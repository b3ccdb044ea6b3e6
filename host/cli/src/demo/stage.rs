//! Plays a scene: asks the host, uses what it answers, and judges the ending.

use super::furnishing;
use super::report::{Outcome, Row};
use super::scenario::{Ending, Scene};
use crate::answer::{Answer, Wanted};
use crate::bundled;
use crate::failure::Failure;
use crate::output::time::left;
use crate::progress::noted;
use crate::sandbox::configuration;
use crate::signing;
use gatepass::kubernetes::{KubernetesServiceAccounts, client};
use gatepass::plugin::PluginEngine;
use gatepass::{CredentialHost, ErrorKind};
use gatepass_sandbox::Sandbox;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// A host whose world is a sandbox.
pub(crate) struct Stage {
    host: CredentialHost,
}

impl Stage {
    /// Loads the bundled plugins into a host whose world is this sandbox.
    pub(crate) async fn set(sandbox: &Sandbox) -> Result<Self, Failure> {
        let config = configuration::of(sandbox);
        let environment = furnishing::furnish(sandbox)?;
        let client = management(sandbox).await?;
        let mut engine = PluginEngine::new()?.with_environment(Arc::new(environment));
        if let Some(spiffe) = &config.spiffe {
            let signer = signing::signer(spiffe, client.clone(), "gatepass").await?;
            engine = engine.with_signer(signer);
        }
        let building = config.builder(&engine, Path::new(""), &bundled::find, None);
        let builder = noted("compiling all plugins", building).await?;
        let accounts = KubernetesServiceAccounts::new(client);
        let host = builder.service_accounts(accounts).build()?;
        Ok(Self { host })
    }

    /// Plays one scene.
    pub(crate) async fn play(&self, scene: &Scene) -> Row {
        let started = Instant::now();
        let answer = scene.wanted.ask(&self.host, &scene.request).await;
        let millis = started.elapsed().as_secs_f64() * 1000.0;
        let outcome = self.judge(scene, answer).await;
        Row {
            provider: scene.request.provider().to_owned(),
            verb: scene.wanted.verb(),
            who: scene.who.clone(),
            is_refusal: scene.ending == Ending::Denied,
            millis,
            outcome,
        }
    }

    async fn judge(
        &self,
        scene: &Scene,
        answer: Result<Answer, gatepass::Error>,
    ) -> Result<Outcome, String> {
        match (scene.ending, answer) {
            (Ending::Denied, Err(error)) if error.kind() == ErrorKind::Denied => {
                Ok(Outcome::denied())
            }
            (Ending::Denied, Ok(_)) => {
                Err("a credential was issued that must be denied".to_owned())
            }
            (_, Err(error)) => Err(in_one_line(&Failure::from(error))),
            (Ending::Issued { is_cached }, Ok(answer)) => {
                let issue = answer.issue(scene.request.provider());
                if issue.is_cached != is_cached {
                    return Err(format!("it came from the {}", issue.from()));
                }
                self.use_cluster(scene).await?;
                Ok(Outcome {
                    identity: Some(issue.identity.to_owned()),
                    from: Some(issue.from()),
                    lifetime: Some(left(SystemTime::now(), issue.expires_at)),
                })
            }
        }
    }

    /// Proves access to a cluster by reading the tenant's own objects with a client that renews itself.
    async fn use_cluster(&self, scene: &Scene) -> Result<(), String> {
        let Wanted::Cluster(cluster) = &scene.wanted else {
            return Ok(());
        };
        let source = self
            .host
            .cluster_source(scene.request.clone(), cluster.clone());
        let client = client(source)
            .await
            .map_err(|error| in_one_line(&Failure::from(error)))?;
        let maps: Api<ConfigMap> = Api::namespaced(client, scene.tenant);
        let list = maps.list(&ListParams::default()).await;
        let list =
            list.map_err(|error| format!("the cluster refuses to list config maps: {error}"))?;
        let tenant = list
            .items
            .iter()
            .find_map(|map| map.data.as_ref()?.get("tenant"));
        match tenant {
            Some(tenant) if tenant == scene.tenant => Ok(()),
            _ => Err("the cluster shows no object of the tenant".to_owned()),
        }
    }
}

async fn management(sandbox: &Sandbox) -> Result<Client, Failure> {
    let broken = || Failure::configuration("cannot use the sandbox's own kubeconfig");
    let kubeconfig =
        Kubeconfig::from_yaml(&sandbox.kubernetes().kubeconfig(furnishing::OWN_ACCOUNT));
    let kubeconfig = kubeconfig.map_err(|error| broken().because(error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| broken().because(error))?;
    // The sandbox is on this machine, whatever proxy the environment names.
    config.proxy_url = None;
    Client::try_from(config).map_err(|error| broken().because(error))
}

fn in_one_line(failure: &Failure) -> String {
    let mut line = failure.to_string();
    for cause in failure.causes() {
        line.push_str(": ");
        line.push_str(&cause);
    }
    line
}
