//! Azure's clouds: closed worlds, each with hosts and audiences of its own.

use gatepass_sdk::{Error, HttpsAddress};

/// One cloud. Hosts and audiences are those of the tables that Microsoft ships with its SDKs
/// (`azure.core`, MSAL's list of instances). The German cloud was closed in October 2021.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cloud {
    Public,
    China,
    UsGovernment,
}

/// A service that takes tokens of Entra, by the name that the parameter `resource` has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Management,
    ContainerRegistry,
    Kubernetes,
    DevOps,
    EventHubs,
    KeyVault,
    Storage,
}

impl Resource {
    pub(crate) const ALL: [Self; 7] = [
        Self::Management,
        Self::ContainerRegistry,
        Self::Kubernetes,
        Self::DevOps,
        Self::EventHubs,
        Self::KeyVault,
        Self::Storage,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Management => "resource-manager",
            Self::ContainerRegistry => "container-registry",
            Self::Kubernetes => "kubernetes",
            Self::DevOps => "devops",
            Self::EventHubs => "event-hubs",
            Self::KeyVault => "key-vault",
            Self::Storage => "storage",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|resource| resource.name() == name)
    }
}

impl Cloud {
    pub(crate) const ALL: [Self; 3] = [Self::Public, Self::China, Self::UsGovernment];

    /// The cloud's name as a value of the parameter `cloud`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::China => "china",
            Self::UsGovernment => "us-government",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cloud| cloud.name() == name)
    }

    /// The cloud's name in Azure's command line (`az cloud list`).
    pub(crate) fn command_line_name(self) -> &'static str {
        match self {
            Self::Public => "AzureCloud",
            Self::China => "AzureChinaCloud",
            Self::UsGovernment => "AzureUSGovernment",
        }
    }

    /// Hosts of the cloud's authority: the usual one first, then its other names.
    pub(crate) fn authorities(self) -> &'static [&'static str] {
        match self {
            Self::Public => &[
                "login.microsoftonline.com",
                "login.microsoft.com",
                "login.windows.net",
            ],
            Self::China => &["login.chinacloudapi.cn", "login.partner.microsoftonline.cn"],
            Self::UsGovernment => &["login.microsoftonline.us", "login.usgovcloudapi.net"],
        }
    }

    /// The usual authority.
    pub(crate) fn authority(self) -> &'static str {
        match self {
            Self::Public => "login.microsoftonline.com",
            Self::China => "login.chinacloudapi.cn",
            Self::UsGovernment => "login.microsoftonline.us",
        }
    }

    /// The audience of ServiceAccount tokens that a federated credential has unless its author
    /// chose another.
    pub(crate) fn audience(self) -> &'static str {
        match self {
            Self::Public => "api://AzureADTokenExchange",
            Self::China => "api://AzureADTokenExchangeChina",
            Self::UsGovernment => "api://AzureADTokenExchangeUSGov",
        }
    }

    /// The host of the resource manager.
    pub(crate) fn resource_manager(self) -> &'static str {
        match self {
            Self::Public => "management.azure.com",
            Self::China => "management.chinacloudapi.cn",
            Self::UsGovernment => "management.usgovcloudapi.net",
        }
    }

    /// The last two labels of the cloud's container registries.
    pub(crate) fn registry_suffix(self) -> &'static str {
        match self {
            Self::Public => "azurecr.io",
            Self::China => "azurecr.cn",
            Self::UsGovernment => "azurecr.us",
        }
    }

    /// The scope of tokens for a service: its audience and `/.default`, so that an audience that
    /// ends in a slash has two.
    pub(crate) fn scope(self, resource: Resource) -> &'static str {
        match (resource, self) {
            (Resource::Management, Self::Public) => "https://management.core.windows.net//.default",
            (Resource::Management, Self::China) => {
                "https://management.core.chinacloudapi.cn//.default"
            }
            (Resource::Management, Self::UsGovernment) => {
                "https://management.core.usgovcloudapi.net//.default"
            }
            (Resource::KeyVault, Self::Public) => "https://vault.azure.net/.default",
            (Resource::KeyVault, Self::China) => "https://vault.azure.cn/.default",
            (Resource::KeyVault, Self::UsGovernment) => "https://vault.usgovcloudapi.net/.default",
            (Resource::ContainerRegistry, _) => "https://containerregistry.azure.net/.default",
            // The application of AKS's API servers, the same in every cloud.
            (Resource::Kubernetes, _) => "6dae42f8-4368-4678-94ff-3960e28e3630/.default",
            (Resource::DevOps, _) => "499b84ac-1321-427f-aa17-267ca6975798/.default",
            (Resource::EventHubs, _) => "https://eventhubs.azure.net//.default",
            (Resource::Storage, _) => "https://storage.azure.com/.default",
        }
    }

    fn of_authority(host: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|cloud| cloud.authorities().contains(&host))
    }
}

