//! Nothing that answers here is ours: a real kube-apiserver issues the tokens, a third party's token
//! service verifies them, moto answers for ECR and EKS.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

#[path = "peers/spiffe.rs"]
mod spiffe;

use async_trait::async_trait;
use futures::StreamExt;
use gatepass::config::{GrantConfig, HostConfig};
use gatepass::kubernetes::{KubernetesServiceAccounts, ReflectedServiceAccounts};
use gatepass::{
    ClusterReference, CredentialHost, CredentialRequest, CredentialRequestBuilder, Error,
    ErrorKind, Lookup, Material, Origination, ServiceAccount, ServiceAccountName, ServiceAccounts,
    SubjectToken,
};
use gatepass_tests::component;
use gatepass_tests::house::engine;
use gatepass_tests::peer::certificate::Authority;
use gatepass_tests::peer::kubernetes::{self, Cluster, Options, User};
use gatepass_tests::peer::moto::{self, Moto};
use gatepass_tests::peer::sts::{self, Role, Sts};
use k8s_openapi::api::core::v1::ServiceAccount as Resource;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const ROLE: &str = "arn:aws:iam::123456789012:role/team-a";
const STS: &str = "sts.eu-west-1.amazonaws.com";
const ECR: &str = "api.ecr.eu-west-1.amazonaws.com";
const EKS: &str = "eks.eu-west-1.amazonaws.com";

/// The three peers, and accounts in the cluster: `app`, whom the role trusts, and `other`.
struct Peers {
    authority: Authority,
    cluster: Cluster,
    sts: Sts,
    moto: Moto,
}

impl Peers {
    async fn start() -> Self {
        let target = component::target();
        kubernetes::ensure_built(&target).unwrap();
        sts::ensure_built(&target).unwrap();
        moto::ensure_built(&target).unwrap();
        let authority = Authority::new("gatepass tests").unwrap();
        let cluster = kubernetes::start(&target, &authority, &Options::default())
            .await
            .unwrap();
        let role = Role {
            arn: ROLE.into(),
            issuers: vec![cluster.issuer()],
            audiences: vec!["sts.amazonaws.com".into()],
            subjects: vec!["system:serviceaccount:team-a:app".into()],
            maximum_session: Duration::from_secs(3600),
        };
        let sts = sts::start(&target, &authority, &[STS], cluster.ca_pem(), &[role])
            .await
            .unwrap();
        let moto = moto::start(&target, &authority, &[ECR, EKS]).await.unwrap();
        let peers = Self {
            authority,
            cluster,
            sts,
            moto,
        };
        peers.furnish().await;
        peers
    }

    async fn furnish(&self) {
        let namespace = json!({ "metadata": { "name": "team-a" } });
        self.cluster
            .create("/api/v1/namespaces", &namespace)
            .await
            .unwrap();
        for name in ["app", "other"] {
            let annotations = json!({ "eks.amazonaws.com/role-arn": ROLE });
            let account = json!({ "metadata": { "name": name, "annotations": annotations } });
            let path = "/api/v1/namespaces/team-a/serviceaccounts";
            self.cluster.create(path, &account).await.unwrap();
        }
        let cluster = json!({ "name": "remote", "roleArn": ROLE, "resourcesVpcConfig": {} });
        let url = format!("{}/clusters", self.moto.url());
        let client = self.authority.client().unwrap();
        // moto reads service and region from the signature's scope, and checks no signature here.
        let scope = "AWS4-HMAC-SHA256 Credential=AKIA/20261120/eu-west-1/eks/aws4_request, SignedHeaders=host, Signature=0";
        let created = client
            .post(url)
            .header("authorization", scope)
            .body(cluster.to_string());
        let created = created.send().await.unwrap();
        assert!(
            created.status().is_success(),
            "{}",
            created.text().await.unwrap()
        );
    }

    async fn client(&self, user: User) -> kube::Client {
        client(&self.cluster, user).await
    }

    async fn host(&self, accounts: impl ServiceAccounts + 'static) -> CredentialHost {
        let mut config = HostConfig::bundled(&["aws", "generic"]);
        config
            .feature_gates
            .insert("ObjectLevelWorkloadIdentity".into(), true);
        config.network.ca = Some(self.authority.pem().into());
        config.network.system_authorities = Some(false);
        for (host, address) in [
            (STS, self.sts.address()),
            (ECR, self.moto.address()),
            (EKS, self.moto.address()),
        ] {
            config
                .network
                .connect_to
                .insert(format!("{host}:443"), address.to_string());
        }
        config.plugins[0].grant = Some(GrantConfig {
            hosts: [STS, ECR, EKS]
                .map(|host| format!("https://{host}"))
                .to_vec(),
            audiences: vec!["sts.amazonaws.com".into(), "other".into()],
            ..GrantConfig::default()
        });
        let bundled = |name: &str| component::plugin(name).ok();
        let builder = config
            .builder(&engine().unwrap(), Path::new("."), &bundled, None)
            .await
            .unwrap();
        builder.service_accounts(accounts).build().unwrap()
    }

