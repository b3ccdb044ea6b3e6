//! Universes: the domains under which Google's APIs are served, and the hosts in them.

use gatepass_sdk::{Error, HttpsAddress};

/// The universe of the public cloud, and the default.
const PUBLIC: &str = "googleapis.com";

/// The universe of S3NS (<https://documentation.s3ns.fr>).
pub(crate) const S3NS: &str = "s3nsapis.fr";

/// Universes that this provider wishes to reach. A wish spells out the last two labels of a host,
/// so that a further universe is a further line here. The third is Google Cloud Dedicated's in
/// Germany, whose services are named as in `compute.apis-berlin-build0.goog`.
const KNOWN: [&str; 3] = [PUBLIC, S3NS, "apis-berlin-build0.goog"];

/// Longest domain that is read: leaves room for the labels of a service within the 253 of
/// RFC 1035 §2.3.4.
const MAX_DOMAIN: usize = 150;

/// Longest label of a host name (RFC 1035 §2.3.4).
const MAX_LABEL: usize = 63;

/// A service that this provider calls in any universe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The token service.
    Sts,
    /// IAM Service Account Credentials.
    IamCredentials,
    /// Kubernetes Engine.
    Container,
}

impl Service {
    const ALL: [Self; 3] = [Self::Sts, Self::IamCredentials, Self::Container];

    fn label(self) -> &'static str {
        match self {
            Self::Sts => "sts",
            Self::IamCredentials => "iamcredentials",
            Self::Container => "container",
        }
    }
}

/// The domain of a universe: labels of a host name, at least two, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Universe(String);

impl Default for Universe {
    fn default() -> Self {
        Self(PUBLIC.into())
    }
}

impl Universe {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be a domain in lower case without scheme and port, {PUBLIC} say",
                text.escape_debug()
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let (_, last) = text.rsplit_once('.')?;
        let fits = text.len() <= MAX_DOMAIN
            && text.split('.').all(is_label)
            && last.starts_with(|first: char| first.is_ascii_lowercase());
        fits.then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is that of the public cloud.
    pub(crate) fn is_public(&self) -> bool {
        self.0 == PUBLIC
    }

    /// The host of a service.
    pub(crate) fn host(&self, service: Service) -> String {
        format!("{}.{}", service.label(), self.0)
    }

    /// The token service's host: in `region`, or `endpoint` in place of the usual one.
    ///
    /// An `endpoint` is one of the token service's own hosts, so that a token goes nowhere else,
    /// whatever the operator grants; and of the request's region, if it names one.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and what it may be.
    pub(crate) fn sts_host(
        &self,
        region: Option<&str>,
        endpoint: Option<&str>,
    ) -> Result<String, Error> {
        let regional = region.map(|region| self.regional_sts(region)).transpose()?;
        let Some(endpoint) = endpoint else {
            return Ok(regional.unwrap_or_else(|| self.host(Service::Sts)));
        };
        let address = HttpsAddress::parse("endpoint", endpoint)?;
        let host = address.host();
        let fits = match &regional {
            Some(regional) => host == regional,
            None => self.is_sts_host(host),
        };
        if fits && address.port().is_none() {
            return Ok(host.into());
        }
        let usual = regional.unwrap_or_else(|| self.host(Service::Sts));
        Err(Error::invalid_configuration(format!(
            "endpoint '{address}' is not the token service of universe {self}, or of another region than the request: remove it, or use https://{usual}"
        )))
    }

    fn regional_sts(&self, region: &str) -> Result<String, Error> {
        if is_label(region) {
            return Ok(format!("sts.{region}.rep.{self}"));
        }
        Err(Error::invalid_configuration(format!(
            "region '{}' is not the name of a Google region: write it as in europe-west1, or remove it to use the global token service",
            region.escape_debug()
        )))
    }

    /// Whether a host is the token service's: the global one, the one for mutual TLS, or that of
    /// a region (the discovery document of the API lists them).
    pub(crate) fn is_sts_host(&self, host: &str) -> bool {
        let Some(rest) = host.strip_suffix(&self.0) else {
            return false;
        };
        let regional = |rest: &str| {
            rest.strip_prefix("sts.")
                .and_then(|rest| rest.strip_suffix(".rep."))
                .is_some_and(is_label)
        };
        matches!(rest, "sts." | "sts.mtls.") || regional(rest)
    }
}

