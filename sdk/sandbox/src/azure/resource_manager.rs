//! Resource Manager: managed clusters and their users' kubeconfigs.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use serde_json::Value;
use uuid::Uuid;

use super::Azure;
use super::access_token::AccessTokenError;
use super::aks::{AksCluster, AksRole, ClusterId};
use super::cloud::{AzureCloud, Service};
use super::failure::Failure;
use super::identity::Principal;
use crate::answer::{self, Answer};
use crate::call::Call;
use crate::clock::rfc3339;

/// What is done to a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    ListClusterUserCredential,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "Microsoft.ContainerService/managedClusters/read",
            Self::ListClusterUserCredential => {
                "Microsoft.ContainerService/managedClusters/listClusterUserCredential/action"
            }
        }
    }

    fn is_in(self, role: AksRole) -> bool {
        match role {
            AksRole::Reader => self == Self::Read,
            AksRole::ClusterUser => true,
        }
    }
}

pub(crate) fn answer(azure: &Azure, call: &Call, cloud: AzureCloud) -> Answer {
    // The front end refuses such a POST before anybody reads it.
    if call.method == Method::POST
        && !call.headers.contains_key(CONTENT_LENGTH)
        && !call.headers.contains_key(TRANSFER_ENCODING)
    {
        return answer::plain(StatusCode::LENGTH_REQUIRED, "Length Required");
    }
    match handle(azure, call, cloud) {
        Ok(body) => answer::json(StatusCode::OK, &body),
        Err(failure) => refusal(&failure, azure, call, cloud),
    }
}

fn refusal(failure: &Failure, azure: &Azure, call: &Call, cloud: AzureCloud) -> Answer {
    let answer = failure.answer(Service::ResourceManager, call, azure.now());
    if failure.status != StatusCode::UNAUTHORIZED {
        return answer;
    }
    let challenge = format!(
        "Bearer authorization_uri=\"https://{}/\", error=\"invalid_token\", error_description=\"{}\"",
        cloud.authority_host(),
        failure.message
    );
    answer::with_header(answer, WWW_AUTHENTICATE, &challenge)
}

fn handle(azure: &Azure, call: &Call, cloud: AzureCloud) -> Result<Value, Failure> {
    let principal = authenticate(azure, call, cloud)?;
    check_version(call)?;
    let segments = call.segments();
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let (resource, action) = match (segments.split_last(), &call.method) {
        (Some((last, rest)), &Method::POST)
            if last.eq_ignore_ascii_case("listClusterUserCredential") =>
        {
            (rest, Action::ListClusterUserCredential)
        }
        (_, &Method::GET) => (segments.as_slice(), Action::Read),
        _ => return Err(unknown_path(call)),
    };
    let id = ClusterId::of_segments(resource).ok_or_else(|| unknown_path(call))?;
    let cluster = find(azure, &principal, &id)?;
    authorize(&cluster, &principal, action)?;
    Ok(match action {
        Action::Read => cluster.description(),
        Action::ListClusterUserCredential => cluster.kubeconfigs(azure.authority_pem()),
    })
}

fn authenticate(azure: &Azure, call: &Call, cloud: AzureCloud) -> Result<Principal, Failure> {
    let bearer = call
        .header("authorization")
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, token)) = bearer else {
        let message = "Authentication failed. The 'Authorization' header is missing.";
        return Err(Failure::new(401, "AuthenticationFailed", message));
    };
    let now = azure.now();
    let proven = azure.keys.prove(&azure.directory, cloud, token, now);
    let proven = proven.map_err(|error| refused_token(error, now))?;
    let audiences = cloud.resource_manager_audiences();
    if !audiences.contains(&proven.audience.as_str()) {
        let message = format!(
            "The access token has been obtained for wrong audience or resource '{}'. It should \
             exactly match with one of the allowed audiences '{}'.",
            proven.audience,
            audiences.join("','")
        );
        return Err(Failure::new(
            401,
            "InvalidAuthenticationTokenAudience",
            message,
        ));
    }
    Ok(proven.principal)
}

fn refused_token(error: AccessTokenError, now: i64) -> Failure {
    match error {
        AccessTokenError::Invalid => Failure::new(
            401,
            "InvalidAuthenticationToken",
            "The access token is invalid.",
        ),
        AccessTokenError::Expired(at) => {
            let message = format!(
                "The access token expiry UTC time '{}' is earlier than current UTC time '{}'.",
                rfc3339(at),
                rfc3339(now)
            );
            Failure::new(401, "ExpiredAuthenticationToken", message)
        }
    }
}

/// `YYYY-MM-DD`, of a preview too; which of them exist is not held against a client.
fn check_version(call: &Call) -> Result<(), Failure> {
    let Some(version) = call
        .parameter("api-version")
        .filter(|text| !text.is_empty())
    else {
        let message =
            "The api-version query parameter (?api-version=) is required for all requests.";
        return Err(Failure::new(400, "MissingApiVersionParameter", message));
    };
    let date = version.strip_suffix("-preview").unwrap_or(&version);
    if date.len() == 10 && date.parse::<jiff::civil::Date>().is_ok() {
        return Ok(());
    }
    let message = format!("The api-version '{version}' is invalid.");
    Err(Failure::new(400, "InvalidApiVersionParameter", message))
}

/// The cluster, if it is there for this principal's tenant.
fn find(
    azure: &Azure,
    principal: &Principal,
    id: &ClusterId,
) -> Result<std::sync::Arc<AksCluster>, Failure> {
    let Some(tenant) = azure.subscription_tenant(principal.cloud, id.subscription) else {
        let message = format!("The subscription '{}' could not be found.", id.subscription);
        return Err(Failure::new(404, "SubscriptionNotFound", message));
    };
    if tenant != principal.tenant {
        return Err(wrong_tenant(principal, tenant));
    }
    azure.find_cluster(id).ok_or_else(|| {
        let message = format!(
            "The Resource 'Microsoft.ContainerService/managedClusters/{}' under resource group \
             '{}' was not found. For more details please go to \
             https://aka.ms/ARMResourceNotFoundFix",
            id.name, id.group
        );
        Failure::new(404, "ResourceNotFound", message)
    })
}

fn wrong_tenant(principal: &Principal, tenant: Uuid) -> Failure {
    let issuer = |tenant| principal.cloud.token_issuer(tenant);
    let message = format!(
        "The access token is from the wrong issuer '{}'. It must match the tenant '{}' associated \
         with this subscription.",
        issuer(principal.tenant),
        issuer(tenant)
    );
    Failure::new(401, "InvalidAuthenticationTokenTenant", message)
}

fn authorize(cluster: &AksCluster, principal: &Principal, action: Action) -> Result<(), Failure> {
    let role = cluster.role(principal.client_id);
    if role.is_some_and(|role| action.is_in(role)) {
        return Ok(());
    }
    let message = format!(
        "The client '{}' with object id '{}' does not have authorization to perform action '{}' \
         over scope '{}' or the scope is invalid. If access was recently granted, please refresh \
         your credentials.",
        principal.client_id,
        principal.object_id,
        action.name(),
        cluster.id()
    );
    Err(Failure::new(403, "AuthorizationFailed", message))
}

fn unknown_path(call: &Call) -> Failure {
    let message = format!(
        "The sandbox serves managed clusters alone, not {} {}.",
        call.method, call.path
    );
    Failure::new(404, "InvalidResourceType", message)
}
