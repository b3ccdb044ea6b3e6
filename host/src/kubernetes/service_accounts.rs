//! ServiceAccounts by the API server, read one by one or from a reflector's store.

use super::status::{API_TIMEOUT, in_time};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;
use crate::service_account::{
    Lookup, ServiceAccount, ServiceAccountName, ServiceAccounts, SubjectToken,
};
use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount as Resource;
use kube::api::PostParams;
use kube::client::Body;
use kube::core::Status;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, Resource as _};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use zeroize::Zeroizing;

/// What the host's own account must be allowed.
const RIGHTS: &str = "get, list and watch of serviceaccounts and create of serviceaccounts/token";

/// Reads each account from the API server: for the command line, and where few are asked for.
#[derive(Clone)]
pub struct KubernetesServiceAccounts {
    client: Client,
}

impl KubernetesServiceAccounts {
    /// Takes a client whose own account may get ServiceAccounts and create their tokens.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    fn api(&self, name: &ServiceAccountName) -> Api<Resource> {
        Api::namespaced(self.client.clone(), name.namespace())
    }

    /// TokenRequest, sent and read here: the client's own method logs an answer that it cannot read, and
    /// this answer may hold a token.
    async fn create_token(
        &self,
        name: &ServiceAccountName,
        request: &TokenRequest,
    ) -> Result<TokenRequest, kube::Error> {
        let body = serde_json::to_vec(request).map_err(kube::Error::SerdeError)?;
        let url = Resource::url_path(&(), Some(name.namespace()));
        let request = kube::core::Request::new(url)
            .create_subresource("token", name.name(), &PostParams::default(), body)
            .map_err(kube::Error::BuildRequest)?;
        let answer = self.client.send(request.map(Body::from)).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER_BYTES);
        let body = body.collect().await.map_err(kube::Error::Service)?;
        let body = Zeroizing::new(body.to_bytes().to_vec());
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(kube::Error::SerdeError);
        }
        let told = serde_json::from_slice(&body).map(Box::new);
        Err(kube::Error::Api(told.unwrap_or_else(|_| {
            Box::new(Status {
                code: status.as_u16(),
                ..Status::default()
            })
        })))
    }
}

impl fmt::Debug for KubernetesServiceAccounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KubernetesServiceAccounts")
    }
}

#[async_trait]
impl ServiceAccounts for KubernetesServiceAccounts {
    async fn service_account(&self, name: &ServiceAccountName) -> Result<Lookup, Error> {
        let doing = || format!("cannot read service account '{name}'");
        let api = self.api(name);
        let found = in_time(doing, RIGHTS, api.get_opt(name.name())).await?;
        Ok(found.map_or(Lookup::Absent, |resource| {
            Lookup::Found(Arc::new(account(name, &resource)))
        }))
    }

