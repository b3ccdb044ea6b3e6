//! Remote clusters: as the caller knows them, and what a client needs.

use crate::{Error, Material};
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
