//! The host signs with a key of the real API server; what it signed is judged by who is not ours: another
//! kube-apiserver, the `spiffe` crate, rustls' certificate verifier and OpenSSL.

#[path = "spiffe/verifier.rs"]
mod verifier;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass::config::{HostConfig, SpiffeConfig};
use gatepass::kubernetes::{KubernetesServiceAccounts, SecretSigningKeys};
use gatepass::signer::{FixedKey, Signer, SigningKey};
use gatepass::{
    ClusterReference, CredentialHost, CredentialRequest, CredentialRequestBuilder, Material,
    Namespace, ObjectReference, SubjectReference, X509,
};
use gatepass_tests::component;
use gatepass_tests::house::engine;
use gatepass_tests::issuer::Issuer;
use gatepass_tests::peer::certificate::Authority;
use gatepass_tests::peer::kubernetes::{self, Cluster, Options, User};
use gatepass_tests::peer::process::free_address;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, SignatureAlgorithm,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use verifier::RelyingParty;

const DOMAIN: &str = "example.org";
const NAMESPACE: &str = "gatepass";
const SECRET: &str = "spiffe-signing";
const TENANT: &str = "tenant-a";
const ID: &str = "spiffe://example.org/ocirepositories/tenant-a/app";
const AUDIENCE: &str = "https://registry.example";

/// A management cluster with a signing Secret, and a host that watches it and publishes its keys.
struct Signing {
    authority: Authority,
    cluster: Cluster,
    signer: Signer,
    host: CredentialHost,
    issuer: Issuer,
}

impl Signing {
    async fn start() -> Self {
        let authority = Authority::new("gatepass tests").unwrap();
        let cluster = kubernetes::start(&component::target(), &authority, &Options::default())
            .await
            .unwrap();
        namespace(&cluster, NAMESPACE).await;
        let client = super::client(&cluster, User::Admin).await;
        apply(&client, &tls_secret(&PKCS_RSA_SHA256)).await;
        let keys =
            SecretSigningKeys::watch(client.clone(), &Namespace::new(NAMESPACE).unwrap(), SECRET);
        keys.ready().await.unwrap();
        let issuer = Issuer::start(&authority).await.unwrap();
        let spiffe = SpiffeConfig {
            trust_domain: DOMAIN.into(),
            issuer: Some(issuer.url()),
            secret_name: SECRET.into(),
            secret_namespace: Some(NAMESPACE.into()),
        };
        let signer = spiffe.signer(Arc::new(keys)).unwrap();
        issuer.publish(signer.clone());
        Self {
            host: host(client, &signer).await,
            authority,
            cluster,
            signer,
            issuer,
        }
    }

    /// Puts a key of another kind into the Secret, and waits until the host signs with it.
    async fn rotate(&self) {
        let before = self.signer.key_id().unwrap();
        let client = super::client(&self.cluster, User::Admin).await;
        apply(&client, &tls_secret(&PKCS_ECDSA_P256_SHA256)).await;
        let rotated = async {
            while self.signer.key_id().unwrap() == before {
                tokio::task::yield_now().await;
            }
        };
        // The event of a watch takes milliseconds; a poll of the Secret would take its interval.
        tokio::time::timeout(Duration::from_secs(10), rotated)
            .await
            .unwrap();
    }

    async fn token(&self) -> String {
        let request = request("app").audiences([AUDIENCE]).build().unwrap();
        let issued = self.host.access_token(&request).await.unwrap();
        bearer(issued.value.material())
    }

