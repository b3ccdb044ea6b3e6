//! Access to a cluster, made with access tokens.

use super::subject::check_own_cluster;
use super::{CredentialHost, Loaded, credential_details};
use crate::cache::key::KeyLines;
use crate::credential::{
    ClusterAccess, ClusterReference, Credential, Issued, Material, Origin, parse_server,
};
use crate::error::Error;
use crate::journal::details;
use crate::kubernetes::AccessSource;
use crate::provider::Call;
use crate::request::CredentialRequest;
use async_trait::async_trait;
use std::sync::Arc;

/// The most access tokens for one cluster: AKS, which needs the most, needs two.
const MAX_CLUSTER_TOKENS: usize = 4;

impl CredentialHost {
    pub(super) async fn cluster(
        &self,
        request: &CredentialRequest,
        cluster: &ClusterReference,
    ) -> Result<Issued<ClusterAccess>, Error> {
        cluster.check()?;
        let loaded = self.loaded(request)?;
        let subject = self.subject(request, loaded.provider.as_ref()).await?;
        check_own_cluster(request, &subject, cluster)?;
        let mut facts = loaded.facts.get(&()).await;
        let wanted = self
            .ask(
                loaded,
                request,
                &mut facts,
                cluster,
                |provider, cluster, call| provider.cluster(cluster, call),
            )
            .await?;
        check_wanted(request.provider(), wanted.len())?;
        self.journal
            .passed("cluster", || details([("access tokens", &wanted.len())]));
        let mut credentials = Vec::with_capacity(wanted.len());
        let mut keys = Vec::with_capacity(wanted.len());
        let mut identity: Arc<str> = "".into();
        for wanted in &wanted {
            let (access, key) = self.derived(request, wanted).await?;
            credentials.push(access.value);
            keys.push(key);
            identity = access.identity;
        }
        let lines = KeyLines::cluster(&keys, cluster, request, &facts);
        let call = self.call(request, &facts);
        let find = self.find_cluster(loaded, cluster, &credentials, call);
        let (value, origination) = self.cached_or(lines.key(), &lines, find).await?;
        Ok(Issued {
            value,
            identity,
            origination,
        })
    }

    async fn find_cluster(
        &self,
        loaded: &Loaded,
        cluster: &ClusterReference,
        access: &[Arc<Credential>],
        call: Call<'_>,
    ) -> Result<ClusterAccess, Error> {
        let provider = call.request.provider();
        let found = self
            .retrying("rest config", || {
                loaded.provider.rest_config(cluster, access, call)
            })
            .await
            .map_err(|error| {
                error.during(format_args!("access to cluster {}", shown_cluster(cluster)))
            })?;
        self.check(&found.login, provider)?;
        let access = ClusterAccess {
            server: parse_server(&found.server, provider)?,
            ca: found.ca,
            login: found.login,
        };
        check_access(provider, cluster, &access)?;
        self.journal.passed("rest config", || {
            let mut shown = details([("server", &access.server)]);
            shown.extend(credential_details(&access.login));
            shown
        });
        Ok(access)
    }
}

/// Without an access token nothing would say for whom the access to the cluster is.
fn check_wanted(provider: &str, wanted: usize) -> Result<(), Error> {
    if (1..=MAX_CLUSTER_TOKENS).contains(&wanted) {
        return Ok(());
    }
    Err(Error::plugin(format!(
        "provider '{provider}' asks for {wanted} access tokens for a cluster, not 1 to {MAX_CLUSTER_TOKENS}"
    )))
}

/// The ServiceAccount token itself goes to the server that the caller named, and no other: the host's own
/// client sends it there.
fn check_access(
    provider: &str,
    cluster: &ClusterReference,
    access: &ClusterAccess,
) -> Result<(), Error> {
    if let Material::Aws(_) | Material::Basic(_) | Material::Custom(_) = access.login.material() {
        return Err(Error::plugin(format!(
            "provider '{provider}' answered a login of kind {}, which no API server takes",
            access.login.material().kind()
        )));
    }
    let named = cluster.address.as_deref().and_then(|address| {
        let absolute = if address.contains("://") {
            address.to_owned()
        } else {
            format!("https://{address}")
        };
        url::Url::parse(&absolute).ok()
    });
    let same = named.is_some_and(|named| named.origin() == access.server.origin());
    match access.login.origin {
        Origin::SubjectToken if !same => Err(Error::plugin(format!(
            "provider '{provider}' wants to send the service account's token to another server than the cluster's address"
        ))),
        _ => Ok(()),
    }
}

fn shown_cluster(cluster: &ClusterReference) -> &str {
    let name = cluster.name.as_deref().or(cluster.address.as_deref());
    name.unwrap_or_default()
}

pub(super) struct ClusterSource {
    pub(super) host: CredentialHost,
    pub(super) request: CredentialRequest,
    pub(super) cluster: ClusterReference,
}

#[async_trait]
impl AccessSource for ClusterSource {
    async fn access(&self) -> Result<Arc<ClusterAccess>, Error> {
        let issued = self
            .host
            .cluster_access(&self.request, &self.cluster)
            .await?;
        Ok(issued.value)
    }
}
