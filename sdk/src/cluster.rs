//! Remote clusters: as the caller knows them, and what a client needs.

use crate::{Credential, Error, HttpsAddress, Material};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
        self.server_address()?.ok_or_else(|| {
            Error::invalid_configuration(
                "this provider needs the address of the cluster's API server: set address",
            )
        })
    }

    /// The address as the caller wrote it, for a provider of [`by_address`](Self::by_address): the
    /// default audience of a token for the server, which compares audiences byte by byte.
    ///
    /// # Errors
    ///
    /// As [`by_address`](Self::by_address).
    pub fn written_address(&self) -> Result<&str, Error> {
        self.by_address()?;
        Ok(self.address.as_deref().unwrap_or_default())
    }

    /// What a client needs of the cluster at [`by_address`](Self::by_address), which takes the one
    /// credential of `access` as it is. `require` refuses one that is not of the provider's
    /// exchange.
    ///
    /// ```
    /// use gatepass_sdk::{ClusterReference, Credential, Material};
    ///
    /// let reference = ClusterReference {
    ///     address: Some("https://api.example:443/".into()),
    ///     ..Default::default()
    /// };
    /// assert_eq!(reference.written_address(), Ok("https://api.example:443/"));
    /// let client = reference.client(&[Credential::subject_token()], |_| Ok(()))?;
    /// assert_eq!(client.server, "https://api.example");
    /// assert_eq!(client.material, Material::SubjectToken);
    /// # Ok::<(), gatepass_sdk::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`by_address`](Self::by_address); `internal` unless there is one credential; what
    /// `require` answers.
    pub fn client(
        &self,
        access: &[Credential],
        require: impl FnOnce(&Credential) -> Result<(), Error>,
    ) -> Result<ClusterAccess, Error> {
        let server = self.by_address()?;
        let [access] = access else {
            return Err(Error::internal("a cluster needs one credential"));
        };
        require(access)?;
        // When the subject token expires, the host knows, which put it there.
        let expires_at = match access.material {
            Material::SubjectToken => None,
            _ => access.expires_at,
        };
        Ok(ClusterAccess {
            server: server.to_string(),
            ca_certificate: self.ca_certificate.clone(),
            material: access.material.clone(),
            expires_at,
        })
    }

    /// How a cluster is found, for a provider that looks it up by its name: by the name, alone or
    /// with one of address and certificate authority; or not at all, with both of these and no
    /// name (RFC-0010 of Flux). `read` parses the name.
    ///
    /// ```
    /// use gatepass_sdk::{ClusterAdvice, ClusterLookup, ClusterReference};
    ///
    /// const ADVICE: ClusterAdvice = ClusterAdvice {
    ///     too_many: "remove one of the three",
    ///     too_few: "set name",
    /// };
    ///
    /// let reference = ClusterReference { name: Some("prod".into()), ..Default::default() };
    /// let cluster = reference.lookup(ADVICE, |name| Ok(name.to_owned()));
    /// assert!(matches!(cluster, Ok(ClusterLookup::Named { name, .. }) if name == "prod"));
    /// ```
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if a part is wrong, missing or too much.
    pub fn lookup<N>(
        &self,
        advice: ClusterAdvice,
        read: impl FnOnce(&str) -> Result<N, Error>,
    ) -> Result<ClusterLookup<N>, Error> {
        let address = self.server_address()?;
        let certificate_authority = self.certificate_authority()?.map(str::to_owned);
        match (self.name.as_deref(), address, certificate_authority) {
            (Some(_), Some(_), Some(_)) => Err(Error::invalid_configuration(advice.too_many)),
            (Some(name), address, certificate_authority) => Ok(ClusterLookup::Named {
                name: read(name)?,
                address,
                certificate_authority,
            }),
            (None, Some(address), Some(certificate_authority)) => Ok(ClusterLookup::Known {
                address,
                certificate_authority,
            }),
            (None, ..) => Err(Error::invalid_configuration(advice.too_few)),
        }
    }

    /// The address of the API server, if one is given.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if it is no `https://HOST[:PORT]`.
    pub fn server_address(&self) -> Result<Option<HttpsAddress>, Error> {
        let address = self.address.as_deref();
        address
            .map(|address| HttpsAddress::parse("address", address))
            .transpose()
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

/// A cluster that can be looked up by a name of type `N`; see [`ClusterReference::lookup`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterLookup<N> {
    /// What is missing is to be looked up by the name; one of the others may be given.
    Named {
        /// What finds the cluster in the cloud's API.
        name: N,
        /// Of the API server.
        address: Option<HttpsAddress>,
        /// PEM.
        certificate_authority: Option<String>,
    },
    /// Nothing is to be looked up.
    Known {
        /// Of the API server.
        address: HttpsAddress,
        /// PEM.
        certificate_authority: String,
    },
}

/// What to change in a reference that cannot be looked up, in the words of the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterAdvice {
    /// Name, address and certificate authority are there: nothing is left for the name to find.
    pub too_many: &'static str,
    /// There is no name, and not both of the others.
    pub too_few: &'static str,
}

