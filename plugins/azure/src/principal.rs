//! Who a token is for: an application or a managed identity in a tenant.

use gatepass_sdk::{Authority, Error};
use std::fmt;
use std::net::Ipv4Addr;

/// Lengths of the parts of a UUID (RFC 9562 §4).
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// Reads a UUID in its usual spelling, without braces, and writes it in lower case.
pub(crate) fn uuid(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('-').collect();
    let fits = parts.len() == UUID_PARTS.len()
        && parts.iter().zip(UUID_PARTS).all(|(part, length)| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
    fits.then(|| text.to_ascii_lowercase())
}

/// The client ID of an application or of a managed identity: a UUID, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientId(String);

impl ClientId {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field and its value.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        uuid(text).map(Self).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be the UUID of an application or of a managed identity (its client ID, not its object ID): 00000000-0000-0000-0000-000000000000",
                text.escape_debug()
            ))
        })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A tenant: its UUID, or one of its domains, in lower case. It is safe as a segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tenant(String);

impl Tenant {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field and its value. `common`, `organizations` and
    /// `consumers` are no tenants: an application gets its token from one.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        uuid(text)
            .or_else(|| domain(text))
            .map(Self)
            .ok_or_else(|| {
                Error::invalid_configuration(format!(
                    "{field} '{}' must be the UUID of a tenant or one of its domains: contoso.onmicrosoft.com",
                    text.escape_debug()
                ))
            })
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A name of at least two labels that is no address.
fn domain(text: &str) -> Option<String> {
    let authority = Authority::parse(text)?;
    let host = authority.host();
    let name = host.contains('.') && !host.starts_with('[') && host.parse::<Ipv4Addr>().is_err();
    (name && authority.port().is_none()).then(|| host.into())
}

/// A client in a tenant, written `TENANT/CLIENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    pub(crate) tenant: Tenant,
    pub(crate) client: ClientId,
}

impl Principal {
    /// Reads `TENANT/CLIENT`, which is what `identity` answers.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is not that.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        let (tenant, client) = text.split_once('/').ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be TENANT/CLIENT",
                text.escape_debug()
            ))
        })?;
        Ok(Self {
            tenant: Tenant::parse(field, tenant)?,
            client: ClientId::parse(field, client)?,
        })
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.tenant, self.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";

    #[test]
    fn a_client_is_a_uuid_in_one_spelling() {
        let upper = CLIENT.to_ascii_uppercase();
        for text in [CLIENT, &upper] {
            assert_eq!(ClientId::parse("field", text).unwrap().as_str(), CLIENT);
        }
        for text in [
            "",
            "app",
            "11111111aaaa4bbb8ccc222222222222",
            "{11111111-aaaa-4bbb-8ccc-222222222222}",
            "urn:uuid:11111111-aaaa-4bbb-8ccc-222222222222",
            "11111111-aaaa-4bbb-8ccc-22222222222g",
            "11111111-aaaa-4bbb-8ccc-2222222222222",
            "11111111-aaaa-4bbb-8ccc",
            "11111111-aaaa-4bbb-8ccc-222222222222\n",
            " 11111111-aaaa-4bbb-8ccc-222222222222",
            "1111111-aaaaa-4bbb-8ccc-222222222222",
        ] {
            let error = ClientId::parse("field", text).unwrap_err();
            assert!(error.message().starts_with("field '"), "{error}");
        }
    }

    #[test]
    fn a_tenant_is_a_uuid_or_a_domain() {
        for (text, tenant) in [
            (CLIENT, CLIENT),
            ("Contoso.onmicrosoft.com", "contoso.onmicrosoft.com"),
            ("contoso.com", "contoso.com"),
            ("xn--fiq228c.cn", "xn--fiq228c.cn"),
        ] {
            assert_eq!(Tenant::parse("field", text).unwrap().as_str(), tenant);
        }
        for text in [
            "",
            "common",
            "organizations",
            "consumers",
            "contoso.com/x",
            "contoso.com/../x",
            "..",
            ".",
            "contoso.com.",
            "contoso.com:443",
            "contoso com",
            "contoso_x.com",
            "contoso.com?x",
            "contoso.com#x",
            "user@contoso.com",
            "10.0.0.1",
            "[::1]",
            "contoso.com\n",
        ] {
            assert!(Tenant::parse("field", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_principal_reads_what_it_writes() {
        let text = format!("contoso.com/{CLIENT}");
        let principal = Principal::parse("identity", &text).unwrap();
        assert_eq!(principal.to_string(), text);
        for text in ["", "/", CLIENT, "a/b/c", "contoso.com/app"] {
            assert!(Principal::parse("identity", text).is_err(), "{text}");
        }
    }
}
