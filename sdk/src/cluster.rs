//! Remote clusters: as the caller knows them, and what a client needs.

use crate::{Error, HttpsAddress, Material};
use std::time::SystemTime;

/// A remote cluster, as the caller knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReference {
    /// The fully qualified name in the cloud's API.
    pub name: Option<String>,
    /// URL of the API server.
    pub address: Option<String>,
    /// PEM of its certificate authority.
    pub ca_certificate: Option<String>,
}

impl ClusterReference {
    /// The address of the API server, for a provider that has no API to look a cluster up by name.
    /// The certificate authority is checked along with it.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if there is a name, no address, or a wrong certificate authority.
    pub fn by_address(&self) -> Result<HttpsAddress, Error> {
        if let Some(name) = &self.name {
            return Err(Error::invalid_configuration(format!(
                "cluster name '{}' has no effect with this provider, which looks nothing up: remove it",
                name.escape_debug()
            )));
        }
        self.certificate_authority()?;
        match self.address.as_deref() {
            Some(address) => HttpsAddress::parse("address", address),
            None => Err(Error::invalid_configuration(
                "this provider needs the address of the cluster's API server: set address",
            )),
        }
    }

    /// The certificate authority, if one is given.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is no PEM certificate.
    pub fn certificate_authority(&self) -> Result<Option<&str>, Error> {
        match self.ca_certificate.as_deref() {
            Some(pem) if !is_certificate(pem) => Err(Error::invalid_configuration(
                "ca-certificate must be PEM, of certificates alone: -----BEGIN CERTIFICATE-----",
            )),
            pem => Ok(pem),
        }
    }
}

/// Whether a text looks like PEM with at least one certificate and no key. Whether a client can
/// use it, the client will say.
#[must_use]
pub fn is_certificate(pem: &str) -> bool {
    let begin = pem.find("-----BEGIN CERTIFICATE-----");
    let end = pem.find("-----END CERTIFICATE-----");
    begin.zip(end).is_some_and(|(begin, end)| begin < end) && !pem.contains("PRIVATE KEY-----")
}

/// What a Kubernetes client needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterAccess {
    /// `https://HOST[:PORT]`.
    pub server: String,
    /// PEM; `None`: the system's certificate authorities.
    pub ca_certificate: Option<String>,
    /// A bearer token, a certificate, or the subject token.
    pub material: Material,
    /// As in a credential.
    pub expires_at: Option<SystemTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_without_an_api_is_known_by_its_address_alone() {
        let reference = |name: Option<&str>, address: Option<&str>| ClusterReference {
            name: name.map(Into::into),
            address: address.map(Into::into),
            ca_certificate: None,
        };
        let server = reference(None, Some("https://API.example:443/")).by_address();
        assert_eq!(server.unwrap().to_string(), "https://api.example");
        for (wrong, word) in [
            (reference(None, None), "set address"),
            (reference(Some("prod"), Some("https://a")), "'prod'"),
            (reference(None, Some("http://a")), "http://a"),
        ] {
            let error = wrong.by_address().unwrap_err();
            assert!(error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn a_certificate_authority_is_pem_without_keys() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n";
        let both = format!("{key}{certificate}");
        for (pem, right) in [
            (certificate, true),
            ("", false),
            ("AA==", false),
            ("-----BEGIN CERTIFICATE-----", false),
            (key, false),
            (&both, false),
        ] {
            let reference = ClusterReference {
                ca_certificate: Some(pem.into()),
                ..ClusterReference::default()
            };
            assert_eq!(reference.certificate_authority().is_ok(), right, "{pem}");
        }
        assert_eq!(
            ClusterReference::default().certificate_authority(),
            Ok(None)
        );
    }
}
