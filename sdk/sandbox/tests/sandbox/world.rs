//! A sandbox with a client whose every host name leads to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use gatepass_sandbox::{AccessKey, Clock, Sandbox};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};

pub(crate) const ROLE: &str = "arn:aws:iam::123456789012:role/tenant-a-ecr";
pub(crate) const STS: &str = "https://sts.us-east-1.amazonaws.com/";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) http: reqwest::Client,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

struct Everywhere(SocketAddr);

#[derive(Debug)]
struct Standing(SystemTime);

impl Clock for Standing {
    fn now(&self) -> SystemTime {
        self.0
    }
}

impl Resolve for Everywhere {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(std::iter::once(self.0));
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

impl World {
    /// The demonstration scenario, its time standing still but for `advance`.
    pub(crate) async fn demo() -> Self {
        let clock = Arc::new(Standing(SystemTime::now()));
        Self::around(
            Sandbox::builder()
                .clock(clock)
                .demo()
                .start()
                .await
                .unwrap(),
        )
    }

    /// A bare sandbox, its time standing still but for `advance`.
    pub(crate) async fn bare() -> Self {
        let clock = Arc::new(Standing(SystemTime::now()));
        Self::around(Sandbox::builder().clock(clock).start().await.unwrap())
    }

    fn around(sandbox: Sandbox) -> Self {
        let authority = reqwest::Certificate::from_pem(sandbox.ca_pem().as_bytes()).unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([authority])
            .dns_resolver(Arc::new(Everywhere(sandbox.address())))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        Self { sandbox, http }
    }

    pub(crate) async fn send(&self, request: http::Request<String>) -> Reply {
        Reply::of(
            self.http
                .execute(request.try_into().unwrap())
                .await
                .unwrap(),
        )
        .await
    }

    /// A request to the management cluster as a user; an empty user sends no token.
    pub(crate) async fn api(
        &self,
        user: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        let cluster = self.sandbox.kubernetes();
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", cluster.url()))
            .header("content-type", "application/json");
        if !user.is_empty() {
            request = request.header("authorization", format!("Bearer {}", cluster.token(user)));
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.send(request.body(body).unwrap()).await
    }

    pub(crate) async fn bearer(&self, url: &str, token: &str) -> Reply {
        let request = http::Request::get(url).header("authorization", format!("Bearer {token}"));
        self.send(request.body(String::new()).unwrap()).await
    }

    /// A token of `namespace/name` for one audience.
    pub(crate) async fn account_token(
        &self,
        namespace: &str,
        name: &str,
        audience: &str,
    ) -> String {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let spec = json!({"spec": {"audiences": [audience]}});
        let reply = self.api("admin", "POST", &path, Some(spec)).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.json()["status"]["token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn form(&self, url: &str, fields: &[(&str, &str)]) -> Reply {
        let request = http::Request::post(url).header("content-type", FORM);
        self.send(request.body(encoded(fields)).unwrap()).await
    }

    /// Credentials of a demonstration role, got the regular way.
    pub(crate) async fn assume(&self, account: &str, role: &str) -> AccessKey {
        let namespace = account.split("-e").next().unwrap();
        let token = self
            .account_token(namespace, account, "sts.amazonaws.com")
            .await;
        let reply = self.form(STS, &web_identity(role, &token)).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.key()
    }

    pub(crate) fn signer<'a>(&self, key: &'a AccessKey, service: &'a str) -> Signer<'a> {
        Signer {
            key,
            service,
            region: "us-east-1",
            time: self.sandbox.clock().now(),
        }
    }

    pub(crate) async fn signed_form(&self, key: &AccessKey, fields: &[(&str, &str)]) -> Reply {
        let request = http::Request::post(STS).header("content-type", FORM);
        let request = request.body(encoded(fields)).unwrap();
        self.send(self.signer(key, "sts").header(request)).await
    }
}

pub(crate) fn web_identity<'a>(role: &'a str, token: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", role),
        ("RoleSessionName", "session"),
        ("WebIdentityToken", token),
    ]
}

/// `fields` with some replaced, added, or, when empty, taken out.
pub(crate) fn changed<'a>(
    fields: &[(&'a str, &'a str)],
    changes: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut fields = fields.to_vec();
    for (name, value) in changes {
        fields.retain(|(other, _)| other != name);
        if !value.is_empty() {
            fields.push((name, value));
        }
    }
    fields
}

pub(crate) fn encoded(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish()
}

impl Reply {
    pub(crate) async fn of(response: reqwest::Response) -> Self {
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The text of the first XML element of this name.
    pub(crate) fn xml(&self, element: &str) -> Option<&str> {
        let (_, rest) = self.body.split_once(&format!("<{element}>"))?;
        rest.split_once(&format!("</{element}>"))
            .map(|(text, _)| text)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn key(&self) -> AccessKey {
        let text = |element: &str| self.xml(element).unwrap().to_owned();
        AccessKey {
            access_key_id: text("AccessKeyId"),
            secret_access_key: text("SecretAccessKey"),
            session_token: Some(text("SessionToken")),
        }
    }

    #[track_caller]
    pub(crate) fn assert_sts_error(&self, status: u16, code: &str) {
        assert_eq!(
            (self.status, self.xml("Code")),
            (status, Some(code)),
            "{}",
            self.body
        );
        assert_eq!(self.header("content-type"), "text/xml");
    }
}

/// Signs with the vendor's own implementation.
pub(crate) struct Signer<'a> {
    pub(crate) key: &'a AccessKey,
    pub(crate) service: &'a str,
    pub(crate) region: &'a str,
    pub(crate) time: SystemTime,
}

impl Signer<'_> {
    pub(crate) fn header(&self, request: http::Request<String>) -> http::Request<String> {
        self.apply(request, SigningSettings::default())
    }

    pub(crate) fn query(&self, request: http::Request<String>) -> http::Request<String> {
        let mut settings = SigningSettings::default();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(Duration::from_secs(60));
        self.apply(request, settings)
    }

    fn apply(
        &self,
        mut request: http::Request<String>,
        settings: SigningSettings,
    ) -> http::Request<String> {
        let key = self.key.clone();
        let credentials = Credentials::new(
            key.access_key_id,
            key.secret_access_key,
            key.session_token,
            None,
            "test",
        );
        let identity: Identity = credentials.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(self.time)
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let headers = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        let uri = request.uri().to_string();
        let body = SignableBody::Bytes(request.body().as_bytes());
        let signable = SignableRequest::new(request.method().as_str(), uri, headers, body).unwrap();
        let (instructions, _) = sign(signable, &params).unwrap().into_parts();
        instructions.apply_to_request_http1x(&mut request);
        request
    }
}

/// A refusal of the API server, down to its words.
#[track_caller]
pub(crate) fn assert_refusal(reply: &Reply, code: u16, reason: &str, message: &str) {
    let status = reply.json();
    assert_eq!(
        (status["kind"].as_str(), status["apiVersion"].as_str()),
        (Some("Status"), Some("v1"))
    );
    assert_eq!(
        (status["status"].as_str(), status["reason"].as_str()),
        (Some("Failure"), Some(reason)),
        "{}",
        reply.body
    );
    assert_eq!(
        (reply.status, status["code"].as_u64()),
        (code, Some(u64::from(code)))
    );
    assert_eq!(status["message"], message);
}

pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}
