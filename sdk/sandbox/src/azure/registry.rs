//! Container registries: the exchange of an access token of Entra for a registry's own tokens, and
//! the door of the registry itself.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::WWW_AUTHENTICATE;
use http::{Method, StatusCode};
use jsonwebtoken::jwk::JwkSet;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Azure;
use super::cloud::{AzureCloud, CONTAINER_REGISTRY, Service};
use super::failure::Failure;
use super::form::Form;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::guarded::Guarded;
use crate::json::at;
use crate::token;

/// The user name that says: the password is a refresh token.
const USER: &str = "00000000-0000-0000-0000-000000000000";
/// Three hours.
const REFRESH_SECONDS: i64 = 3 * 3_600;
/// The sample of the vendor's documentation has 75 minutes.
const ACCESS_SECONDS: i64 = 75 * 60;
const ISSUER: &str = "Azure Container Registry";

/// A container registry, and the principals that it lets pull.
#[derive(Debug)]
pub struct AzureRegistry {
    host: String,
    cloud: AzureCloud,
    tenant: Uuid,
    pulls: Guarded<BTreeSet<String>>,
    accepts_resource_manager: Guarded<bool>,
}

impl AzureRegistry {
    pub(crate) fn new(host: &str, cloud: AzureCloud, tenant: Uuid) -> Self {
        Self {
            host: host.to_owned(),
            cloud,
            tenant,
            pulls: Guarded::default(),
            accepts_resource_manager: Guarded::default(),
        }
    }

    /// The registry's host, `NAME.azurecr.io` and its like.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Gives an application the role `AcrPull` on this registry.
    pub fn allow_pull(&self, client_id: &str) {
        let client_id = client_id.to_ascii_lowercase();
        self.pulls.with(|pulls| pulls.insert(client_id));
    }

    /// Takes that role again. Logins that were handed out end with it.
    pub fn deny_pull(&self, client_id: &str) {
        let client_id = client_id.to_ascii_lowercase();
        self.pulls.with(|pulls| pulls.remove(&client_id));
    }

    /// Whether tokens for Resource Manager are taken as well (the registry's policy
    /// `azureADAuthenticationAsArmPolicy`). Off by default: only tokens for registries are.
    pub fn accept_resource_manager_tokens(&self, accept: bool) {
        self.accepts_resource_manager
            .with(|current| *current = accept);
    }

    fn may_pull(&self, client_id: &str) -> bool {
        self.pulls.with(|pulls| pulls.contains(client_id))
    }

    fn accepts_audience(&self, audience: &str) -> bool {
        let name = audience.strip_suffix('/').unwrap_or(audience);
        let is_manager = self.cloud.resource_manager_audiences().contains(&audience);
        name == CONTAINER_REGISTRY
            || (is_manager && self.accepts_resource_manager.with(|accepts| *accepts))
    }
}

/// A registry password that this sandbox issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureRegistryLogin {
    /// The client ID of the application or managed identity that it was issued to.
    pub principal: String,
    /// The registry's host.
    pub registry: String,
    /// When it ends, by the sandbox's clock.
    pub expires_at: SystemTime,
}

/// What a registry's own token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Refresh,
    Access,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Refresh => "refresh_token",
            Self::Access => "access_token",
        }
    }
}

/// The answer of a registry; none if there is none of this name.
pub(crate) fn answer(azure: &Azure, call: &Call) -> Option<Answer> {
    let registry = azure.registry_of(call.host())?;
    let asked = Asked {
        azure,
        call,
        registry: &registry,
        now: azure.now(),
    };
    let result = match (&call.method, call.path.as_str()) {
        (&Method::POST, "/oauth2/exchange") => asked.exchange(),
        (&Method::POST, "/oauth2/token") => asked.token_by_form(),
        (&Method::GET, "/oauth2/token") => asked.token_by_basic(),
        (_, path) if path.starts_with("/v2/") || path.starts_with("/acr/v1/") => {
            return Some(asked.door());
        }
        // A wrong method is answered like a wrong path (the vendor's issue tracker).
        _ => Err(Failure::new(404, "NOT_FOUND", "404 page not found")),
    };
    Some(match result {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => failure.answer(Service::Registry, call, azure.now()),
    })
}