    async fn direct(&self) -> KubernetesServiceAccounts {
        KubernetesServiceAccounts::new(self.client(User::Admin).await)
    }
}

async fn client(cluster: &Cluster, user: User) -> kube::Client {
    let kubeconfig = Kubeconfig::from_yaml(&cluster.kubeconfig(user)).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    kube::Client::try_from(config).unwrap()
}

fn request(account: &str) -> CredentialRequestBuilder {
    CredentialRequest::builder("aws")
        .service_account("team-a", account)
        .region("eu-west-1")
}

fn app() -> CredentialRequest {
    request("app").build().unwrap()
}

/// Breaks the signature of every token on its way.
#[derive(Debug)]
struct Tampering(KubernetesServiceAccounts);

#[async_trait]
impl ServiceAccounts for Tampering {
    async fn service_account(&self, name: &ServiceAccountName) -> Result<Lookup, Error> {
        self.0.service_account(name).await
    }

    async fn token(
        &self,
        account: &ServiceAccount,
        audiences: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error> {
        let token = self.0.token(account, audiences, lifetime).await?;
        let (signed, signature) = token.token.expose().rsplit_once('.').unwrap();
        let turned: String = signature.chars().rev().collect();
        Ok(SubjectToken {
            token: format!("{signed}.{turned}").into(),
            ..token
        })
    }

    async fn own_account(&self) -> Result<ServiceAccountName, Error> {
        self.0.own_account().await
    }

    async fn issuer(&self) -> Result<String, Error> {
        self.0.issuer().await
    }
}

#[tokio::test]
async fn a_real_token_becomes_a_session_and_what_is_wrong_with_it_is_denied() {
    let peers = Peers::start().await;
    let host = peers.host(peers.direct().await).await;

    let issued = host.access_token(&app()).await.unwrap();
    assert_eq!(&*issued.identity, ROLE);
    assert!(matches!(issued.value.material(), Material::Aws(keys) if keys.session_token.is_some()));
    assert_eq!(
        host.access_token(&app()).await.unwrap().origination,
        Origination::Cache
    );

    let wrong_audience = request("app").audiences(["other"]).build().unwrap();
    let wrong_subject = request("other").build().unwrap();
    let tampering = peers.host(Tampering(peers.direct().await)).await;
    for (what, host, request) in [
        ("audience", &host, &wrong_audience),
        ("subject", &host, &wrong_subject),
        ("signature", &tampering, &app()),
    ] {
        let error = host.access_token(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
    }
    assert_eq!(host.cached().await, 1);
    assert_eq!(tampering.cached().await, 0);
}

#[tokio::test]
async fn a_reflector_of_the_real_api_server_serves_the_accounts() {
    let peers = Peers::start().await;
    let client = peers.client(User::Admin).await;
    let (store, writer) = reflector::store();
    let accounts: kube::Api<Resource> = kube::Api::all(client.clone());
    let watch = watcher(accounts, watcher::Config::default())
        .default_backoff()
        .reflect(writer);
    let watching = tokio::spawn(watch.for_each(|_| std::future::ready(())));
    let host = peers
        .host(ReflectedServiceAccounts::new(store, client))
        .await;
    let issued = host.access_token(&app()).await.unwrap();
    assert_eq!(&*issued.identity, ROLE);
    watching.abort();
}

#[tokio::test]
async fn rbac_of_the_real_api_server_is_the_clusters_to_mend() {
    let peers = Peers::start().await;
    let limited = KubernetesServiceAccounts::new(peers.client(User::Limited).await);
    let host = peers.host(limited).await;
    let error = host.access_token(&app()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ServiceAccount, "{error}");
    assert!(
        error.advice().unwrap().contains("serviceaccounts/token"),
        "{error:?}"
    );
    let missing = request("missing").build().unwrap();
    let error = host.access_token(&missing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ServiceAccount, "{error}");
}

#[tokio::test]
async fn moto_answers_for_ecr_and_eks() {
    let peers = Peers::start().await;
    let host = peers.host(peers.direct().await).await;
    // moto's logins expired in 2015: the plugin reads the answer, and the host does not pass it on.
    let repository = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/app"
        .parse()
        .unwrap();
    let error = host
        .registry_credential(&app(), &repository)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("expired"), "{error}");
    // moto's certificate authorities are no certificates, so that the caller brings one.
    let reference = |name: &str| ClusterReference {
        name: Some(format!("arn:aws:eks:eu-west-1:123456789012:cluster/{name}")),
        ca: Some(peers.authority.pem().parse().unwrap()),
        address: None,
    };
    let access = host
        .cluster_access(&app(), &reference("remote"))
        .await
        .unwrap()
        .value;
    assert!(
        access.server().as_str().contains(".eks.amazonaws.com"),
        "{}",
        access.server()
    );
    assert!(
        matches!(access.login().material(), Material::Bearer(token) if token.expose().starts_with("k8s-aws-v1."))
    );
    let error = host
        .cluster_access(&app(), &reference("missing"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}
