//! How requests travel: through which proxy, and which authorities are trusted on the way.

use crate::error::Error;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// The longest proxy URL, and the most PEM: the bundle of a public root programme is 220 KiB.
const MAX_PROXY: usize = 2048;
const MAX_CA: usize = 256 << 10;

/// An HTTP proxy for the requests of a provider. `Debug` and `Display` hide its password.
///
/// ```
/// let proxy: gatepass::ProxyUrl = "http://user:hunter2@proxy.example:3128".parse()?;
/// assert_eq!(proxy.to_string(), "http://[secret]@proxy.example:3128");
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProxyUrl(Url);

impl ProxyUrl {
    /// The URL with its password.
    #[must_use]
    pub fn expose(&self) -> &Url {
        &self.0
    }
}

impl FromStr for ProxyUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // The text may hold a password, so that no message quotes it.
        if text.len() > MAX_PROXY {
            return Err(Error::configuration(format!(
                "the proxy is longer than {MAX_PROXY}"
            )));
        }
        let url = Url::parse(text)
            .map_err(|error| Error::configuration("the proxy is not a URL").because(error))?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(Error::configuration(
                "the proxy must be http://HOST[:PORT] or https://HOST[:PORT]",
            ));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ProxyUrl {
    /// Scheme, host and port: user and password may both be secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = !self.0.username().is_empty() || self.0.password().is_some();
        let origin = self.0.origin().ascii_serialization();
        match (hidden, origin.split_once("://")) {
            (true, Some((scheme, host))) => write!(formatter, "{scheme}://[secret]@{host}"),
            _ => formatter.write_str(&origin),
        }
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Certificate authorities in PEM, parsed: at least one certificate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CaBundle {
    pem: String,
    certificates: Vec<Vec<u8>>,
}

impl CaBundle {
    /// The PEM text as it was given.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificates in DER.
    #[must_use]
    pub fn certificates(&self) -> &[Vec<u8>] {
        &self.certificates
    }
}

impl FromStr for CaBundle {
    type Err = Error;

    fn from_str(pem: &str) -> Result<Self, Error> {
        if pem.len() > MAX_CA {
            return Err(Error::configuration(format!(
                "certificate authorities of {} bytes are more than {MAX_CA}",
                pem.len()
            )));
        }
        let mut certificates = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            let certificate = certificate
                .map_err(|_| Error::configuration("the certificate authority is not PEM"))?;
            check_authority(certificates.len() + 1, &certificate)?;
            certificates.push(certificate.to_vec());
        }
        if certificates.is_empty() {
            return Err(Error::configuration(
                "the certificate authority holds no '-----BEGIN CERTIFICATE-----' block",
            ));
        }
        Ok(Self {
            pem: pem.to_owned(),
            certificates,
        })
    }
}

/// A block that is no certificate would be found out by the first connection, as a fault of the network.
fn check_authority(number: usize, certificate: &CertificateDer<'_>) -> Result<(), Error> {
    match webpki::anchor_from_trusted_cert(certificate) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::configuration(format!(
            "block {number} of the certificate authority is no X.509 certificate"
        ))
        .because(error)),
    }
}

impl fmt::Debug for CaBundle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{} certificates]", self.certificates.len())
    }
}

/// How requests of a provider travel. Providers do not see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transport {
    /// Through this proxy; `None`: directly.
    pub proxy: Option<ProxyUrl>,
    /// Trusting these authorities beside those of the host.
    pub ca: Option<CaBundle>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const AUTHORITY: &str = include_str!("../testdata/authority.pem");

    fn pem(der: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n")
    }

    #[test]
    fn authorities_are_certificates_and_nothing_else() {
        // A certificate that is cut off: the first bytes of the good one.
        let cut: String = AUTHORITY.lines().skip(1).take(3).collect();
        for (text, expected) in [
            (AUTHORITY.to_owned(), Ok(1)),
            (AUTHORITY.repeat(2), Ok(2)),
            (format!("# of the cluster\n{AUTHORITY}"), Ok(1)),
            (String::new(), Err("holds no")),
            ("nonsense".into(), Err("holds no")),
            (pem("AAAA"), Err("block 1 ")),
            (pem(""), Err("block 1 ")),
            (pem(&cut), Err("block 1 ")),
            (format!("{AUTHORITY}{}", pem("AAAA")), Err("block 2 ")),
            (pem("!"), Err("not PEM")),
            ("x".repeat(MAX_CA + 1), Err("more than 262144")),
        ] {
            match (text.parse::<CaBundle>(), expected) {
                (Ok(bundle), Ok(count)) => assert_eq!(bundle.certificates().len(), count, "{text}"),
                (Err(error), Err(words)) => {
                    assert_eq!(error.kind(), ErrorKind::Configuration, "{text}");
                    assert!(error.to_string().contains(words), "{error} lacks {words}");
                }
                (parsed, _) => panic!("{text} is {parsed:?}"),
            }
        }
    }
}