    async fn token(
        &self,
        account: &ServiceAccount,
        audiences: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error> {
        let name = &account.name;
        let doing = || format!("cannot create a token for service account '{name}'");
        let request = token_request(audiences, lifetime);
        let answer = in_time(doing, RIGHTS, self.create_token(name, &request)).await?;
        let status = answer
            .status
            .filter(|status| !status.token.trim().is_empty())
            .ok_or_else(|| Error::unavailable(doing()).because(NoToken))?;
        let token = SubjectToken {
            token: Secret::from(status.token.trim()),
            expires_at: SystemTime::from(status.expiration_timestamp.0),
        };
        check_uid(account, &token)?;
        check_issuer(account, &token, audiences)?;
        Ok(token)
    }

    async fn own_account(&self) -> Result<ServiceAccountName, Error> {
        let doing = || "cannot find out the host's own service account".to_owned();
        let reviews: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let (parameters, review) = (PostParams::default(), SelfSubjectReview::default());
        let review = in_time(doing, RIGHTS, reviews.create(&parameters, &review)).await?;
        let user = review.status.and_then(|status| status.user_info?.username);
        account_of(user.as_deref().unwrap_or_default()).ok_or_else(|| {
            Error::new(
                ErrorKind::ServiceAccount,
                format!("{}: it is none at the API server", doing()),
            )
            .remedy("name a service account, or run the host under one")
        })
    }

    async fn issuer(&self) -> Result<String, Error> {
        let doing = || "cannot read who signs the tokens of service accounts".to_owned();
        let request = http::Request::get("/.well-known/openid-configuration").body(Vec::new());
        let request = request.map_err(|error| Error::unavailable(doing()).because(error))?;
        let document: Discovery = in_time(doing, RIGHTS, self.client.request(request)).await?;
        Ok(document.issuer)
    }
}

/// What is read of an OpenID Connect discovery document.
#[derive(serde::Deserialize)]
struct Discovery {
    issuer: String,
}

/// The account behind a user name (<https://kubernetes.io/docs/reference/access-authn-authz/authentication/>,
/// "Service account tokens").
fn account_of(user: &str) -> Option<ServiceAccountName> {
    let (namespace, name) = user
        .strip_prefix("system:serviceaccount:")?
        .split_once(':')?;
    ServiceAccountName::new(namespace, name).ok()
}

/// The largest answer to TokenRequest that is read: a token is a few KiB.
const MAX_ANSWER_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
#[error("the API server's answer holds no token")]
struct NoToken;

fn token_request(audiences: &[String], lifetime: Duration) -> TokenRequest {
    TokenRequest {
        spec: TokenRequestSpec {
            audiences: audiences.to_vec(),
            expiration_seconds: i64::try_from(lifetime.as_secs()).ok(),
            bound_object_ref: None,
        },
        ..TokenRequest::default()
    }
}

/// The account may have been deleted and made anew since it was read, with the same name and other
/// rights: the token says whose it is. TokenRequest has no precondition on the account's UID.
fn check_uid(account: &ServiceAccount, token: &SubjectToken) -> Result<(), Error> {
    match claim(token, "/kubernetes.io/serviceaccount/uid") {
        Some(uid) if uid == account.uid => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::ServiceAccount,
            format!(
                "service account '{}' was replaced while its token was made",
                account.name
            ),
        )),
        None => Err(Error::unavailable(format!(
            "the token of service account '{}' does not say whose it is",
            account.name
        ))),
    }
}

/// The API server takes its issuer for an audience of its own if it is not told otherwise
/// (`--api-audiences`): a token for it is a key to the cluster, and is not handed on.
fn check_issuer(
    account: &ServiceAccount,
    token: &SubjectToken,
    audiences: &[String],
) -> Result<(), Error> {
    let issuer = claim(token, "/iss");
    match audiences
        .iter()
        .find(|audience| Some(*audience) == issuer.as_ref())
    {
        None => Ok(()),
        Some(issuer) => Err(Error::new(
            ErrorKind::Egress,
            format!(
                "audience '{issuer}' is the API server's own: no token of service account '{}' is given for it",
                account.name
            ),
        )),
    }
}

/// A claim of a token that the API server just gave us, so that its signature need not be checked.
fn claim(token: &SubjectToken, pointer: &str) -> Option<String> {
    use base64::Engine as _;
    let payload = token.token.expose().split('.').nth(1)?;
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(payload)
        .ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&claims).ok()?;
    Some(claims.pointer(pointer)?.as_str()?.to_owned())
}

fn account(name: &ServiceAccountName, resource: &Resource) -> ServiceAccount {
    let metadata = &resource.metadata;
    ServiceAccount {
        name: name.clone(),
        uid: metadata.uid.clone().unwrap_or_default(),
        resource_version: metadata.resource_version.clone().unwrap_or_default(),
        annotations: metadata.annotations.clone().unwrap_or_default(),
    }
}

