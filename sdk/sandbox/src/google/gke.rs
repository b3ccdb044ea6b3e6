//! GKE: the description of a cluster, and the clusters it describes.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::Google;
use super::access::{AccessTokens, CLOUD_PLATFORM, USERINFO_EMAIL};
use super::failure::{Failure, Protocol};
use super::name::ClusterName;
use super::policy::{CONNECT, GET_CLUSTER, Resource};
use super::principal::Principal;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::{SandboxClock, rfc3339};
use crate::guarded::Guarded;
use crate::json::put;
use crate::kubernetes::{Authenticator, Cluster, User};
use crate::listener::Site;

/// A GKE cluster: what Google says of it, and its API server.
///
/// Its API server takes the access token of every Google identity; what one may do there is for
/// the cluster's own rules, which know a service account by its e-mail address and a federated
/// identity by its `principal://` name.
#[derive(Debug)]
pub struct GkeCluster {
    name: ClusterName,
    kubernetes: Arc<Cluster>,
    dns_endpoint: String,
    created_at: i64,
    settings: Guarded<Settings>,
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    is_provisioning: bool,
    has_address: bool,
    takes_external_traffic: bool,
}

impl GkeCluster {
    pub(crate) fn new(name: ClusterName, kubernetes: Arc<Cluster>, created_at: i64) -> Self {
        let port = kubernetes.address().port();
        Self {
            dns_endpoint: format!("gke-{port:012x}.{}.gke.goog", name.location),
            name,
            kubernetes,
            created_at,
            settings: Guarded::new(Settings {
                is_provisioning: false,
                has_address: true,
                takes_external_traffic: true,
            }),
        }
    }

    /// `projects/PROJECT/locations/LOCATION/clusters/CLUSTER`.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.to_string()
    }

    /// The API server. Its administrator's kubeconfig needs no Google.
    #[must_use]
    pub fn kubernetes(&self) -> &Cluster {
        &self.kubernetes
    }

    /// The host name of the endpoint that asks IAM before it lets anybody through.
    #[must_use]
    pub fn dns_endpoint(&self) -> &str {
        &self.dns_endpoint
    }

    /// Whether Google says `PROVISIONING`: without addresses and certificates. Off by default.
    pub fn set_provisioning(&self, provisioning: bool) {
        self.settings
            .with(|settings| settings.is_provisioning = provisioning);
    }

    /// Whether the cluster has an endpoint at an address, which is the default, beside the one with
    /// a name.
    pub fn enable_address(&self, enabled: bool) {
        self.settings
            .with(|settings| settings.has_address = enabled);
    }

    /// Whether the endpoint with a name takes traffic from outside of the network; by default it does.
    pub fn allow_external_traffic(&self, allowed: bool) {
        self.settings
            .with(|settings| settings.takes_external_traffic = allowed);
    }

    pub(crate) fn project(&self) -> Resource {
        Resource::Project(self.name.project.clone())
    }

    fn description(&self, authority: &str) -> Value {
        let settings = self.settings.with(|settings| *settings);
        let ClusterName {
            project,
            location,
            cluster,
        } = &self.name;
        let mut description = json!({
            "name": cluster,
            "location": location,
            "selfLink": format!("https://container.googleapis.com/v1/{}", self.name),
            "createTime": rfc3339(self.created_at),
            "currentMasterVersion": "1.34.1-gke.1000000",
            "workloadIdentityConfig": {"workloadPool": format!("{project}.svc.id.goog")},
            "status": "PROVISIONING",
        });
        if settings.is_provisioning {
            return description;
        }
        let dns = json!({
            "endpoint": self.dns_endpoint,
            "allowExternalTraffic": settings.takes_external_traffic,
        });
        let mut endpoints = json!({
            "dnsEndpointConfig": dns,
            "ipEndpointsConfig": {"enabled": settings.has_address},
        });
        // A client puts `https://` before it; here, unlike at Google, a port is part of it.
        let address = self.kubernetes.host();
        let mut set = |path: &[&str], value: Value| put(&mut description, path, value);
        set(&["status"], "RUNNING".into());
        set(
            &["masterAuth"],
            json!({"clusterCaCertificate": STANDARD.encode(authority)}),
        );
        if settings.has_address {
            set(&["endpoint"], address.clone().into());
            set(
                &["privateClusterConfig"],
                json!({"privateEndpoint": address, "publicEndpoint": address}),
            );
            let both = json!({
                "enabled": true,
                "enablePublicEndpoint": true,
                "publicEndpoint": address,
                "privateEndpoint": address,
            });
            put(&mut endpoints, &["ipEndpointsConfig"], both);
        }
        set(&["controlPlaneEndpointsConfig"], endpoints);
        description
    }
}