impl std::fmt::Display for Universe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_label(text: &str) -> bool {
    (1..=MAX_LABEL).contains(&text.len())
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Patterns for the hosts of every service in every universe that is known.
pub(crate) fn wishes() -> Vec<String> {
    let in_universe = |domain: &str| {
        let services = Service::ALL.map(|service| format!("https://{}.{domain}", service.label()));
        let sts = [
            format!("https://sts.mtls.{domain}"),
            format!("https://sts.*.rep.{domain}"),
        ];
        services.into_iter().chain(sts)
    };
    KNOWN.into_iter().flat_map(in_universe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_universe_is_a_domain() {
        for text in [PUBLIC, S3NS, "apis-berlin-build0.goog", "a.b.c"] {
            let universe = Universe::parse("universe-domain", text).unwrap();
            assert_eq!(universe.host(Service::Sts), format!("sts.{text}"));
        }
        let long = format!("{}.example", "a.".repeat(80));
        for text in [
            "",
            "googleapis",
            ".googleapis.com",
            "googleapis.com.",
            "googleapis..com",
            "GoogleApis.com",
            "https://googleapis.com",
            "googleapis.com:443",
            "googleapis.com/x",
            "evil.example@googleapis.com",
            "-a.com",
            "a-.com",
            "a_b.com",
            "1.2.3.4",
            "[::1]",
            "*.com",
            "é.com",
            "a.com\n",
            &long,
        ] {
            let error = Universe::parse("universe-domain", text).unwrap_err();
            assert!(error.message().starts_with("universe-domain '"), "{error}");
        }
    }

    #[test]
    fn region_and_endpoint_choose_a_host_of_the_token_service() {
        let regional = "https://sts.europe-west1.rep.googleapis.com";
        for (region, endpoint, host) in [
            (None, None, "sts.googleapis.com"),
            (Some("us-east4"), None, "sts.us-east4.rep.googleapis.com"),
            (
                None,
                Some("https://sts.googleapis.com/"),
                "sts.googleapis.com",
            ),
            (
                None,
                Some("https://STS.googleapis.com:443"),
                "sts.googleapis.com",
            ),
            (
                None,
                Some("https://sts.mtls.googleapis.com"),
                "sts.mtls.googleapis.com",
            ),
            (None, Some(regional), "sts.europe-west1.rep.googleapis.com"),
            (
                Some("europe-west1"),
                Some(regional),
                "sts.europe-west1.rep.googleapis.com",
            ),
        ] {
            let chosen = Universe::default().sts_host(region, endpoint);
            assert_eq!(chosen.as_deref(), Ok(host), "{region:?} {endpoint:?}");
        }
        let s3ns = Universe::parse("universe-domain", S3NS).unwrap();
        assert_eq!(s3ns.sts_host(None, None).unwrap(), "sts.s3nsapis.fr");
        assert!(
            s3ns.sts_host(None, Some("https://sts.googleapis.com"))
                .is_err()
        );
    }

    #[test]
    fn another_host_is_no_endpoint() {
        for (region, endpoint) in [
            (None, "https://sts.googleapis.com.evil.example"),
            (None, "https://evil.example"),
            (None, "https://evilsts.googleapis.com"),
            (None, "https://x.sts.googleapis.com"),
            (None, "https://sts.x.googleapis.com"),
            (None, "https://sts.a.b.rep.googleapis.com"),
            (None, "https://sts..rep.googleapis.com"),
            (None, "https://iamcredentials.googleapis.com"),
            (None, "https://sts.googleapis.com:8443"),
            (None, "https://sts.googleapis.com/v1/token"),
            (None, "https://user@sts.googleapis.com"),
            (None, "http://sts.googleapis.com"),
            (Some("us-east4"), "https://sts.googleapis.com"),
            (
                Some("us-east4"),
                "https://sts.europe-west1.rep.googleapis.com",
            ),
        ] {
            let error = Universe::default().sts_host(region, Some(endpoint));
            let error = error.unwrap_err();
            assert!(error.message().starts_with("endpoint"), "{error}");
        }
        for region in ["", "a.b", "US", "a/b", "-a", "a\n"] {
            let error = Universe::default().sts_host(Some(region), None);
            assert!(error.unwrap_err().message().starts_with("region '"));
        }
    }

    #[test]
    fn every_host_of_a_known_universe_is_wished_for() {
        let wishes = wishes();
        for host in [
            "https://sts.googleapis.com",
            "https://sts.*.rep.googleapis.com",
            "https://sts.mtls.googleapis.com",
            "https://iamcredentials.s3nsapis.fr",
            "https://container.apis-berlin-build0.goog",
        ] {
            assert!(wishes.iter().any(|wish| wish == host), "{host}");
        }
        assert_eq!(wishes.len(), 15);
    }
}
