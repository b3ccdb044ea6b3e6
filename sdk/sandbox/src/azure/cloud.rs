//! The national clouds: each has hosts, resources and directories of its own.

use uuid::Uuid;

/// The application behind every AKS API server that is integrated with Entra.
pub(crate) const AKS_SERVER: &str = "6dae42f8-4368-4678-94ff-3960e28e3630";
/// The audience of every container registry, in all clouds alike.
pub(crate) const CONTAINER_REGISTRY: &str = "https://containerregistry.azure.net";

/// A cloud of Azure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AzureCloud {
    /// The worldwide one.
    Public,
    /// The one that 21Vianet runs in China.
    China,
    /// The one of the United States' government.
    UsGovernment,
}

/// What a host name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Entra,
    ResourceManager,
    Registry,
}

/// Resources that exist once per directory, beside those that depend on the cloud.
const RESOURCES: [&str; 6] = [
    AKS_SERVER,
    CONTAINER_REGISTRY,
    // Azure DevOps.
    "499b84ac-1321-427f-aa17-267ca6975798",
    "https://storage.azure.com",
    "https://eventhubs.azure.net",
    "https://servicebus.azure.net",
];

impl AzureCloud {
    pub(crate) const ALL: [Self; 3] = [Self::Public, Self::China, Self::UsGovernment];

    /// Service and cloud of a host; none if it is none of Azure's.
    pub(crate) fn of_host(host: &str) -> Option<(Service, Self)> {
        Self::ALL.into_iter().find_map(|cloud| {
            let service = cloud.service(host)?;
            Some((service, cloud))
        })
    }

    fn service(self, host: &str) -> Option<Service> {
        if self.authority_hosts().contains(&host) {
            return Some(Service::Entra);
        }
        if host == self.resource_manager_host() {
            return Some(Service::ResourceManager);
        }
        let name = host.strip_suffix(self.registry_suffix())?;
        is_registry_name(name.strip_suffix('.')?).then_some(Service::Registry)
    }