pub(crate) fn login(azure: &Azure, user: &str, password: &str) -> Option<AzureRegistryLogin> {
    if user != USER {
        return None;
    }
    let host = token::unproven(password)
        .ok()?
        .aud?
        .all()
        .first()
        .cloned()?;
    let registry = azure.registry_of(&host)?;
    let (principal, ends) = prove(azure, &registry, Kind::Refresh, password)?;
    let since_epoch = Duration::from_secs(u64::try_from(ends).ok()?);
    Some(AzureRegistryLogin {
        principal,
        registry: host,
        expires_at: SystemTime::UNIX_EPOCH + since_epoch,
    })
}

/// One request to one registry.
struct Asked<'a> {
    azure: &'a Azure,
    call: &'a Call,
    registry: &'a AzureRegistry,
    now: i64,
}

impl Asked<'_> {
    fn exchange(&self) -> Result<Value, Failure> {
        let form = Form::read(self.call);
        self.check_grant(&form, "access_token")?;
        let token = form.value("access_token").ok_or_else(unauthorized)?;
        let directory = &self.azure.directory;
        let proven = self
            .azure
            .keys
            .prove(directory, self.registry.cloud, token, self.now);
        let proven = proven.map_err(|error| {
            tracing::debug!(%error, "registry exchange refused");
            unauthorized()
        })?;
        let principal = proven.principal;
        let tenant = principal.tenant.to_string();
        let is_tenant = form
            .value("tenant")
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(&tenant));
        let client_id = principal.client_id.to_string();
        let is_admitted = principal.tenant == self.registry.tenant
            && is_tenant
            && self.registry.accepts_audience(&proven.audience)
            && self.registry.may_pull(&client_id);
        if !is_admitted {
            return Err(unauthorized());
        }
        let token = self.issue(Kind::Refresh, &client_id, json!([]))?;
        Ok(json!({"refresh_token": token}))
    }

    fn token_by_form(&self) -> Result<Value, Failure> {
        let form = Form::read(self.call);
        self.check_grant(&form, "refresh_token")?;
        let refresh = form.value("refresh_token").ok_or_else(unauthorized)?;
        self.access_token(refresh, form.value("scope"))
    }

    /// The way of Docker's clients: the refresh token as password.
    fn token_by_basic(&self) -> Result<Value, Failure> {
        let form = Form::query(self.call);
        self.check_service(&form)?;
        let refresh = self.basic().ok_or_else(unauthorized)?;
        self.access_token(&refresh, form.value("scope"))
    }

    fn access_token(&self, refresh: &str, scope: Option<&str>) -> Result<Value, Failure> {
        let (client_id, _) =
            prove(self.azure, self.registry, Kind::Refresh, refresh).ok_or_else(unauthorized)?;
        let access: Result<Vec<Value>, Failure> = scope
            .unwrap_or_default()
            .split(' ')
            .filter(|one| !one.is_empty())
            .map(access)
            .collect();
        let token = self.issue(Kind::Access, &client_id, access?.into())?;
        Ok(json!({"access_token": token}))
    }

    /// The registry's API: the challenge to whoever is not let in. Inside there is only its base.
    fn door(&self) -> Answer {
        let is_in = |kind, token: &str| prove(self.azure, self.registry, kind, token).is_some();
        let bearer = self
            .call
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        let by_basic = || {
            self.basic()
                .is_some_and(|token| is_in(Kind::Refresh, &token))
        };
        if bearer.is_some_and(|token| is_in(Kind::Access, token)) || by_basic() {
            return self.inside();
        }
        let host = &self.registry.host;
        let scope = scope_of(&self.call.path).map(|scope| format!(",scope=\"{scope}\""));
        let challenge = format!(
            "Bearer realm=\"https://{host}/oauth2/token\",service=\"{host}\"{}",
            scope.unwrap_or_default()
        );
        let answer = unauthorized().answer(Service::Registry, self.call, self.now);
        answer::with_header(answer, WWW_AUTHENTICATE, &challenge)
    }

    fn inside(&self) -> Answer {
        if self.call.path == "/v2/" {
            return answer::json(StatusCode::OK, &json!({}));
        }
        let failure = Failure::new(404, "NAME_UNKNOWN", "the sandbox keeps no repositories");
        failure.answer(Service::Registry, self.call, self.now)
    }

    /// The password of a Basic login whose user is the one for refresh tokens.
    fn basic(&self) -> Option<String> {
        let value = self.call.header("authorization")?.strip_prefix("Basic ")?;
        let decoded = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
        let (user, password) = decoded.split_once(':')?;
        (user == USER).then(|| password.to_owned())
    }

    fn check_grant(&self, form: &Form, kind: &str) -> Result<(), Failure> {
        if form.value("grant_type") != Some(kind) {
            let message = format!("grant_type must be {kind}");
            return Err(Failure::new(400, "BAD_REQUEST", message));
        }
        self.check_service(form)
    }

    fn check_service(&self, form: &Form) -> Result<(), Failure> {
        if form.value("service") == Some(&self.registry.host) {
            return Ok(());
        }
        let message = format!("service must be {}", self.registry.host);
        Err(Failure::new(400, "BAD_REQUEST", message))
    }

    fn issue(&self, kind: Kind, client_id: &str, access: Value) -> Result<String, Failure> {
        let life = match kind {
            Kind::Refresh => REFRESH_SECONDS,
            Kind::Access => ACCESS_SECONDS,
        };
        let mut claims = json!({
            "jti": Uuid::new_v4(),
            "sub": client_id,
            "nbf": self.now,
            "iat": self.now,
            "exp": self.now + life,
            "iss": ISSUER,
            "aud": self.registry.host,
            "version": "1.0",
            "grant_type": kind.name(),
            "tenant": self.registry.tenant,
            "roles": [],
        });
        let (field, value) = match kind {
            Kind::Refresh => (
                "permissions",
                json!({"Actions": ["read"], "NotActions": null}),
            ),
            Kind::Access => ("access", access),
        };
        crate::json::put(&mut claims, &[field], value);
        let key = self.azure.registry_key.key();
        let token = key.ok().and_then(|key| key.sign_typed(&claims).ok());
        token.ok_or_else(|| Failure::new(500, "UNKNOWN", "the sandbox cannot make a signing key"))
    }
}

