//! The codes of Azure's services, sorted by who must act.
//!
//! Those of Entra are of learn.microsoft.com/entra/identity-platform/reference-error-codes, and of
//! the troubleshooting pages of Azure Workload Identity. Microsoft adds codes and says that they
//! may change, so that an unknown one is judged by its status.

use super::Service;
use gatepass_sdk::fault::Verdict;

/// The number in a code of Entra: `AADSTS700016`.
pub(super) fn aadsts(code: &str) -> Option<u64> {
    let digits = code.strip_prefix("AADSTS")?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

pub(super) fn verdict(service: Service, code: &str, status: u16) -> Verdict {
    if status == 429 {
        return Verdict::Throttled;
    }
    let named = match service {
        Service::Entra => entra(code),
        Service::Metadata => entra(code).or_else(|| metadata(code, status)),
        Service::Registry => registry(status),
        Service::ResourceManager => resource_manager(code, status),
    };
    match (status, named) {
        (408 | 500.., None | Some(Verdict::Denied(_) | Verdict::Configuration(_))) => {
            Verdict::Unavailable("")
        }
        (_, Some(verdict)) => verdict,
        (300..400, None) => {
            Verdict::Unavailable("Azure does not redirect here: check the proxy on the way to it")
        }
        (..300, None) => {
            Verdict::Unavailable("that is not how Azure answers: check the proxy on the way to it")
        }
        _ => Verdict::Denied(""),
    }
}

fn entra(code: &str) -> Option<Verdict> {
    let Some(number) = aadsts(code) else {
        return (code == "temporarily_unavailable").then_some(Verdict::Unavailable(""));
    };
    federation(number)
        .or_else(|| client(number))
        .or_else(|| request(number))
        .or_else(|| passing(number))
}

/// What is wrong between a token of a cluster and the federated credentials of a client.
fn federation(number: u64) -> Option<Verdict> {
    Some(match number {
        // What Entra answers for some minutes after a federated credential was made
        // (azure.github.io/azure-workload-identity/docs/faq.html).
        70_021 => Verdict::NotYet(
            "no federated credential matches yet; it takes minutes until a new one is known everywhere. If this lasts, check that its issuer, subject and audience are those of the token, letter by letter and in the same case",
        ),
        700_211 => Verdict::Denied(
            "no federated credential of the client has this issuer: issuers are compared letter by letter, in the same case and with or without the slash at the end. One that was made minutes ago may not be known yet",
        ),
        700_212 => Verdict::Denied(
            "no federated credential of the client has this audience: audiences are compared letter by letter and in the same case. One that was made minutes ago may not be known yet",
        ),
        700_213 => Verdict::Denied(
            "no federated credential of the client has this subject, system:serviceaccount:NAMESPACE:NAME: subjects are compared letter by letter and in the same case. One that was made minutes ago may not be known yet",
        ),
        7_002_137 | 7_002_138 => Verdict::Denied(
            "a federated credential of the client matches but for upper and lower case, which count in issuer, subject and audience: correct it",
        ),
        50_166 | 90_061 | 501_661 | 900_612 => Verdict::Unavailable(
            "Entra could not read the keys of the token's issuer: check that its discovery document and its keys are served to the internet",
        ),
        50_013 | 500_133 | 700_024 | 700_082 => Verdict::Denied(
            "the token or the assertion is expired or not valid yet: check the clocks of cluster and host",
        ),
        50_027 | 700_229 | 900_384 | 7_000_272 => Verdict::Denied(
            "Entra does not accept the token: check that the issuer's published keys are those that the cluster signs with",
        ),
        _ => return None,
    })
}

/// What is wrong with the client, or with what it may do.
fn client(number: u64) -> Option<Verdict> {
    Some(match number {
        700_011 | 700_016 => Verdict::Configuration(
            "the tenant has no such client: check the client ID, and that the tenant is the client's own",
        ),
        70_001 | 7_000_112 => Verdict::Denied("the application is disabled: enable it"),
        70_002 | 7_000_215 => {
            Verdict::Denied("the client secret is wrong: it must be the secret's value, not its ID")
        }
        7_000_222 => Verdict::Denied("the client secret has expired: make a new one"),
        50_012 | 700_027 | 700_030 => Verdict::Denied(
            "the application does not know the certificate: upload it to the application",
        ),
        700_021 | 700_023 => Verdict::Denied(
            "the assertion is for another client or authority: check the client ID, the tenant and parameter cloud",
        ),
        700_025 => Verdict::Denied(
            "the application is public, and gives its tokens to people alone: use another",
        ),
        53_003 | 530_032 | 530_035 => {
            Verdict::Denied("a policy of the tenant blocks the client: see its sign-in log")
        }
        50_105 | 65_001 | 90_094 | 500_212 | 500_213 => {
            Verdict::Denied("the client may not use the resource: its administrator must allow it")
        }
        _ => return None,
    })
}

/// What is wrong with a request.
fn request(number: u64) -> Option<Verdict> {
    Some(match number {
        50_059 | 90_002 | 90_019 | 900_021 | 900_023 => Verdict::Configuration(
            "there is no such tenant in this cloud: check the tenant and parameter cloud",
        ),
        50_049 | 90_038 | 90_051 | 900_382 | 900_432 => Verdict::Configuration(
            "the authority is of another cloud than the tenant or the resource: check the endpoint and parameter cloud",
        ),
        28_002 | 28_003 | 70_011 | 700_022 | 1_002_012 => {
            Verdict::Configuration("check the scope: it must be one resource and /.default")
        }
        50_001 | 500_011 | 650_052 | 650_057 => Verdict::Configuration(
            "the tenant does not know the resource of the scope: check the scope and the tenant",
        ),
        _ => return None,
    })
}

/// What passes by itself, and what asks for fewer calls.
fn passing(number: u64) -> Option<Verdict> {
    Some(match number {
        50_196 | 90_055 => Verdict::Throttled,
        50_033 | 50_087 | 90_006 | 90_012 | 90_024 | 90_033 | 90_090 | 90_091 => {
            Verdict::Unavailable("")
        }
        _ => return None,
    })
}

/// The statuses that the metadata service documents
/// (learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token).
fn metadata(code: &str, status: u16) -> Option<Verdict> {
    Some(match (code, status) {
        (_, 404 | 410) => Verdict::NotYet("the metadata service is being updated, for up to 70 s"),
        ("invalid_resource", 400) => Verdict::Configuration("check the scope"),
        (_, 400) => Verdict::Denied(
            "the machine has no such managed identity, or several: assign one to it, or name one in AZURE_CLIENT_ID",
        ),
        _ => return None,
    })
}

fn registry(status: u16) -> Option<Verdict> {
    Some(match status {
        401 | 403 => Verdict::Denied(
            "the registry does not let the identity in: give it the role AcrPull or AcrPush, and check that registry and identity have the same tenant and that the registry's firewall admits the host",
        ),
        404 => Verdict::Configuration("check the name of the registry"),
        _ => return None,
    })
}

fn resource_manager(code: &str, status: u16) -> Option<Verdict> {
    Some(match (code, status) {
        ("ResourceNotFound" | "ResourceGroupNotFound" | "SubscriptionNotFound", _) | (_, 404) => {
            Verdict::Configuration("check the cluster's resource ID and the cloud")
        }
        ("InvalidSubscriptionId" | "MissingSubscription" | "InvalidResourceType", _) => {
            Verdict::Configuration("check the cluster's resource ID")
        }
        ("AuthorizationFailed", _) | (_, 403) => Verdict::Denied(
            "give the identity the role \"Azure Kubernetes Service Cluster User Role\" on the cluster; a new assignment takes minutes to count",
        ),
        (_, 401) => Verdict::Denied(
            "the resource manager does not accept the token: check that the identity is of the subscription's tenant",
        ),
        (_, 409) => Verdict::Unavailable("another operation on the cluster is running"),
        _ => return None,
    })
}