impl std::fmt::Display for Cloud {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The token service of one cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    host: String,
    cloud: Cloud,
}

impl Authority {
    /// The usual one of a cloud.
    pub(crate) fn of(cloud: Cloud) -> Self {
        Self {
            host: cloud.authority().into(),
            cloud,
        }
    }

    /// Reads the value of `field`, `https://HOST[/]`. Only hosts of Entra are taken: whoever
    /// answers here is sent a token that proves who the subject is.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the hosts that it may have.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        let address = HttpsAddress::parse(field, text)?;
        let cloud = Cloud::of_authority(address.host()).filter(|_| address.port().is_none());
        let cloud = cloud.ok_or_else(|| {
            let known: Vec<&str> = Cloud::ALL
                .iter()
                .flat_map(|cloud| cloud.authorities())
                .copied()
                .collect();
            Error::invalid_configuration(format!(
                "{field} '{address}' is no authority of Entra: it must be https:// and one of {}",
                known.join(", ")
            ))
        })?;
        Ok(Self {
            host: address.host().into(),
            cloud,
        })
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn cloud(&self) -> Cloud {
        self.cloud
    }
}

impl std::fmt::Display for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "https://{}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;

    #[test]
    fn every_cloud_and_every_resource_is_found_by_its_name() {
        for cloud in Cloud::ALL {
            assert_eq!(Cloud::named(cloud.name()), Some(cloud));
            assert_eq!(cloud.authorities().first(), Some(&cloud.authority()));
        }
        for resource in Resource::ALL {
            assert_eq!(Resource::named(resource.name()), Some(resource));
        }
        for name in ["", "Public", "usgov", "germany", "arm"] {
            assert_eq!(Cloud::named(name), None, "{name}");
            assert_eq!(Resource::named(name), None, "{name}");
        }
    }

    #[test]
    fn an_authority_is_one_of_entras_own_hosts() {
        for (text, host, cloud) in [
            (
                "https://login.microsoftonline.com",
                "login.microsoftonline.com",
                Cloud::Public,
            ),
            (
                "https://LOGIN.microsoftonline.com:443/",
                "login.microsoftonline.com",
                Cloud::Public,
            ),
            (
                "https://login.windows.net/",
                "login.windows.net",
                Cloud::Public,
            ),
            (
                "https://login.partner.microsoftonline.cn",
                "login.partner.microsoftonline.cn",
                Cloud::China,
            ),
            (
                "https://login.microsoftonline.us/",
                "login.microsoftonline.us",
                Cloud::UsGovernment,
            ),
        ] {
            let authority = Authority::parse("endpoint", text).unwrap();
            assert_eq!((authority.host(), authority.cloud()), (host, cloud));
            assert_eq!(authority.to_string(), format!("https://{host}"));
        }
    }

    #[test]
    fn what_only_looks_like_an_authority_is_refused() {
        for text in [
            "",
            "login.microsoftonline.com",
            "http://login.microsoftonline.com",
            "https://login.microsoftonline.com.evil.example",
            "https://evil-login.microsoftonline.com",
            "https://x.login.microsoftonline.com",
            "https://login.microsoftonline.com:8443",
            "https://login.microsoftonline.com/tenant",
            "https://login.microsoftonline.com@evil.example",
            "https://login.microsoftonline.de",
            "https://microsoftonline.com",
            "https://login.microsoftonline.com.",
        ] {
            let error = Authority::parse("endpoint", text).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{text}");
            assert!(error.message().contains("endpoint"), "{error}");
        }
    }

    #[test]
    fn scopes_of_the_resource_manager_and_of_vaults_differ_by_cloud() {
        for resource in Resource::ALL {
            let scopes = Cloud::ALL.map(|cloud| cloud.scope(resource));
            let own = matches!(resource, Resource::Management | Resource::KeyVault);
            assert_eq!(scopes.iter().all(|scope| *scope == scopes[0]), !own);
            assert!(scopes.iter().all(|scope| scope.ends_with("/.default")));
        }
    }
}