    async fn certificate(&self) -> X509 {
        let request = request("app").parameter("type", "SpiffeCertificate");
        let issued = self.host.access_token(&request.build().unwrap()).await;
        match issued.unwrap().value.material() {
            Material::X509(x509) => x509.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// A cluster that trusts the issuer by structured authentication configuration, and lets one object read
    /// one ConfigMap.
    async fn trusting_cluster(&self) -> Cluster {
        let address = free_address().unwrap();
        let options = Options {
            address: Some(address),
            authentication_configuration: Some(self.trust(&format!("https://{address}"))),
            ..Options::default()
        };
        let cluster = kubernetes::start(&component::target(), &self.authority, &options)
            .await
            .unwrap();
        namespace(&cluster, TENANT).await;
        for (path, object) in greeting() {
            cluster.create(path, &object).await.unwrap();
        }
        cluster
    }

    /// JSON, which is YAML. Without a prefix, the user's name is the SPIFFE ID.
    fn trust(&self, audience: &str) -> String {
        json!({
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthenticationConfiguration",
            "jwt": [{
                "issuer": {
                    "url": self.issuer.url(),
                    "certificateAuthority": self.authority.pem(),
                    "audiences": [audience],
                },
                "claimMappings": { "username": { "claim": "sub", "prefix": "" } },
            }],
        })
        .to_string()
    }

    /// A client whose login is what the provider makes for the cluster.
    async fn client(&self, cluster: &Cluster, request: CredentialRequestBuilder) -> kube::Client {
        let source = self
            .host
            .cluster_source(request.build().unwrap(), reference(cluster));
        gatepass::kubernetes::client(source).await.unwrap()
    }

    /// The token with which `app` logs in to the cluster.
    async fn login(&self, cluster: &Cluster) -> String {
        let request = request("app").build().unwrap();
        let access = self
            .host
            .cluster_access(&request, &reference(cluster))
            .await;
        bearer(access.unwrap().value.login().material())
    }

    /// The status with which the cluster answers the bearer of a token.
    async fn status(&self, cluster: &Cluster, token: &str) -> u16 {
        let url = format!(
            "{}/api/v1/namespaces/{TENANT}/configmaps/greeting",
            cluster.url()
        );
        let client = self.authority.client().unwrap();
        let answer = client.get(url).bearer_auth(token).send().await.unwrap();
        answer.status().as_u16()
    }
}

async fn host(client: kube::Client, signer: &Signer) -> CredentialHost {
    let mut config = HostConfig::bundled(&["spiffe"]);
    config
        .feature_gates
        .insert("ObjectLevelWorkloadIdentity".into(), true);
    let engine = engine().unwrap().with_signer(signer.clone());
    let bundled = |name: &str| component::plugin(name).ok();
    let builder = config
        .builder(&engine, Path::new("."), &bundled, None)
        .await
        .unwrap();
    builder
        .service_accounts(KubernetesServiceAccounts::new(client))
        .build()
        .unwrap()
}

fn request(name: &str) -> CredentialRequestBuilder {
    let object = ObjectReference {
        api_version: "source.toolkit.fluxcd.io/v1".into(),
        kind: "OCIRepository".into(),
        resource: "ocirepositories".into(),
        namespace: TENANT.into(),
        name: name.into(),
        uid: "5a7c".into(),
    };
    CredentialRequest::builder("spiffe").subject(SubjectReference::Object(object))
}

fn reference(cluster: &Cluster) -> ClusterReference {
    ClusterReference {
        address: Some(cluster.url()),
        ca: Some(cluster.ca_pem().parse().unwrap()),
        name: None,
    }
}

fn bearer(material: &Material) -> String {
    match material {
        Material::Bearer(token) => token.expose().to_owned(),
        other => panic!("{other:?}"),
    }
}

async fn namespace(cluster: &Cluster, name: &str) {
    let namespace = json!({ "metadata": { "name": name } });
    cluster
        .create("/api/v1/namespaces", &namespace)
        .await
        .unwrap();
}

/// A ConfigMap, who may read it, and the paths of their collections.
fn greeting() -> [(&'static str, Value); 3] {
    let group = "rbac.authorization.k8s.io";
    [
        (
            "/api/v1/namespaces/tenant-a/configmaps",
            json!({ "metadata": { "name": "greeting" }, "data": { "tenant": TENANT } }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/tenant-a/roles",
            json!({
                "metadata": { "name": "greeted" },
                "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] }],
            }),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/tenant-a/rolebindings",
            json!({
                "metadata": { "name": "greeted" },
                "roleRef": { "apiGroup": group, "kind": "Role", "name": "greeted" },
                "subjects": [{ "apiGroup": group, "kind": "User", "name": ID }],
            }),
        ),
    ]
}

/// A certificate authority's name and what it may do.
fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.use_authority_key_identifier_extension = true;
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A fresh key and its certificates, as cert-manager writes them: an authority under a root that is offline.
fn tls_secret(algorithm: &'static SignatureAlgorithm) -> Secret {
    let (root, root_key) = (authority("gatepass root"), KeyPair::generate().unwrap());
    let anchor = root.self_signed(&root_key).unwrap();
    let key = KeyPair::generate_for(algorithm).unwrap();
    let certificate = authority("gatepass")
        .signed_by(&key, &rcgen::Issuer::new(root, root_key))
        .unwrap();
    let chain = certificate.pem() + &anchor.pem();
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": SECRET, "namespace": NAMESPACE },
        "type": "kubernetes.io/tls",
        "stringData": { "tls.crt": chain, "tls.key": key.serialize_pem() },
    });
    serde_json::from_value(secret).unwrap()
}

async fn apply(client: &kube::Client, secret: &Secret) {
    let secrets: kube::Api<Secret> = kube::Api::namespaced(client.clone(), NAMESPACE);
    let manager = PatchParams::apply("gatepass-tests");
    secrets
        .patch(SECRET, &manager, &Patch::Apply(secret))
        .await
        .unwrap();
}

/// What the cluster greets the client's user with, or the status of its refusal.
async fn greet(client: kube::Client) -> Result<String, u16> {
    let greetings: kube::Api<ConfigMap> = kube::Api::namespaced(client, TENANT);
    match greetings.get("greeting").await {
        Ok(greeting) => Ok(greeting.data.unwrap().remove("tenant").unwrap()),
        Err(kube::Error::Api(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

/// Whom the cluster takes the client for.
async fn user(client: kube::Client) -> String {
    let reviews: kube::Api<SelfSubjectReview> = kube::Api::all(client);
    let asked = SelfSubjectReview::default();
    let review = reviews
        .create(&PostParams::default(), &asked)
        .await
        .unwrap();
    let info = review.status.and_then(|status| status.user_info).unwrap();
    info.username.unwrap()
}

/// The token with one letter of its signature changed, and the token in the name of another object.
fn tampered(token: &str) -> [String; 2] {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let turned = if signature.starts_with('A') { "B" } else { "A" };
    let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let renamed = URL_SAFE_NO_PAD.encode(claims.replace("/app\"", "/other\""));
    assert_ne!(renamed, URL_SAFE_NO_PAD.encode(&claims));
    [
        format!("{signed}.{turned}{}", &signature[1..]),
        format!("{header}.{renamed}.{signature}"),
    ]
}

fn key_id(token: &str) -> String {
    let header = token.split('.').next().unwrap();
    let header: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_real_cluster_that_trusts_the_issuer_lets_the_object_in() {
    let signing = Signing::start().await;
    let cluster = signing.trusting_cluster().await;

    let app = signing.client(&cluster, request("app")).await;
    assert_eq!(user(app.clone()).await, ID);
    assert_eq!(greet(app).await.as_deref(), Ok(TENANT));

    // The role is bound to one object, and this is another.
    let other = signing.client(&cluster, request("other")).await;
    assert_eq!(user(other.clone()).await, ID.replace("/app", "/other"));
    assert_eq!(greet(other).await, Err(403));

    let elsewhere = request("app").audiences([AUDIENCE]);
    let elsewhere = signing.client(&cluster, elsewhere).await;
    assert_eq!(greet(elsewhere).await, Err(401));

    let token = signing.login(&cluster).await;
    assert_eq!(signing.status(&cluster, &token).await, 200);
    for tampered in tampered(&token) {
        assert_eq!(signing.status(&cluster, &tampered).await, 401, "{tampered}");
    }

    // The cluster reads the keys again as soon as a token names one that it does not know.
    signing.rotate().await;
    let rotated = signing.login(&cluster).await;
    assert_eq!(key_id(&rotated), signing.signer.key_id().unwrap());
    assert_ne!(key_id(&rotated), key_id(&token));
    for token in [rotated, token] {
        assert_eq!(signing.status(&cluster, &token).await, 200);
    }
}

#[tokio::test]
async fn independent_verifiers_take_token_and_certificate_before_and_after_a_rotation() {
    let signing = Signing::start().await;
    let mut issued = Vec::new();
    for keys in 1..=2 {
        issued.push((signing.token().await, signing.certificate().await));
        let bundle = signing.signer.bundle(SystemTime::now());
        let party = RelyingParty::of(DOMAIN, &bundle);
        for (token, certificate) in &issued {
            assert_eq!(party.check_token(token, AUDIENCE).as_deref(), Ok(ID));
            assert!(party.check_token(token, "other").is_err());
            assert_eq!(party.check_certificate(certificate).as_deref(), Ok(ID));
        }
        let published = signing.signer.jwks(SystemTime::now());
        assert_eq!(published["keys"].as_array().unwrap().len(), keys);
        if keys == 1 {
            signing.rotate().await;
        }
    }
    assert_ne!(key_id(&issued[0].0), key_id(&issued[1].0));
    assert_eq!(key_id(&issued[1].0), signing.signer.key_id().unwrap());
    refused_by_others(&issued);
}

/// Another trust domain has other keys; who knows only those takes nothing, under whichever name.
fn refused_by_others(issued: &[(String, X509)]) {
    let secret = tls_secret(&PKCS_ECDSA_P256_SHA256);
    let entries = secret.string_data.unwrap();
    let key = SigningKey::parse(entries["tls.key"].as_bytes(), entries["tls.crt"].as_bytes());
    let keys = FixedKey::new(key.unwrap());
    let other = Signer::new("example.com".parse().unwrap(), None, Arc::new(keys));
    let bundle = other.bundle(SystemTime::now());
    for domain in ["example.com", DOMAIN] {
        let party = RelyingParty::of(domain, &bundle);
        for (token, certificate) in issued {
            assert!(party.check_token(token, AUDIENCE).is_err(), "{domain}");
            assert!(party.check_certificate(certificate).is_err(), "{domain}");
        }
    }
}
