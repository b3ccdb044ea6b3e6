//! What the host's environment says of Azure: the tenant, the authority, and the hosts of a cloud
//! that is not in this provider's tables.

use crate::cloud::Authority;
use crate::principal::Tenant;
use gatepass_sdk::{Authority as HostName, Error, Facts, Host, HttpsAddress};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Variables that the webhook of AKS, or an operator, sets.
pub(crate) const TENANT_VARIABLE: &str = "AZURE_TENANT_ID";
pub(crate) const AUTHORITY_VARIABLE: &str = "AZURE_AUTHORITY_HOST";

/// Names the file that describes a cloud of its own, such as Azure Stack.
pub(crate) const ENVIRONMENT_VARIABLE: &str = "AZURE_ENVIRONMENT_FILEPATH";

/// The tenant of accounts whose annotations name none.
const TENANT: &str = "tenant";

/// The authority of requests that name no cloud.
const AUTHORITY: &str = "authority";

const REGISTRY_SUFFIX: &str = "environment.container-registry-suffix";
const RESOURCE_MANAGER: &str = "environment.resource-manager";
const TOKEN_AUDIENCE: &str = "environment.token-audience";

/// Looks at the environment.
///
/// # Errors
///
/// `invalid-configuration` if a variable or the file that it names is not what it must be.
pub(crate) fn discover(host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
    let mut facts = BTreeMap::new();
    if let Some(text) = variable(host, TENANT_VARIABLE) {
        let tenant = Tenant::parse(TENANT_VARIABLE, &text)?;
        facts.insert(TENANT.into(), tenant.to_string());
    }
    if let Some(text) = variable(host, AUTHORITY_VARIABLE) {
        let authority = Authority::parse(AUTHORITY_VARIABLE, &text)?;
        facts.insert(AUTHORITY.into(), authority.to_string());
    }
    if let Some(path) = variable(host, ENVIRONMENT_VARIABLE) {
        facts.extend(file(&path, host)?.facts()?);
    }
    Ok(facts)
}

/// The value of a variable that is set and not empty.
pub(crate) fn variable(host: &dyn Host, name: &str) -> Option<String> {
    host.variable(name).filter(|value| !value.is_empty())
}

/// The fields of the environment file that matter here.
#[derive(Debug, Default, Deserialize)]
struct File {
    #[serde(rename = "containerRegistryDNSSuffix")]
    registry_suffix: Option<String>,
    #[serde(rename = "resourceManagerEndpoint")]
    resource_manager: Option<String>,
    #[serde(rename = "tokenAudience")]
    token_audience: Option<String>,
}

fn file(path: &str, host: &dyn Host) -> Result<File, Error> {
    let wrong = |what: &str| {
        Error::invalid_configuration(format!(
            "{ENVIRONMENT_VARIABLE}: the file '{}' {what}",
            path.escape_debug()
        ))
    };
    let content = host.file(path).map_err(|error| {
        wrong(&format!(
            "cannot be read ({}): is it granted?",
            error.kind()
        ))
    })?;
    serde_json::from_slice(&content).map_err(|error| {
        wrong(&format!(
            "is not the JSON of an Azure environment (line {}, column {})",
            error.line(),
            error.column()
        ))
    })
}

impl File {
    fn facts(self) -> Result<BTreeMap<String, String>, Error> {
        let mut facts = BTreeMap::new();
        if let Some(text) = present(self.registry_suffix) {
            facts.insert(REGISTRY_SUFFIX.into(), suffix(&text)?);
        }
        if let Some(text) = present(self.resource_manager) {
            let address = HttpsAddress::parse("resourceManagerEndpoint", &text)?;
            facts.insert(RESOURCE_MANAGER.into(), address.to_string());
        }
        if let Some(text) = present(self.token_audience) {
            facts.insert(TOKEN_AUDIENCE.into(), audience(text)?);
        }
        Ok(facts)
    }
}

fn present(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// A suffix of at least two labels; a dot before it is left out.
fn suffix(text: &str) -> Result<String, Error> {
    let name = text.strip_prefix('.').unwrap_or(text);
    HostName::parse(name)
        .filter(|host| host.port().is_none() && host.host().contains('.'))
        .map(|host| host.host().to_owned())
        .ok_or_else(|| {
            Error::invalid_configuration(format!(
                "containerRegistryDNSSuffix '{}' must be the end of a host name: azurecr.io",
                text.escape_debug()
            ))
        })
}

fn audience(text: String) -> Result<String, Error> {
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text);
    }
    Err(Error::invalid_configuration(format!(
        "tokenAudience '{}' must be a URI",
        text.escape_debug()
    )))
}

/// What was discovered, read where it is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a>(&'a BTreeMap<String, String>);