    /// The first is the one that the cloud's own documents name.
    pub(crate) fn authority_hosts(self) -> &'static [&'static str] {
        match self {
            Self::Public => &["login.microsoftonline.com", "login.windows.net"],
            Self::China => &["login.chinacloudapi.cn", "login.partner.microsoftonline.cn"],
            Self::UsGovernment => &["login.microsoftonline.us"],
        }
    }

    pub(crate) fn authority_host(self) -> &'static str {
        self.authority_hosts().first().copied().unwrap_or_default()
    }

    pub(crate) fn resource_manager_host(self) -> &'static str {
        match self {
            Self::Public => "management.azure.com",
            Self::China => "management.chinacloudapi.cn",
            Self::UsGovernment => "management.usgovcloudapi.net",
        }
    }

    pub(crate) fn registry_suffix(self) -> &'static str {
        match self {
            Self::Public => "azurecr.io",
            Self::China => "azurecr.cn",
            Self::UsGovernment => "azurecr.us",
        }
    }

    /// Every spelling that Resource Manager takes, in the order of its own refusal.
    pub(crate) fn resource_manager_audiences(self) -> [&'static str; 4] {
        match self {
            Self::Public => [
                "https://management.core.windows.net/",
                "https://management.core.windows.net",
                "https://management.azure.com/",
                "https://management.azure.com",
            ],
            Self::China => [
                "https://management.core.chinacloudapi.cn/",
                "https://management.core.chinacloudapi.cn",
                "https://management.chinacloudapi.cn/",
                "https://management.chinacloudapi.cn",
            ],
            Self::UsGovernment => [
                "https://management.core.usgovcloudapi.net/",
                "https://management.core.usgovcloudapi.net",
                "https://management.usgovcloudapi.net/",
                "https://management.usgovcloudapi.net",
            ],
        }
    }

    /// `iss` of an access token of version 1.0, the kind that every resource here asks for.
    pub(crate) fn token_issuer(self, tenant: Uuid) -> String {
        match self {
            Self::Public | Self::UsGovernment => format!("https://sts.windows.net/{tenant}/"),
            Self::China => format!("https://sts.chinacloudapi.cn/{tenant}/"),
        }
    }

    /// The cloud's name in kubeconfigs and in instance metadata.
    pub(crate) fn environment(self) -> &'static str {
        match self {
            Self::Public => "AzurePublicCloud",
            Self::China => "AzureChinaCloud",
            Self::UsGovernment => "AzureUSGovernmentCloud",
        }
    }

    /// Whether a resource is in every directory of this cloud. One slash more or less at the end is
    /// the same resource.
    pub(crate) fn has_resource(self, audience: &str) -> bool {
        let name = audience.strip_suffix('/').unwrap_or(audience);
        let is_known = RESOURCES.contains(&name)
            || self.resource_manager_audiences().contains(&name)
            || self.own_resources().contains(&name)
            || self.is_storage_account(name);
        is_known && !name.ends_with('/')
    }

    /// Key vaults and Graph.
    fn own_resources(self) -> [&'static str; 2] {
        match self {
            Self::Public => ["https://vault.azure.net", "https://graph.microsoft.com"],
            Self::China => [
                "https://vault.azure.cn",
                "https://microsoftgraph.chinacloudapi.cn",
            ],
            Self::UsGovernment => [
                "https://vault.usgovcloudapi.net",
                "https://graph.microsoft.us",
            ],
        }
    }

    /// `https://ACCOUNT.blob.SUFFIX`: 3 to 24 small letters and digits.
    fn is_storage_account(self, name: &str) -> bool {
        let suffix = match self {
            Self::Public => ".blob.core.windows.net",
            Self::China => ".blob.core.chinacloudapi.cn",
            Self::UsGovernment => ".blob.core.usgovcloudapi.net",
        };
        let account = name
            .strip_prefix("https://")
            .and_then(|host| host.strip_suffix(suffix));
        account.is_some_and(|account| {
            (3..=24).contains(&account.len())
                && account
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
    }
}

/// 5 to 50 letters and digits; a registry with a domain name label has its hash after a hyphen.
fn is_registry_name(name: &str) -> bool {
    let (name, hash) = name.split_once('-').unwrap_or((name, "0"));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (5..=50).contains(&name.len()) && is_plain(name) && !hash.is_empty() && is_plain(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_decides_service_and_cloud() {
        for (host, expected) in [
            (
                "login.microsoftonline.com",
                Some((Service::Entra, AzureCloud::Public)),
            ),
            (
                "login.windows.net",
                Some((Service::Entra, AzureCloud::Public)),
            ),
            (
                "login.chinacloudapi.cn",
                Some((Service::Entra, AzureCloud::China)),
            ),
            (
                "login.partner.microsoftonline.cn",
                Some((Service::Entra, AzureCloud::China)),
            ),
            (
                "login.microsoftonline.us",
                Some((Service::Entra, AzureCloud::UsGovernment)),
            ),
            (
                "management.azure.com",
                Some((Service::ResourceManager, AzureCloud::Public)),
            ),
            (
                "management.chinacloudapi.cn",
                Some((Service::ResourceManager, AzureCloud::China)),
            ),
            (
                "management.usgovcloudapi.net",
                Some((Service::ResourceManager, AzureCloud::UsGovernment)),
            ),
            (
                "tenanta.azurecr.io",
                Some((Service::Registry, AzureCloud::Public)),
            ),
            (
                "tenanta-fya2b3.azurecr.cn",
                Some((Service::Registry, AzureCloud::China)),
            ),
            (
                "tenanta.azurecr.us",
                Some((Service::Registry, AzureCloud::UsGovernment)),
            ),
            ("login.microsoftonline.de", None),
            ("evil-login.microsoftonline.com", None),
            ("login.microsoftonline.com.evil.example", None),
            ("tena.azurecr.io", None),
            ("data.tenanta.azurecr.io", None),
            ("tenanta-.azurecr.io", None),
            ("tenantaazurecr.io", None),
            (".azurecr.io", None),
            ("azurecr.io", None),
        ] {
            assert_eq!(AzureCloud::of_host(host), expected, "{host}");
        }
    }

    #[test]
    fn a_cloud_has_its_own_resources_and_no_others() {
        for (cloud, audience, expected) in [
            (
                AzureCloud::Public,
                "https://management.core.windows.net/",
                true,
            ),
            (AzureCloud::Public, "https://management.azure.com", true),
            (AzureCloud::Public, "https://management.azure.com//", false),
            (AzureCloud::Public, AKS_SERVER, true),
            (AzureCloud::China, CONTAINER_REGISTRY, true),
            (AzureCloud::China, "https://management.azure.com", false),
            (
                AzureCloud::China,
                "https://management.core.chinacloudapi.cn/",
                true,
            ),
            (
                AzureCloud::UsGovernment,
                "https://vault.usgovcloudapi.net",
                true,
            ),
            (AzureCloud::UsGovernment, "https://vault.azure.net", false),
            (
                AzureCloud::Public,
                "https://account.blob.core.windows.net",
                true,
            ),
            (
                AzureCloud::Public,
                "https://Account.blob.core.windows.net",
                false,
            ),
            (
                AzureCloud::Public,
                "https://a.b.blob.core.windows.net",
                false,
            ),
            (AzureCloud::Public, "", false),
        ] {
            assert_eq!(cloud.has_resource(audience), expected, "{audience}");
        }
    }
}