/// Holder and end of a registry's own token, if it holds.
fn prove(
    azure: &Azure,
    registry: &AzureRegistry,
    kind: Kind,
    token: &str,
) -> Option<(String, i64)> {
    let keys = JwkSet {
        keys: vec![azure.registry_key.key().ok()?.public().clone()],
    };
    let claims = token::proven(token, &keys).ok()?;
    let is_meant = claims.aud.as_ref()?.all().contains(&registry.host);
    let rest = Value::Object(claims.rest.clone());
    let is_kind = at(&rest, &["grant_type"]) == kind.name();
    let holds = is_meant && is_kind && claims.is_current(azure.now());
    let ends = super::access_token::seconds(claims.exp);
    let client_id = claims.sub.filter(|_| holds)?;
    registry.may_pull(&client_id).then_some((client_id, ends))
}

/// What a challenge says that a path needs; nothing for the base of the API.
fn scope_of(path: &str) -> Option<String> {
    if path.starts_with("/acr/v1/") || path == "/v2/_catalog" {
        return Some("registry:catalog:*".to_owned());
    }
    let rest = path.strip_prefix("/v2/")?;
    let name = ["/manifests/", "/blobs/", "/tags/"]
        .iter()
        .find_map(|word| Some(rest.rsplit_once(word)?.0))?;
    Some(format!("repository:{name}:pull"))
}

/// An entry `TYPE:NAME:ACTION,…` of a scope; `AcrPull` leaves `pull` of the actions.
fn access(scope: &str) -> Result<Value, Failure> {
    // A name may hold a colon: that of a registry's port.
    let parts = scope
        .split_once(':')
        .and_then(|(kind, rest)| Some((kind, rest.rsplit_once(':')?)));
    let Some((kind, (name, actions))) = parts.filter(|(_, (name, _))| !name.is_empty()) else {
        let message = format!("scope {scope:?} is not TYPE:NAME:ACTIONS");
        return Err(Failure::new(400, "BAD_REQUEST", message));
    };
    let granted: Vec<&str> = actions.split(',').filter(|one| *one == "pull").collect();
    Ok(json!({"type": kind, "name": name, "actions": granted}))
}

fn unauthorized() -> Failure {
    Failure::new(
        401,
        "UNAUTHORIZED",
        "authentication required, visit https://aka.ms/acr/authorization for more information.",
    )
}
