//! Entra: the token endpoint and the documents around it.

use http::header::CACHE_CONTROL;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Azure;
use super::access_token::{Grant, Proof};
use super::assertion;
use super::cloud::{AzureCloud, Service};
use super::failure::Failure;
use super::form::Form;
use super::identity::{Application, guid};
use crate::answer::{self, Answer};
use crate::call::Call;

/// Tokens of applications live an hour or a little longer; here exactly one.
const LIFE_SECONDS: i64 = 3_600;
const SUFFIX: &str = "/.default";
/// What MSAL adds to every scope; it is nothing for an application.
const OPENID_SCOPES: [&str; 4] = ["openid", "profile", "offline_access", "email"];
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// One request to a token endpoint with what it runs against.
pub(crate) struct Request<'a> {
    pub(crate) azure: &'a Azure,
    pub(crate) cloud: AzureCloud,
    /// As the path has it.
    pub(crate) tenant_name: &'a str,
    pub(crate) tenant: Uuid,
    pub(crate) form: Form,
    pub(crate) now: i64,
}

pub(crate) async fn answer(azure: &Azure, call: &Call, cloud: AzureCloud) -> Answer {
    let segments = call.segments();
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let result = match (&call.method, segments.as_slice()) {
        (_, [tenant, "oauth2", "v2.0", "token"]) => token(azure, call, cloud, tenant).await,
        (&Method::GET, [tenant, "v2.0", ".well-known", "openid-configuration"]) => {
            configuration(azure, call, cloud, tenant)
        }
        (&Method::GET, [tenant, "discovery", "v2.0", "keys"]) => keys(azure, cloud, tenant),
        (&Method::GET, ["common", "discovery", "instance"]) => Ok(instance(call)),
        _ => return answer::empty(StatusCode::NOT_FOUND),
    };
    match result {
        Ok(body) => success(&body),
        Err(failure) => failure.answer(Service::Entra, call, azure.now()),
    }
}

fn success(body: &Value) -> Answer {
    let media_type = "application/json; charset=utf-8";
    let answer = answer::content(StatusCode::OK, media_type, body.to_string());
    answer::with_header(answer, CACHE_CONTROL, "no-store, no-cache")
}

async fn token(
    azure: &Azure,
    call: &Call,
    cloud: AzureCloud,
    tenant_name: &str,
) -> Result<Value, Failure> {
    if call.method != Method::POST {
        let message = format!(
            "The endpoint only accepts POST requests. Received a {} request.",
            call.method
        );
        return Err(Failure::entra(400, "invalid_request", 900_561, message));
    }
    let request = Request {
        azure,
        cloud,
        tenant_name,
        tenant: tenant(azure, cloud, tenant_name, "invalid_request")?,
        form: Form::read(call),
        now: azure.now(),
    };
    request.grant().await
}

impl Request<'_> {
    async fn grant(&self) -> Result<Value, Failure> {
        let kind = self.required("grant_type")?;
        if kind != "client_credentials" {
            let message = format!("The app requested an unsupported grant type '{kind}'.");
            let code = "unsupported_grant_type";
            return Err(Failure::entra(400, code, 70_003, message));
        }
        let application = self.application(self.required("client_id")?)?;
        let audience = self.audience(self.required("scope")?)?;
        let proof = self.authenticate(&application).await?;
        let token = self.azure.keys.issue(&Grant {
            principal: application.principal,
            audience,
            proof,
            now: self.now,
            seconds: LIFE_SECONDS,
        });
        let token = token.ok_or_else(server_error)?;
        Ok(json!({
            "token_type": "Bearer",
            "expires_in": LIFE_SECONDS,
            "ext_expires_in": LIFE_SECONDS,
            "access_token": token,
        }))
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Failure> {
        self.form.value(name).ok_or_else(|| {
            let message =
                format!("The request body must contain the following parameter: '{name}'.");
            Failure::entra(400, "invalid_request", 900_144, message)
        })
    }

    fn application(&self, client_id: &str) -> Result<Application, Failure> {
        let id = guid(client_id).ok();
        let application = id.and_then(|id| self.azure.directory.application(id));
        let own = application.filter(|application| application.principal.tenant == self.tenant);
        own.ok_or_else(|| {
            let message = format!(
                "Application with identifier '{client_id}' was not found in the directory '{}'. \
                 This can happen if the application has not been installed by the administrator \
                 of the tenant or consented to by any user in the tenant. You may have sent your \
                 authentication request to the wrong tenant.",
                self.tenant
            );
            Failure::entra(400, "unauthorized_client", 700_016, message)
        })
    }

    /// The one resource that the scope names.
    fn audience<'s>(&self, scope: &'s str) -> Result<&'s str, Failure> {
        let mut resources = scope
            .split(' ')
            .filter(|one| !one.is_empty() && !OPENID_SCOPES.contains(one));
        let first = resources.next().unwrap_or(scope);
        if resources.next().is_some() {
            let message = format!(
                "The provided request must include a 'scope' input parameter. The provided value \
                 for the input parameter 'scope' is not valid. The scope {scope} is not valid."
            );
            return Err(Failure::entra(400, "invalid_scope", 70_011, message));
        }
        let audience = first.strip_suffix(SUFFIX).ok_or_else(|| {
            let message = format!(
                "The provided value for scope {first} is not valid. Client credential flows must \
                 have a scope value with /.default suffixed to the resource identifier \
                 (application ID URI)."
            );
            Failure::entra(400, "invalid_scope", 1_002_012, message)
        })?;
        if self.azure.knows_resource(self.cloud, audience) {
            return Ok(audience);
        }
        Err(unknown_resource(audience, self.tenant))
    }

    async fn authenticate(&self, application: &Application) -> Result<Proof, Failure> {
        if let Some(assertion) = self.form.value("client_assertion") {
            // Any other type is none of the specification's: RFC 7523 §2.2.
            if self.required("client_assertion_type")? != ASSERTION_TYPE {
                let message = "The value of 'client_assertion_type' is not supported.";
                return Err(Failure::entra(400, "invalid_request", 90_014, message));
            }
            assertion::check(self, application, assertion).await?;
            return Ok(Proof::Assertion);
        }
        let Some(secret) = self.form.value("client_secret") else {
            let message = "'client_assertion', 'client_secret' or 'request' is required for the \
                           'client_credentials' grant type.";
            return Err(Failure::entra(401, "invalid_client", 7_000_216, message));
        };
        if application.has_secret(secret) {
            return Ok(Proof::Secret);
        }
        let message = format!(
            "Invalid client secret provided. Ensure the secret being sent in the request is the \
             client secret value, not the client secret ID, for a secret added to app '{}'.",
            application.principal.client_id
        );
        Err(Failure::entra(401, "invalid_client", 7_000_215, message))
    }
}

