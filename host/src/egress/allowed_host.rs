//! Which hosts a request may go to: scheme, host and port, compared label by label.

use crate::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use url::{Host, Url};

/// Addresses at which clouds serve metadata to their own machines, over plain HTTP by design:
/// AWS IMDS and Google's and Azure's metadata, the ECS agent, the EKS Pod Identity agent.
const METADATA: &[&str] = &[
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "[fd00:ec2::254]",
    "[fd00:ec2::23]",
    "metadata.google.internal",
];

/// The one of these that is a name, and the addresses that it stands for: a name that resolved to any
/// other would be somebody's trick
/// (<https://cloud.google.com/compute/docs/metadata/querying-metadata>).
const METADATA_NAME: &str = "metadata.google.internal";
const METADATA_ADDRESSES: &[&str] = &["169.254.169.254", "fd20:ce::254"];

/// Whether this name is one of a metadata service, and this address its own.
pub(crate) fn is_metadata_address(name: &str, address: IpAddr) -> bool {
    name == METADATA_NAME && METADATA_ADDRESSES.contains(&address.to_string().as_str())
}

/// What a wildcard is while the URL parser looks at its host.
const WILDCARD: &str = "wildcard-label";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Label {
    Any,
    Is(String),
}

/// `https://HOST[:PORT]`, where a label of the host may be `*` for exactly one label.
///
/// ```
/// use gatepass::egress::AllowedHost;
///
/// let allowed: AllowedHost = "https://sts.*.amazonaws.com".parse()?;
/// let permits = |url: &str| url.parse().is_ok_and(|url| allowed.permits(&url));
/// assert!(permits("https://sts.eu-central-1.amazonaws.com/"));
/// assert!(!permits("https://sts.eu-central-1.amazonaws.com.evil.example/"));
/// assert!(!permits("http://sts.eu-central-1.amazonaws.com/"));
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowedHost {
    scheme: String,
    labels: Vec<Label>,
    port: u16,
}

impl AllowedHost {
    /// Whether it is an address at which a cloud serves metadata to its own machines.
    #[must_use]
    pub fn is_metadata(&self) -> bool {
        self.scheme == "http"
    }

    /// Whether a URL's scheme, host and port are these. It does not look at the rest of the URL, nor
    /// at the address behind the name.
    #[must_use]
    pub fn permits(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else {
            return false;
        };
        url.scheme() == self.scheme
            && url.port_or_known_default() == Some(self.port)
            && self.permits_labels(&labels(host))
    }

    fn permits_labels(&self, host: &[&str]) -> bool {
        host.len() == self.labels.len()
            && self
                .labels
                .iter()
                .zip(host)
                .all(|(allowed, label)| match allowed {
                    Label::Any => !label.is_empty(),
                    Label::Is(text) => text == label,
                })
    }
}

/// An address is one label, whatever dots it has.
fn labels(host: &str) -> Vec<&str> {
    if host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok() {
        return vec![host];
    }
    host.split('.').collect()
}

impl FromStr for AllowedHost {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |rule: &str| {
            Err(Error::configuration(format!(
                "allowed host '{text}' {rule}"
            )))
        };
        if text.contains(WILDCARD) {
            return refuse("holds the word that stands for '*' in here");
        }
        // A word stands in for the wildcard, which is no part of a URL's host.
        let Ok(url) = Url::parse(&text.replace('*', WILDCARD)) else {
            return refuse("must be https://HOST[:PORT]");
        };
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return refuse("must be https://HOST[:PORT]");
        };
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() || text.ends_with('/') {
            return refuse("must be a scheme, a host and a port, and nothing else");
        }
        let name = host.to_string();
        let metadata = METADATA.contains(&name.as_str());
        match (url.scheme(), &host) {
            ("http", _) if metadata => {}
            ("https", Host::Domain(_)) => {}
            ("https", _) => return refuse("must be a name, not an address"),
            _ => return refuse("must use https; only metadata addresses use http"),
        }
        let labels: Vec<Label> = labels(&name)
            .into_iter()
            .map(|label| match label {
                WILDCARD => Label::Any,
                label => Label::Is(label.to_owned()),
            })
            .collect();
        let spelled = |label: &Label| matches!(label, Label::Is(text) if !text.is_empty() && !text.contains(WILDCARD));
        if !labels
            .iter()
            .all(|label| *label == Label::Any || spelled(label))
        {
            return refuse("may have '*' as a whole label only, and no empty label");
        }
        if labels.contains(&Label::Any) && !labels.iter().rev().take(2).all(spelled) {
            return refuse("must spell out its last two labels");
        }
        Ok(Self {
            scheme: url.scheme().to_owned(),
            labels,
            port,
        })
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://", self.scheme)?;
        for (index, label) in self.labels.iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            match label {
                Label::Any => write!(formatter, "{dot}*")?,
                Label::Is(text) => write!(formatter, "{dot}{text}")?,
            }
        }
        match (self.scheme.as_str(), self.port) {
            ("https", 443) | ("http", 80) => Ok(()),
            (_, port) => write!(formatter, ":{port}"),
        }
    }
}

