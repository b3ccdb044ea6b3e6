//! How requests of a plugin travel: proxies, authorities, ports, sizes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test ends where something is not as it must be"
)]

use gatepass::config::{GrantConfig, HostConfig};
use gatepass::{CredentialRequest, CredentialRequestBuilder, ErrorKind};
use gatepass_sandbox::Fault;
use gatepass_tests::house::{House, guest};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

const EXCHANGE: &str = "AssumeRoleWithWebIdentity";

fn request() -> CredentialRequestBuilder {
    CredentialRequest::builder("aws")
        .service_account("tenant-a", "tenant-a-ecr-sa")
        .region("us-east-1")
}

/// A proxy that counts what it tunnels, and tunnels all of it to one address.
async fn proxy(to: SocketAddr) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let tunnels = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tunnels);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(tunnel(client, to));
        }
    });
    (url, tunnels)
}

async fn tunnel(client: TcpStream, to: SocketAddr) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut line = String::new();
    client.read_line(&mut line).await?;
    assert!(
        line.starts_with("CONNECT sts.us-east-1.amazonaws.com:443"),
        "{line}"
    );
    while line.trim() != "" {
        line.clear();
        client.read_line(&mut line).await?;
    }
    client
        .get_mut()
        .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
        .await?;
    let mut server = TcpStream::connect(to).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

fn grant_loopback(config: &mut HostConfig) {
    config.plugins[0].grant = Some(GrantConfig {
        hosts: vec!["https://sts.*.amazonaws.com".into()],
        audiences: vec!["sts.amazonaws.com".into()],
        networks: vec!["127.0.0.0/8".into()],
        ..GrantConfig::default()
    });
}

#[tokio::test]
async fn egress_goes_through_the_proxy_of_the_request() {
    let house = House::with(grant_loopback).await.unwrap();
    let (url, tunnels) = proxy(house.sandbox.address()).await;
    let request = request().proxy(url).build().unwrap();
    house.host.access_token(&request).await.unwrap();
    assert_eq!(tunnels.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn egress_refuses_a_proxy_on_a_network_that_is_not_granted() {
    let house = House::new().await.unwrap();
    let (url, tunnels) = proxy(house.sandbox.address()).await;
    for url in [url.as_str(), "http://localhost:1", "http://169.254.169.254"] {
        let request = request().proxy(url).build().unwrap();
        let error = house.host.access_token(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Egress, "{url}: {error}");
    }
    assert_eq!(tunnels.load(Ordering::SeqCst), 0);
    assert_eq!(house.asked(EXCHANGE), 0);
}

#[tokio::test]
async fn egress_trusts_the_authorities_of_the_request_for_that_request() {
    let house = House::with(|config| {
        config.network.ca = None;
        config.network.system_authorities = None;
        config.retry.max_attempts = Some(1);
    })
    .await
    .unwrap();
    let error = house
        .host
        .access_token(&request().build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    let trusting = request().ca(house.sandbox.ca_pem()).build().unwrap();
    house.host.access_token(&trusting).await.unwrap();
    let error = house
        .host
        .access_token(&request().build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Unavailable,
        "a pool was shared: {error}"
    );
}

#[tokio::test]
async fn egress_bounds_the_size_of_an_answer() {
    let house = House::with(|config| {
        config.retry.max_attempts = Some(1);
        config.plugins[0].limits.max_response_bytes = Some(100_000);
    })
    .await
    .unwrap();
    house
        .sandbox
        .faults()
        .set("sts.*", EXCHANGE, Fault::Body(vec![b'x'; 100_001]));
    let error = house
        .host
        .access_token(&request().build().unwrap())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("more than 100000 bytes"),
        "{error}"
    );
}

async fn hostile(behaviour: &str) -> (House, Result<String, gatepass::Error>) {
    let plugin = guest("hostile", |plugin| {
        plugin.grant = Some(GrantConfig {
            hosts: vec![
                "https://granted.example:8443".into(),
                "https://localhost:9443".into(),
            ],
            audiences: vec!["hostile".into()],
            ..GrantConfig::default()
        });
    });
    let plugin = plugin.unwrap();
    let house = House::with(|config| {
        let sandbox = config.network.connect_to["*:443"].clone();
        config
            .network
            .connect_to
            .insert("granted.example:8443".into(), sandbox);
        config.plugins.push(plugin);
    });
    let house = house.await.unwrap();
    let request = CredentialRequest::builder("hostile")
        .service_account("tenant-a", "workload")
        .parameter("behaviour", behaviour)
        .build()
        .unwrap();
    let answer = house.host.access_token(&request).await;
    let answer = answer.map(|issued| format!("{:?}", issued.value.material().kind()));
    (house, answer)
}

#[tokio::test]
async fn egress_to_a_port_of_its_own_keeps_the_port_in_the_host_header() {
    let (house, answer) = hostile("send-to-port").await;
    answer.unwrap();
    let sent = house
        .sandbox
        .requests()
        .into_iter()
        .find(|request| request.path == "/x")
        .unwrap();
    assert_eq!(sent.host, "granted.example:8443");
}

#[tokio::test]
async fn egress_does_not_dial_a_granted_name_that_leads_home() {
    let (_, answer) = hostile("send-to-loopback").await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Egress, "{error}");
    assert!(
        error.to_string().contains("localhost resolves to"),
        "{error}"
    );
}