/// The tenant of a path. The refusal's OAuth error depends on the endpoint.
fn tenant(azure: &Azure, cloud: AzureCloud, name: &str, code: &str) -> Result<Uuid, Failure> {
    if matches!(name, "common" | "organizations" | "consumers") {
        let message = "No tenant-identifying information found in either the request or implied \
                       by any provided credentials.";
        return Err(Failure::entra(400, "invalid_request", 50_059, message));
    }
    azure.directory.tenant(cloud, name).ok_or_else(|| {
        let message = format!(
            "Tenant '{name}' not found. Check to make sure you have the correct tenant ID and are \
             signing into the correct cloud. Check with your subscription administrator, this may \
             happen if there are no active subscriptions for the tenant."
        );
        Failure::entra(400, code, 90_002, message)
    })
}

fn configuration(
    azure: &Azure,
    call: &Call,
    cloud: AzureCloud,
    name: &str,
) -> Result<Value, Failure> {
    let tenant = tenant(azure, cloud, name, "invalid_tenant")?;
    let base = format!("https://{}/{tenant}", call.host());
    Ok(json!({
        "token_endpoint": format!("{base}/oauth2/v2.0/token"),
        "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
        "jwks_uri": format!("{base}/discovery/v2.0/keys"),
        "response_modes_supported": ["query", "fragment", "form_post"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
        "scopes_supported": ["openid", "profile", "email", "offline_access"],
        "issuer": format!("https://{}/{tenant}/v2.0", cloud.authority_host()),
        "authorization_endpoint": format!("{base}/oauth2/v2.0/authorize"),
        "tenant_region_scope": null,
    }))
}

fn keys(azure: &Azure, cloud: AzureCloud, name: &str) -> Result<Value, Failure> {
    // The keys are the same for every tenant of a cloud, as in the wild.
    if name != "common" {
        tenant(azure, cloud, name, "invalid_tenant")?;
    }
    let keys = azure.keys.published(cloud).ok_or_else(server_error)?;
    serde_json::to_value(keys).map_err(|_| server_error())
}

/// What MSAL asks before it trusts an authority: which hosts are the same one.
fn instance(call: &Call) -> Value {
    let metadata: Vec<Value> = AzureCloud::ALL
        .iter()
        .map(|cloud| {
            let host = cloud.authority_host();
            json!({
                "preferred_network": host,
                "preferred_cache": host,
                "aliases": cloud.authority_hosts(),
            })
        })
        .collect();
    let endpoint = call.parameter("authorization_endpoint").unwrap_or_default();
    let endpoint = endpoint.trim_end_matches("/oauth2/v2.0/authorize");
    json!({
        "tenant_discovery_endpoint": format!("{endpoint}/v2.0/.well-known/openid-configuration"),
        "api-version": "1.1",
        "metadata": metadata,
    })
}

pub(crate) fn unknown_resource(audience: &str, tenant: Uuid) -> Failure {
    let message = format!(
        "The resource principal named {audience} was not found in the tenant named {tenant}. This \
         can happen if the application has not been installed by the administrator of the tenant \
         or consented to by any user in the tenant. You might have sent your authentication \
         request to the wrong tenant."
    );
    Failure::entra(400, "invalid_resource", 500_011, message)
}

fn server_error() -> Failure {
    Failure::new(500, "server_error", "the sandbox cannot make a signing key")
}
