//! One request against one host, put together from flags, files and the environment.

use crate::answer::{Answer, Wanted};
use crate::arguments::{Global, Request};
use crate::bundled;
use crate::cluster::{Cluster, Connection, Origin};
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::progress::noted;
use crate::request::{self, Named};
use crate::{signing, terminal};
use gatepass::kubernetes::KubernetesServiceAccounts;
use gatepass::plugin::PluginEngine;
use gatepass::{CredentialHost, CredentialRequest, Journal, TrustPolicy};

/// The one provider that needs a cluster even for the process itself.
const GENERIC: &str = "generic";

/// A host and the request to it.
#[derive(Debug)]
pub(crate) struct Session {
    host: CredentialHost,
    request: CredentialRequest,
    /// The flags, with all that was filled in.
    pub(crate) flags: Request,
    /// Whom the request names.
    pub(crate) named: Named,
    /// Where the kubeconfig came from, and its context, if one was needed.
    pub(crate) kubeconfig: Option<(Origin, Option<String>)>,
}

impl Session {
    /// Reads what the request needs and no more: an unused kubeconfig may be broken, and an unused
    /// plugin is not compiled. `connection` is there if it was needed already.
    pub(crate) async fn open(
        global: &Global,
        flags: &Request,
        wanted: &Wanted,
        connection: Option<Connection>,
    ) -> Result<Self, Failure> {
        let region = request::region(
            flags,
            wanted.says_its_region(),
            std::env::var("AWS_REGION").ok(),
        );
        let flags = Request {
            region,
            ..flags.clone()
        };
        let named = Named::of(&flags)?;
        named.check()?;
        let configuration = Configuration::read(global)?;
        note_own_identity(&named, &configuration);
        let connection = match connection {
            None if needs_cluster(&named, flags.provider(), &configuration) => {
                Some(Cluster::find(global).await?.connect()?)
            }
            connection => connection,
        };
        let namespace = connection
            .as_ref()
            .map(|cluster| cluster.namespace.as_str());
        let named = named.within(namespace.unwrap_or("default"));
        let client = connection.as_ref().map(|cluster| &cluster.client);
        let request = request::build(&flags, named.subject(client).await?)?;
        let kubeconfig = connection
            .as_ref()
            .map(|cluster| (cluster.origin.clone(), cluster.context.clone()));
        let engine = match &named {
            Named::Object { .. } => engine_that_signs(&configuration, connection.as_ref()).await?,
            _ => PluginEngine::new()?,
        };
        let host = host(&configuration, flags.provider(), &engine, connection).await?;
        Ok(Self {
            host,
            request,
            flags,
            named,
            kubeconfig,
        })
    }

    /// Asks the host.
    pub(crate) async fn ask(&self, wanted: &Wanted) -> Result<Answer, Failure> {
        self.ask_host(&self.host, wanted).await
    }

    /// Asks the host, and writes down its decisions.
    pub(crate) async fn ask_explaining(
        &self,
        wanted: &Wanted,
        journal: &Journal,
    ) -> Result<Answer, Failure> {
        self.ask_host(&self.host.explaining(journal.clone()), wanted)
            .await
    }

    /// Asks the host what the other side must be told.
    pub(crate) async fn trust(&self, issuer: Option<&str>) -> Result<TrustPolicy, Failure> {
        let asking = self.host.trust_policy(&self.request, issuer);
        noted("reading who is trusted", asking)
            .await
            .map_err(Failure::from)
    }

    async fn ask_host(&self, host: &CredentialHost, wanted: &Wanted) -> Result<Answer, Failure> {
        let waiting = format!(
            "waiting for an answer to {} {}",
            wanted.verb(),
            self.flags.provider()
        );
        noted(&waiting, wanted.ask(host, &self.request))
            .await
            .map_err(Failure::from)
    }
}

/// A namespace alone, without a default account, means the process itself, which may surprise.
fn note_own_identity(named: &Named, configuration: &Configuration) {
    let enforced = configuration.host.default_service_account.is_some();
    if let (Named::Namespace(namespace), false) = (named, enforced) {
        terminal::talk(&format!(
            "note: no service account of '{namespace}' is named, so this is for the process itself\n"
        ));
    }
}

/// With the gate closed the host refuses before it reads anything, and so do we.
fn needs_cluster(named: &Named, provider: &str, configuration: &Configuration) -> bool {
    let is_named = match named {
        // It hands out the token of the account that the process has itself.
        Named::Process if provider == GENERIC => return true,
        Named::Process => false,
        Named::Namespace(_) => configuration.host.default_service_account.is_some(),
        Named::Account { .. } | Named::Object { .. } => true,
    };
    is_named && configuration.is_object_level()
}

/// An engine whose guests are lent the signer, where one is configured.
async fn engine_that_signs(
    configuration: &Configuration,
    connection: Option<&Connection>,
) -> Result<PluginEngine, Failure> {
    let engine = PluginEngine::new()?;
    let (Some(spiffe), Some(cluster)) = (&configuration.host.spiffe, connection) else {
        return Ok(engine);
    };
    let signer = signing::signer(spiffe, cluster.client.clone(), &cluster.namespace).await?;
    Ok(engine.with_signer(signer))
}

async fn host(
    configuration: &Configuration,
    provider: &str,
    engine: &PluginEngine,
    connection: Option<Connection>,
) -> Result<CredentialHost, Failure> {
    let only = configuration.only(provider);
    let what = match only {
        Some(plugin) => format!("compiling plugin {plugin}"),
        None => "compiling all plugins".to_owned(),
    };
    let building =
        configuration
            .host
            .builder(engine, &configuration.directory, &bundled::find, only);
    let mut builder = noted(&what, building).await?;
    if let Some(cluster) = connection {
        builder = builder.service_accounts(KubernetesServiceAccounts::new(cluster.client));
    }
    builder.build().map_err(Failure::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass::config::HostConfig;
    use std::path::PathBuf;

    #[test]
    fn a_cluster_is_looked_for_only_where_an_account_may_be_named() {
        let account = || Named::Account {
            namespace: None,
            name: "a".into(),
        };
        let namespace = || Named::Namespace("n".into());
        let cases = [
            (Named::Process, true, None, false),
            (account(), true, None, true),
            (account(), false, None, false),
            (namespace(), true, None, false),
            (namespace(), true, Some("d"), true),
            (namespace(), false, Some("d"), false),
        ];
        for (named, gate, default, expected) in cases {
            let mut host = HostConfig::bundled(&[]);
            host.feature_gates
                .insert("ObjectLevelWorkloadIdentity".into(), gate);
            host.default_service_account = default.map(Into::into);
            let configuration = Configuration {
                host,
                directory: PathBuf::new(),
            };
            assert_eq!(
                needs_cluster(&named, "aws", &configuration),
                expected,
                "{named:?} {gate} {default:?}"
            );
        }
    }
}