impl<'a> Surroundings<'a> {
    /// The facts.
    ///
    /// # Errors
    ///
    /// `needs-facts` if nothing was discovered yet.
    pub(crate) fn of(facts: &'a Facts) -> Result<Self, Error> {
        facts.as_ref().map(Self).ok_or_else(Error::needs_facts)
    }

    fn fact(self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(String::as_str)
    }

    /// The host's own tenant.
    pub(crate) fn tenant(self) -> Result<Option<Tenant>, Error> {
        self.fact(TENANT)
            .map(|text| Tenant::parse("the host's tenant", text))
            .transpose()
    }

    /// The host's own authority.
    pub(crate) fn authority(self) -> Result<Option<Authority>, Error> {
        self.fact(AUTHORITY)
            .map(|text| Authority::parse("the host's authority", text))
            .transpose()
    }

    /// The suffix of registries in a cloud of its own.
    pub(crate) fn registry_suffix(self) -> Option<&'a str> {
        self.fact(REGISTRY_SUFFIX)
    }

    /// The resource manager of a cloud of its own.
    pub(crate) fn resource_manager(self) -> Option<&'a str> {
        self.fact(RESOURCE_MANAGER)
    }

    /// The audience of that resource manager.
    pub(crate) fn token_audience(self) -> Option<&'a str> {
        self.fact(TOKEN_AUDIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;
    use gatepass_sdk::testing::ScriptedHost;

    const PATH: &str = "/etc/azure/environment.json";

    fn with_file(content: &[u8]) -> ScriptedHost {
        ScriptedHost::new()
            .variable(ENVIRONMENT_VARIABLE, PATH)
            .file(PATH, content)
    }

    #[test]
    fn an_empty_environment_has_no_facts() {
        for host in [
            ScriptedHost::new(),
            ScriptedHost::new()
                .variable(TENANT_VARIABLE, "")
                .variable(AUTHORITY_VARIABLE, "")
                .variable(ENVIRONMENT_VARIABLE, ""),
        ] {
            assert_eq!(discover(&host), Ok(BTreeMap::new()));
        }
    }

    #[test]
    fn tenant_authority_and_environment_are_facts_and_secrets_are_not() {
        let file = br#"{"name":"Stack","containerRegistryDNSSuffix":".azurecr.stack.example","resourceManagerEndpoint":"https://management.stack.example/","tokenAudience":"https://management.stack.example/x","other":7}"#;
        let host = with_file(file)
            .variable(TENANT_VARIABLE, "Contoso.com")
            .variable(AUTHORITY_VARIABLE, "https://login.microsoftonline.us/")
            .variable("AZURE_CLIENT_SECRET", "hunter2");
        let expected = [
            ("authority", "https://login.microsoftonline.us"),
            (
                "environment.container-registry-suffix",
                "azurecr.stack.example",
            ),
            (
                "environment.resource-manager",
                "https://management.stack.example",
            ),
            (
                "environment.token-audience",
                "https://management.stack.example/x",
            ),
            ("tenant", "contoso.com"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(discover(&host), Ok(expected.into()));
    }

    #[test]
    fn what_is_wrong_is_named_by_its_variable() {
        let variable = |name: &str, value: &str| ScriptedHost::new().variable(name, value);
        for (host, words) in [
            (
                variable(TENANT_VARIABLE, "common"),
                [TENANT_VARIABLE, "common"],
            ),
            (
                variable(AUTHORITY_VARIABLE, "https://adfs.example/"),
                [AUTHORITY_VARIABLE, "adfs.example"],
            ),
            (
                variable(ENVIRONMENT_VARIABLE, "/nowhere"),
                [ENVIRONMENT_VARIABLE, "granted"],
            ),
            (with_file(b""), [ENVIRONMENT_VARIABLE, "JSON"]),
            (with_file(b"[]"), [ENVIRONMENT_VARIABLE, "JSON"]),
            (
                with_file(b"{\"tokenAudience\":7}"),
                [ENVIRONMENT_VARIABLE, "JSON"],
            ),
            (
                with_file(b"{\"tokenAudience\":\"a b\"}"),
                ["tokenAudience", "'a b'"],
            ),
            (
                with_file(b"{\"containerRegistryDNSSuffix\":\"io\"}"),
                ["containerRegistryDNSSuffix", "'io'"],
            ),
            (
                with_file(b"{\"resourceManagerEndpoint\":\"http://x.example\"}"),
                ["resourceManagerEndpoint", "https"],
            ),
        ] {
            let error = discover(&host).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            for word in words {
                assert!(error.message().contains(word), "{error}");
            }
        }
    }

    #[test]
    fn fields_that_are_missing_or_null_are_no_facts() {
        for file in [
            "{}",
            r#"{"tokenAudience":null,"containerRegistryDNSSuffix":"","resourceManagerEndpoint":null}"#,
        ] {
            assert_eq!(discover(&with_file(file.as_bytes())), Ok(BTreeMap::new()));
        }
    }
}
