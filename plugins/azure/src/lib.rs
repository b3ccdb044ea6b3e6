//! The azure provider: tokens of Entra for a ServiceAccount or for the process itself, logins to
//! Azure Container Registry, access to AKS.

mod ambient;
mod certificate;
mod cloud;
mod cluster;
mod der;
mod discover;
mod exchange;
mod fault;
mod git;
mod identity;
mod identity_binding;
mod managed_identity;
mod parameter;
mod principal;
mod registry;
mod token;
mod trust;

use cloud::Cloud;
use gatepass_sdk::{
    Annotation, ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts,
    Git, GitTarget, Host, Provider, RegistryTarget, Request, SourceKind, Subject, Trust, Verb,
    Wishes,
};
use std::collections::BTreeMap;

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Azure;

impl Provider for Azure {
    fn describe(&self) -> Description {
        Description {
            name: "azure".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Azure: tokens of Entra, logins to ACR, access to AKS clusters".into(),
            parameters: parameter::SCHEMA.into(),
            annotations: vec![
                Annotation::required(
                    identity::CLIENT_ID,
                    "client ID of the application or managed identity, `00000000-0000-0000-0000-000000000000`",
                ),
                Annotation::optional(
                    identity::TENANT_ID,
                    "tenant of the client, a UUID or a domain, `contoso.onmicrosoft.com`; default: that of the host, `AZURE_TENANT_ID`",
                ),
            ],
            wishes: Wishes {
                hosts: hosts(),
                audiences: Cloud::ALL.map(|cloud| cloud.audience().into()).into(),
                environment: ENVIRONMENT.map(Into::into).into(),
                files: FILES.map(|name| format!("${name}")).into(),
                signer: false,
            },
            verbs: vec![
                Verb::Discover,
                Verb::Audience,
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![SourceKind::Ambient, SourceKind::SubjectToken],
        }
    }

    fn discover(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        discover::discover(host)
    }

    fn audience(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<String>, Error> {
        identity::audience(subject, facts, request)
    }

    fn identity(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        identity::identity(subject, facts, request)
    }

    fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
        exchange::exchange(exchange, host)
    }

    fn registry(
        &self,
        repository: &str,
        facts: &Facts,
        request: &Request,
    ) -> Result<RegistryTarget, Error> {
        registry::target(repository, facts, request)
    }

    fn registry_credentials(
        &self,
        target: &RegistryTarget,
        access: &Credential,
        facts: &Facts,
        _: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        registry::login(target, access, facts, host)
    }

    fn cluster(
        &self,
        cluster: &ClusterReference,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        cluster::access(cluster, facts, request)
    }

    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        cluster::rest_config(cluster, access, facts, request, host)
    }
}

/// Variables that ambient calls and `discover` read: the names that Azure's own SDKs and AKS's
/// webhook use.
const ENVIRONMENT: [&str; 13] = [
    discover::TENANT_VARIABLE,
    discover::AUTHORITY_VARIABLE,
    discover::ENVIRONMENT_VARIABLE,
    managed_identity::CLIENT_VARIABLE,
    ambient::SECRET_VARIABLE,
    ambient::CERTIFICATE_VARIABLE,
    certificate::PASSWORD_VARIABLE,
    certificate::CHAIN_VARIABLE,
    ambient::TOKEN_VARIABLE,
    identity_binding::PROXY_VARIABLE,
    identity_binding::NAME_VARIABLE,
    identity_binding::CA_VARIABLES[0],
    identity_binding::CA_VARIABLES[1],
];

/// Variables that hold the paths of files.
const FILES: [&str; 3] = [
    discover::ENVIRONMENT_VARIABLE,
    ambient::CERTIFICATE_VARIABLE,
    ambient::TOKEN_VARIABLE,
];

/// The wish for hosts that only the operator knows: those of a cloud of AZURE_ENVIRONMENT_FILEPATH.
const PRIVATE: &str = "*";

/// Patterns for every host that this provider can call, in every cloud.
fn hosts() -> Vec<String> {
    let fixed = Cloud::ALL.into_iter().flat_map(|cloud| {
        let manager = [cloud.resource_manager()];
        cloud.authorities().iter().copied().chain(manager)
    });
    let fixed = fixed.map(|host| format!("https://{host}"));
    let others = [
        identity_binding::WISH.to_owned(),
        managed_identity::HOST.to_owned(),
        PRIVATE.to_owned(),
    ];
    fixed.chain(registry::wishes()).chain(others).collect()
}

impl Git for Azure {
    fn repository(&self, url: &str, facts: &Facts, request: &Request) -> Result<GitTarget, Error> {
        git::target(url, facts, request)
    }

    fn git_credentials(
        &self,
        url: &str,
        access: &Credential,
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        git::login(url, access, facts, request, host)
    }
}

impl Trust for Azure {
    fn policy(
        &self,
        subject: &Subject,
        identity: &str,
        issuer: &str,
        audiences: &[String],
        _: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        trust::trust(subject, identity, issuer, audiences, request)
    }
}

gatepass_sdk::export!(Azure, git, trust);

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing::{self, ScriptedHost};
    use std::collections::BTreeSet;

    #[test]
    fn the_description_is_of_this_provider() {
        let description = Azure.describe();
        assert_eq!(description.name, "azure");
        assert_eq!(
            description.wishes.audiences,
            [
                "api://AzureADTokenExchange",
                "api://AzureADTokenExchangeChina",
                "api://AzureADTokenExchangeUSGov"
            ]
        );
        let files = [
            "$AZURE_ENVIRONMENT_FILEPATH",
            "$AZURE_CLIENT_CERTIFICATE_PATH",
            "$AZURE_FEDERATED_TOKEN_FILE",
        ];
        assert_eq!(description.wishes.files, files);
        assert_eq!(description, Azure.describe());
    }

    #[test]
    fn wishes_repeat_nothing_and_all_but_the_metadata_service_are_https() {
        let wishes = Azure.describe().wishes;
        for list in [&wishes.hosts, &wishes.environment] {
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len());
        }
        let plain: Vec<&String> = wishes
            .hosts
            .iter()
            .filter(|host| !host.starts_with("https://") && *host != PRIVATE)
            .collect();
        assert_eq!(plain, ["http://169.254.169.254"]);
        for host in [
            "https://login.microsoftonline.com",
            "https://management.usgovcloudapi.net",
            "https://*.azurecr.cn",
            "https://*.*.geo.azurecr.io",
        ] {
            assert!(wishes.hosts.iter().any(|wish| wish == host), "{host}");
        }
    }

    #[test]
    fn the_verbs_are_those_of_the_description() {
        let facts = Azure.discover(&ScriptedHost::new()).map(Some).unwrap();
        let account = testing::service_account("team-a", "app", &[]);
        let audience = Azure.audience(&account, &facts, &Request::default());
        assert_eq!(audience, Ok(vec!["api://AzureADTokenExchange".into()]));
        let target = Azure.registry("a.azurecr.io/b", &None, &Request::default());
        assert_eq!(target.unwrap().host, "a.azurecr.io");
    }
}