/// A certificate authority in the base64 of PEM, as the clouds' APIs and kubeconfigs have it;
/// `None` if it is anything else.
///
/// ```
/// let data = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
/// let pem = gatepass_sdk::certificate_of_base64(data).unwrap();
/// assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"));
/// assert_eq!(gatepass_sdk::certificate_of_base64("AAAA"), None);
/// ```
#[must_use]
pub fn certificate_of_base64(data: &str) -> Option<String> {
    let pem = String::from_utf8(STANDARD.decode(data).ok()?).ok()?;
    is_certificate(&pem).then_some(pem)
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

    const PEM: &str = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

    fn given(
        name: Option<&str>,
        address: Option<&str>,
        authority: Option<&str>,
    ) -> ClusterReference {
        ClusterReference {
            name: name.map(Into::into),
            address: address.map(Into::into),
            ca_certificate: authority.map(Into::into),
        }
    }

    #[test]
    fn a_client_by_address_takes_the_credential_as_it_is() {
        let reference = given(None, Some("https://A:443/"), Some(PEM));
        assert_eq!(reference.written_address(), Ok("https://A:443/"));
        let expiry = SystemTime::UNIX_EPOCH;
        let bearer = Credential::bearer("t", expiry);
        // The host lends the subject token with the time at which it expires.
        let lent = Credential::new(Material::SubjectToken, expiry);
        for (access, expires_at) in [
            (bearer, Some(expiry)),
            (lent, None),
            (Credential::subject_token(), None),
        ] {
            let expected = ClusterAccess {
                server: "https://a".into(),
                ca_certificate: Some(PEM.into()),
                material: access.material.clone(),
                expires_at,
            };
            let client = reference.client(&[access], |_| Ok(()));
            assert_eq!(client, Ok(expected));
        }
    }

    #[test]
    fn a_client_by_address_needs_one_credential_that_the_provider_knows() {
        let reference = given(None, Some("https://a"), None);
        let token = Credential::subject_token();
        for access in [&[][..], &[token.clone(), token.clone()]] {
            let error = reference.client(access, |_| Ok(())).unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::Internal);
        }
        let access = [token];
        let refused = Err(Error::internal("another's"));
        let require = |_: &Credential| Err(Error::internal("another's"));
        assert_eq!(reference.client(&access, require), refused);
        for wrong in [
            given(None, None, None),
            given(Some("prod"), Some("https://a"), None),
            given(None, Some("http://a"), None),
            given(None, Some("https://a"), Some("AA==")),
        ] {
            let error = wrong.client(&access, |_| Ok(())).unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::InvalidConfiguration);
            assert_eq!(wrong.written_address(), Err(error));
        }
    }

    #[test]
    fn a_name_is_of_use_unless_the_rest_is_there() {
        let (name, address, authority) = (Some("prod"), Some("https://A:443/"), Some(PEM));
        let server = HttpsAddress::parse("address", "https://a").unwrap();
        let named = |address: Option<&HttpsAddress>, authority: Option<&str>| {
            Ok(ClusterLookup::Named {
                name: 4,
                address: address.cloned(),
                certificate_authority: authority.map(Into::into),
            })
        };
        let known = Ok(ClusterLookup::Known {
            address: server.clone(),
            certificate_authority: PEM.into(),
        });
        let refused = |message: &str| Err(Error::invalid_configuration(message));
        for (reference, expected) in [
            (given(name, None, None), named(None, None)),
            (given(name, address, None), named(Some(&server), None)),
            (given(name, None, authority), named(None, authority)),
            (given(name, address, authority), refused("too many")),
            (given(None, address, authority), known),
            (given(None, address, None), refused("too few")),
            (given(None, None, authority), refused("too few")),
            (given(None, None, None), refused("too few")),
            (given(Some(""), None, None), refused("empty")),
        ] {
            assert_eq!(reference.lookup(ADVICE, length), expected, "{reference:?}");
        }
    }

    const ADVICE: ClusterAdvice = ClusterAdvice {
        too_many: "too many",
        too_few: "too few",
    };

    fn length(name: &str) -> Result<usize, Error> {
        match name.len() {
            0 => Err(Error::invalid_configuration("empty")),
            length => Ok(length),
        }
    }

    #[test]
    fn a_wrong_part_is_told_before_a_missing_one() {
        for (reference, word) in [
            (given(None, Some("http://a"), None), "http://a"),
            (given(None, None, Some("AA==")), "PEM"),
            (given(Some("prod"), Some(""), Some(PEM)), "address ''"),
            (given(Some("prod"), Some("https://a"), Some("")), "PEM"),
        ] {
            let error = reference.lookup(ADVICE, length).unwrap_err();
            assert_eq!(error.code(), crate::ErrorCode::InvalidConfiguration);
            assert!(error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn a_certificate_in_base64_is_pem_without_keys() {
        let encoded = STANDARD.encode(PEM);
        assert_eq!(certificate_of_base64(&encoded).as_deref(), Some(PEM));
        let key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n";
        for data in [
            "",
            PEM,
            "AA==",
            "AA",
            "////",
            &format!("{encoded}\n"),
            encoded.trim_end_matches('='),
            &STANDARD.encode(format!("{PEM}{key}")),
        ] {
            assert_eq!(certificate_of_base64(data), None, "{data}");
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
