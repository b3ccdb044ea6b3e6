//! The API server: authentication, authorization, then the verb.

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use serde_json::Value;

use super::Cluster;
use super::account_token::{self, Issuance};
use super::authentication::User;
use super::authorization::Attributes;
use super::object::{self, Objects};
use super::resource::Resource;
use super::route::{self, Route};
use super::selector::Selector;
use super::status::{self, Refusal};
use super::store::Key;
use super::watch::{self, Watch};
use super::{discovery, review};
use crate::answer::{self, Answer, ServiceError};
use crate::call::Call;
use crate::clock::rfc3339;
use crate::json::at;
use crate::listener::Site;

impl Site for Cluster {
    fn answer<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Answer> {
        async {
            let handled = self.handle(call).await;
            handled.unwrap_or_else(|refusal| refusal.answer())
        }
        .boxed()
    }

    fn error(&self, _: &Call, error: &ServiceError) -> Answer {
        status::fault(error.status, &error.code, &error.message)
    }
}

impl Cluster {
    async fn handle(&self, call: &Call) -> Result<Answer, Refusal> {
        let user = self.authentication.user(call, &self.own_accounts()).await?;
        match Route::of(call)? {
            Route::Path => self.path(call, &user),
            Route::Collection {
                resource,
                namespace,
            } => self.collection(call, &user, resource, namespace),
            Route::Object {
                resource,
                namespace,
                name,
            } => self.object(call, &user, &Key::new(resource, &namespace, &name)),
            Route::AccountToken { namespace, name } => self.account_token(
                call,
                &user,
                &Key::new(Resource::ServiceAccounts, &namespace, &name),
            ),
            Route::Review { plural, group } => self.review(call, &user, plural, group).await,
        }
    }

    fn path(&self, call: &Call, user: &User) -> Result<Answer, Refusal> {
        let path = call.path.trim_end_matches('/');
        self.authorization.check_path(user, path)?;
        if call.method != Method::GET {
            return Err(Refusal::method_not_allowed());
        }
        match path {
            "/.well-known/openid-configuration" => {
                Ok(discovery::openid_configuration(&self.issuer()))
            }
            "/openid/v1/jwks" => Ok(discovery::key_set(self.key.key()?)),
            "/healthz" | "/livez" | "/readyz" => Ok(answer::plain(StatusCode::OK, "ok")),
            _ => discovery::document(path)
                .map(|document| answer::json(StatusCode::OK, &document))
                .ok_or_else(Refusal::no_such_path),
        }
    }

    fn collection(
        &self,
        call: &Call,
        user: &User,
        resource: Resource,
        namespace: Option<String>,
    ) -> Result<Answer, Refusal> {
        let verb = route::collection_verb(call)?;
        self.check(user, verb, resource.plural(), namespace.as_deref(), "")?;
        match verb {
            "create" => {
                let namespace = match (resource.is_namespaced(), &namespace) {
                    (true, None) => return Err(Refusal::method_not_allowed()),
                    (_, namespace) => namespace.as_deref().unwrap_or_default(),
                };
                let created = self
                    .objects()
                    .create(resource, namespace, object::body(call)?)?;
                Ok(answer::json(StatusCode::CREATED, &created))
            }
            "watch" => Ok(Watch::read(resource, namespace, call)?.answer(self.store.clone())),
            _ => {
                let selector = Selector::read(call)?;
                let (version, mut objects) = self.store.list(resource, namespace.as_deref());
                objects.retain(|object| selector.fits(object));
                Ok(watch::list(resource, version, &objects))
            }
        }
    }

    fn object(&self, call: &Call, user: &User, key: &Key) -> Result<Answer, Refusal> {
        let verb = route::object_verb(call)?;
        // RBAC sees a namespace as lying in itself.
        let namespace = if key.resource.is_namespaced() {
            &key.namespace
        } else {
            &key.name
        };
        self.check(
            user,
            verb,
            key.resource.plural(),
            Some(namespace),
            &key.name,
        )?;
        let objects = self.objects();
        match verb {
            "update" => Ok(answer::json(
                StatusCode::OK,
                &objects.replace(key, object::body(call)?)?,
            )),
            "patch" => {
                let (created, patched) = objects.patch(key, call)?;
                let status = if created {
                    StatusCode::CREATED
                } else {
                    StatusCode::OK
                };
                Ok(answer::json(status, &patched))
            }
            "delete" => {
                let deleted = objects.delete(key, &object::preconditions(call)?)?;
                let body =
                    status::success(key.resource, &key.name, at(&deleted, &["metadata", "uid"]));
                Ok(answer::json(StatusCode::OK, &body))
            }
            _ => {
                let found = self.store.find(key).ok_or_else(|| key.not_found())?;
                Ok(answer::json(StatusCode::OK, &found))
            }
        }
    }

    fn account_token(&self, call: &Call, user: &User, account: &Key) -> Result<Answer, Refusal> {
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        let resource = "serviceaccounts/token";
        self.check(
            user,
            "create",
            resource,
            Some(&account.namespace),
            &account.name,
        )?;
        let longest_seconds = self.longest_token_seconds();
        let issuance = Issuance {
            account,
            longest_seconds,
        };
        account_token::issue(call, &issuance, &self.own_accounts())
    }

    async fn review(
        &self,
        call: &Call,
        user: &User,
        plural: &str,
        group: &str,
    ) -> Result<Answer, Refusal> {
        if call.method != Method::POST {
            return Err(Refusal::method_not_allowed());
        }
        let attributes = Attributes {
            verb: "create",
            group,
            resource: plural.to_owned(),
            namespace: None,
            name: "",
        };
        self.authorization.check(user, &attributes)?;
        let body = if call.body.is_empty() {
            Value::Null
        } else {
            object::body(call)?
        };
        match plural {
            "tokenreviews" => {
                Ok(review::token(body, &self.authentication, &self.own_accounts()).await)
            }
            "selfsubjectreviews" => Ok(review::subject(user)),
            _ => review::access(&body, user, &self.authorization),
        }
    }

    fn check(
        &self,
        user: &User,
        verb: &str,
        resource: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), Refusal> {
        let attributes = Attributes {
            verb,
            group: "",
            resource: resource.to_owned(),
            namespace,
            name,
        };
        self.authorization.check(user, &attributes)
    }

    pub(super) fn objects(&self) -> Objects<'_> {
        Objects {
            store: &self.store,
            now: rfc3339(self.foundation.clock.seconds()),
        }
    }
}