pub(crate) fn answer(google: &Google, call: &Call) -> Answer {
    match describe(google, call) {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => failure.answer(Protocol::Api),
    }
}

fn describe(google: &Google, call: &Call) -> Result<Value, Failure> {
    let path = call.segments().join("/");
    let name = path.strip_prefix("v1/").and_then(ClusterName::parse);
    let name = name
        .filter(|_| call.method == Method::GET)
        .ok_or_else(Failure::no_method)?;
    let access = google.tokens.caller(call, google.now())?;
    if !access.has_scope(&[CLOUD_PLATFORM]) {
        return Err(Failure::scope_insufficient());
    }
    let project = Resource::Project(name.project.clone());
    if !google
        .policies
        .permits(&access.principal, GET_CLUSTER, &project)
    {
        let message = format!("Required \"{GET_CLUSTER}\" permission(s) for \"{name}\".");
        return Err(Failure::permission_denied(GET_CLUSTER, message));
    }
    let cluster = google
        .find_cluster(&name)
        .ok_or_else(|| Failure::new(404, "NOT_FOUND", format!("Not found: {name}.")))?;
    Ok(cluster.description(google.authority_pem()))
}

/// The endpoint with a name: IAM is asked, then the API server answers.
pub(crate) async fn connect(google: &Google, call: &Call, cluster: &GkeCluster) -> Answer {
    match admit(google, call, cluster) {
        Ok(()) => cluster.kubernetes.answer(call).await,
        Err(failure) => failure.answer(Protocol::Api),
    }
}

fn admit(google: &Google, call: &Call, cluster: &GkeCluster) -> Result<(), Failure> {
    let settings = cluster.settings.with(|settings| *settings);
    if settings.is_provisioning || !settings.takes_external_traffic {
        let message = "The DNS-based endpoint of this cluster takes no external traffic.";
        return Err(Failure::new(403, "PERMISSION_DENIED", message));
    }
    let access = google.tokens.caller(call, google.now())?;
    if google
        .policies
        .permits(&access.principal, CONNECT, &cluster.project())
    {
        return Ok(());
    }
    let message = format!(
        "Permission '{CONNECT}' denied on resource \"{}\" (or it may not exist).",
        cluster.name
    );
    Err(Failure::permission_denied(CONNECT, message))
}

/// Reads Google's access tokens for a cluster's API server.
pub(crate) struct GkeAuthenticator {
    pub(crate) tokens: Arc<AccessTokens>,
    pub(crate) clock: Arc<SandboxClock>,
}

impl Authenticator for GkeAuthenticator {
    fn authenticate<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>> {
        futures::future::ready(self.user(token)).boxed()
    }
}

impl GkeAuthenticator {
    fn user(&self, token: &str) -> Option<User> {
        let access = self.tokens.find(token, self.clock.seconds())?;
        if !access.has_scope(&[CLOUD_PLATFORM]) {
            return None;
        }
        // Without the scope for its e-mail address, an account is known by its number (the vendor's
        // page on role-based access control in GKE).
        let shows_email = access.has_scope(&[USERINFO_EMAIL]);
        let name = match &access.principal {
            Principal::ServiceAccount { unique_id, .. } if !shows_email => unique_id.clone(),
            principal => principal.name(),
        };
        Some(User::authenticated(&name, &[]))
    }
}