/// Checks what holds for every URL of a provider, whatever is granted, and parses it.
pub(crate) fn parse_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "the URL does not parse")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL holds user information");
    }
    if url.fragment().is_some() {
        return Err("the URL holds a fragment");
    }
    match url.host() {
        None => Err("the URL holds no host"),
        Some(Host::Domain(name)) if name.ends_with('.') => Err("the host ends in a dot"),
        Some(Host::Domain(_)) => Ok(url),
        Some(address) if METADATA.contains(&address.to_string().as_str()) => Ok(url),
        Some(_) => Err("the host is an address, not a name"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn egress_permits_exactly_scheme_host_and_port() {
        let cases = [
            ("https://a.example", "https://a.example/x?y=1", true),
            ("https://a.example", "https://A.EXAMPLE/", true),
            ("https://a.example", "https://a.example:443/", true),
            ("https://a.example", "https://a.example:444/", false),
            ("https://a.example:444", "https://a.example:444/", true),
            ("https://a.example", "http://a.example/", false),
            ("https://a.example", "https://b.a.example/", false),
            ("https://a.example", "https://a.example.evil.test/", false),
            ("https://a.example", "https://evila.example/", false),
            ("https://*.a.example", "https://x.a.example/", true),
            ("https://*.a.example", "https://x.y.a.example/", false),
            ("https://*.a.example", "https://a.example/", false),
            ("https://sts.*.a.example", "https://sts.r.a.example/", true),
            (
                "https://sts.*.a.example",
                "https://sts.r.s.a.example/",
                false,
            ),
            (
                "http://169.254.169.254",
                "http://169.254.169.254/latest",
                true,
            ),
            ("http://169.254.169.254", "http://0xA9FEA9FE/latest", true),
            ("http://169.254.169.254", "http://169.254.169.253/", false),
            ("http://[fd00:ec2::254]", "http://[fd00:ec2:0::254]/", true),
        ];
        for (allowed, url, expected) in cases {
            let allowed: AllowedHost = allowed.parse().unwrap();
            assert_eq!(
                allowed.permits(&Url::parse(url).unwrap()),
                expected,
                "{allowed} {url}"
            );
        }
    }

    #[test]
    fn egress_refuses_grants_that_say_too_much() {
        let cases = [
            "a.example",
            "http://a.example",
            "https://*",
            "https://*.com",
            "https://a.*.com",
            "https://a.*",
            "https://x*.a.example",
            "https://a..example",
            "https://a.example/",
            "https://a.example/path",
            "https://u@a.example",
            "https://a.example?x",
            "https://127.0.0.1",
            "https://[::1]",
            "http://127.0.0.1",
            "http://169.254.169.253",
            "ftp://a.example",
            "https://wildcard-label.a.example",
            "",
        ];
        for text in cases {
            assert!(text.parse::<AllowedHost>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn egress_refuses_urls_that_hide_their_host() {
        let cases = [
            ("https://a@b.example/", false),
            ("https://a:b@b.example/", false),
            ("https://b.example./", false),
            ("https://127.0.0.1/", false),
            ("https://2130706433/", false),
            ("https://0x7f.1/", false),
            ("https://0177.0.0.1/", false),
            ("https://[::ffff:127.0.0.1]/", false),
            ("https://b.example/#x", false),
            ("/relative", false),
            ("https:///", false),
            ("https://b.example/ok?x=1", true),
            ("http://169.254.169.254/latest", true),
        ];
        for (url, expected) in cases {
            assert_eq!(parse_url(url).is_ok(), expected, "{url}");
        }
    }

    #[test]
    fn the_name_of_a_metadata_service_stands_for_its_own_addresses() {
        for (name, address, expected) in [
            ("metadata.google.internal", "169.254.169.254", true),
            ("metadata.google.internal", "fd20:ce::254", true),
            ("metadata.google.internal", "169.254.169.253", false),
            ("metadata.google.internal", "10.0.0.1", false),
            ("a.example", "169.254.169.254", false),
        ] {
            let permitted = is_metadata_address(name, address.parse().unwrap());
            assert_eq!(permitted, expected, "{name} {address}");
        }
    }

    #[test]
    fn an_allowed_host_reads_back_what_it_shows() {
        for text in [
            "https://a.example",
            "https://*.x.a.example:8443",
            "http://169.254.170.2",
        ] {
            let allowed: AllowedHost = text.parse().unwrap();
            assert_eq!(allowed.to_string(), text);
        }
    }
}
