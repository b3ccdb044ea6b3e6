//! kube-rs against the sandbox: client, TokenRequest, reflector.

use futures::StreamExt;
use gatepass_sandbox::Sandbox;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config};

async fn client(sandbox: &Sandbox, user: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&sandbox.kubernetes().kubeconfig(user)).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn the_client_reads_writes_and_understands_refusals() {
    let sandbox = Sandbox::demo().await.unwrap();
    let client = client(&sandbox, "admin").await;
    assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "tenant-a");
    let account = accounts.get("tenant-a-ecr-sa").await.unwrap();
    let annotations = account.metadata.annotations.unwrap();
    assert_eq!(
        annotations["eks.amazonaws.com/role-arn"],
        "arn:aws:iam::123456789012:role/tenant-a-ecr"
    );
    let missing = accounts.get("nope").await.unwrap_err();
    assert!(
        matches!(missing, kube::Error::Api(status) if status.code == 404 && status.reason == "NotFound")
    );
    let everywhere: Api<ServiceAccount> = Api::all(client.clone());
    let listed = everywhere
        .list(&ListParams::default().fields("metadata.name=workload"))
        .await
        .unwrap();
    assert_eq!(listed.items.len(), 2);
    let maps: Api<ConfigMap> = Api::namespaced(client, "tenant-a");
    let map: ConfigMap = serde_json::from_value(
        serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}),
    )
    .unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    let patched = maps
        .patch("m", &PatchParams::apply("test"), &Patch::Apply(&map))
        .await
        .unwrap();
    assert_eq!(patched.metadata.name.as_deref(), Some("m"));
    maps.delete("m", &Default::default()).await.unwrap();
}

#[tokio::test]
async fn the_client_requests_tokens() {
    let sandbox = Sandbox::demo().await.unwrap();
    let accounts: Api<ServiceAccount> =
        Api::namespaced(client(&sandbox, "admin").await, "tenant-a");
    let request = |seconds| TokenRequest {
        spec: TokenRequestSpec {
            audiences: vec!["sts.amazonaws.com".to_owned()],
            expiration_seconds: Some(seconds),
            bound_object_ref: None,
        },
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let issued = accounts
        .create_token_request("tenant-a-ecr-sa", &params, &request(600))
        .await
        .unwrap();
    assert_eq!(issued.status.unwrap().token.split('.').count(), 3);
    let refused = accounts
        .create_token_request("tenant-a-ecr-sa", &params, &request(599))
        .await
        .unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 422));
    let tenant: Api<ServiceAccount> = Api::namespaced(client(&sandbox, "tenant").await, "tenant-a");
    let forbidden = tenant
        .create_token_request("tenant-a-ecr-sa", &params, &request(600))
        .await
        .unwrap_err();
    assert!(matches!(forbidden, kube::Error::Api(status) if status.code == 403));
}

#[tokio::test]
async fn a_reflector_follows_changes_and_survives_lost_history() {
    let sandbox = Sandbox::demo().await.unwrap();
    let cluster = sandbox.kubernetes();
    for config in [
        watcher::Config::default(),
        watcher::Config::default().streaming_lists(),
    ] {
        let accounts: Api<ServiceAccount> = Api::all(client(&sandbox, "admin").await);
        let (reader, writer) = reflector::store();
        let stream = watcher(accounts, config).default_backoff().reflect(writer);
        let mut stream = Box::pin(stream);
        let wanted = ObjectRef::<ServiceAccount>::new("app").within("tenant-a");
        while reader.len() < 10 {
            stream.next().await.unwrap().unwrap();
        }
        assert!(reader.get(&wanted).is_none());
        cluster
            .apply_service_account("tenant-a", "app", &[("step", "1")])
            .unwrap();
        while annotation(&reader, &wanted).as_deref() != Some("1") {
            stream.next().await.unwrap().unwrap();
        }
        cluster
            .apply_service_account("tenant-a", "app", &[("step", "2")])
            .unwrap();
        while annotation(&reader, &wanted).as_deref() != Some("2") {
            stream.next().await.unwrap().unwrap();
        }
        cluster.delete_service_account("tenant-a", "app").unwrap();
        cluster
            .apply_service_account("tenant-a", "last", &[])
            .unwrap();
        while reader.get(&wanted).is_some() {
            stream.next().await.unwrap().unwrap();
        }
        cluster.delete_service_account("tenant-a", "last").unwrap();
    }
}

fn annotation(
    reader: &reflector::Store<ServiceAccount>,
    wanted: &ObjectRef<ServiceAccount>,
) -> Option<String> {
    let account = reader.get(wanted)?;
    account.metadata.annotations.as_ref()?.get("step").cloned()
}