/// Reads accounts from a reflector's store, without a round trip, and asks the API server for tokens
/// alone: for controllers.
#[derive(Clone)]
pub struct ReflectedServiceAccounts {
    store: Store<Resource>,
    direct: KubernetesServiceAccounts,
}

impl ReflectedServiceAccounts {
    /// Takes a store that a reflector fills, and a client for token requests.
    #[must_use]
    pub fn new(store: Store<Resource>, client: Client) -> Self {
        Self {
            store,
            direct: KubernetesServiceAccounts::new(client),
        }
    }
}

impl fmt::Debug for ReflectedServiceAccounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReflectedServiceAccounts")
    }
}

#[async_trait]
impl ServiceAccounts for ReflectedServiceAccounts {
    /// Waits for the store's first list, because an empty store says nothing of what is absent.
    async fn service_account(&self, name: &ServiceAccountName) -> Result<Lookup, Error> {
        let unread =
            |why: &str| Error::unavailable(format!("cannot read service account '{name}': {why}"));
        match tokio::time::timeout(API_TIMEOUT, self.store.wait_until_ready()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(unread("the reflector ended").because(error)),
            Err(_) => return Err(unread("the reflector has no first list yet")),
        }
        let reference = ObjectRef::new(name.name()).within(name.namespace());
        let found = self.store.get(&reference);
        Ok(found.map_or(Lookup::Absent, |resource| {
            Lookup::Found(Arc::new(account(name, &resource)))
        }))
    }

    async fn token(
        &self,
        account: &ServiceAccount,
        audiences: &[String],
        lifetime: Duration,
    ) -> Result<SubjectToken, Error> {
        self.direct.token(account, audiences, lifetime).await
    }

    async fn own_account(&self) -> Result<ServiceAccountName, Error> {
        self.direct.own_account().await
    }

    async fn issuer(&self) -> Result<String, Error> {
        self.direct.issuer().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    fn token(claims: &str) -> SubjectToken {
        let encode = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
        SubjectToken {
            token: format!("{}.{}.sig", encode("{}"), encode(claims)).into(),
            expires_at: SystemTime::UNIX_EPOCH,
        }
    }

    fn tenant(uid: &str) -> ServiceAccount {
        ServiceAccount {
            name: ServiceAccountName::new("a", "b").unwrap(),
            uid: uid.into(),
            resource_version: String::new(),
            annotations: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn a_token_of_a_namesake_is_refused() {
        let claims = r#"{"kubernetes.io":{"serviceaccount":{"name":"b","uid":"u1"}}}"#;
        assert!(check_uid(&tenant("u1"), &token(claims)).is_ok());
        let error = check_uid(&tenant("u2"), &token(claims)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ServiceAccount);
    }

    #[test]
    fn a_token_for_the_api_server_itself_is_refused() {
        let token = token(r#"{"iss":"https://issuer.example"}"#);
        let check = |audience: &str| check_issuer(&tenant("u"), &token, &[audience.to_owned()]);
        assert!(check("https://other.example").is_ok());
        assert_eq!(
            check("https://issuer.example").unwrap_err().kind(),
            ErrorKind::Egress
        );
    }

    #[test]
    fn only_the_user_name_of_an_account_is_one() {
        for (user, expected) in [
            ("system:serviceaccount:a:b", Some("a/b")),
            ("system:serviceaccount:a:b:c", None),
            ("system:serviceaccount:a", None),
            ("system:serviceaccount:A:b", None),
            ("system:node:n", None),
            ("admin", None),
        ] {
            let account = account_of(user).map(|name| name.to_string());
            assert_eq!(account.as_deref(), expected, "{user}");
        }
    }

    #[test]
    fn a_token_that_does_not_say_whose_it_is_is_refused() {
        for claims in ["", "{}", "[]", r#"{"kubernetes.io":7}"#] {
            assert!(
                check_uid(&tenant("u1"), &token(claims)).is_err(),
                "{claims:?}"
            );
        }
    }
}
