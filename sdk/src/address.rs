//! Network addresses that callers write, in their one canonical spelling.

use crate::Error;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Longest name of a host (RFC 1035 §2.3.4, without the root's dot).
const MAX_NAME: usize = 253;

/// Longest label of a name (RFC 1035 §2.3.4).
const MAX_LABEL: usize = 63;

/// The port that `https` URLs leave out.
const HTTPS_PORT: u16 = 443;

/// `HOST[:PORT]`: a name in lower case, an IPv4 address, or an IPv6 address in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `HOST[:PORT]`; `None` if it is anything else. Names are ASCII (a name in another
    /// script is written in its `xn--` form) and do not end in a dot; a name whose last label is
    /// a number must be an IPv4 address in its usual spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = split_port(text)?;
        let host = match host.strip_prefix('[') {
            Some(rest) => format!("[{}]", rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?),
            None => name(host)?,
        };
        Some(Self { host, port })
    }

    /// The host alone; an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, if one is written.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => formatter.write_str(&self.host),
            Some(port) => write!(formatter, "{}:{port}", self.host),
        }
    }
}

/// Splits at the colon of the port; those of an IPv6 address are inside brackets.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => Some((host, Some(parse_port(port)?))),
        _ => Some((text, None)),
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

fn name(text: &str) -> Option<String> {
    let fits = text.len() <= MAX_NAME && text.split('.').all(is_label);
    let numeric = text
        .rsplit('.')
        .next()
        .is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    if !fits || (numeric && text.parse::<Ipv4Addr>().is_err()) {
        return None;
    }
    Some(text.to_ascii_lowercase())
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// `https://HOST[:PORT]`, without user-info, path, query and fragment: the address of an API
/// server or of a token service. The port 443 is left out, so that equal addresses are equal
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsAddress(Authority);

impl HttpsAddress {
    /// Reads the value of `field`. A single slash at the end is no path.
    ///
    /// # Errors
    ///
    /// `invalid-configuration`, naming the field, its value and the rule; a value that may hold a
    /// password or a query is not shown.
    pub fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            let shown = if text.contains(['@', '?', '#']) {
                String::new()
            } else {
                format!(" '{}'", text.escape_debug())
            };
            Error::invalid_configuration(format!(
                "{field}{shown} must be https://HOST[:PORT], without user, path and query"
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let mut authority = Authority::parse(rest.strip_suffix('/').unwrap_or(rest))?;
        authority.port = authority.port.filter(|port| *port != HTTPS_PORT);
        Some(Self(authority))
    }

    /// The host alone; an IPv6 address in brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host()
    }

    /// The port, unless it is 443.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.0.port()
    }
}

impl fmt::Display for HttpsAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_has_one_spelling() {
        for (text, canonical) in [
            ("ghcr.io", "ghcr.io"),
            ("GHCR.io:5000", "ghcr.io:5000"),
            ("localhost", "localhost"),
            ("10.0.0.1:443", "10.0.0.1:443"),
            ("[2001:DB8:0::1]", "[2001:db8::1]"),
            ("[::1]:6443", "[::1]:6443"),
        ] {
            let authority = Authority::parse(text).unwrap();
            assert_eq!(authority.to_string(), canonical, "{text}");
        }
    }

    #[test]
    fn what_is_no_authority_is_refused() {
        let long = format!("{}.example", "a".repeat(64));
        for text in [
            "",
            ":",
            "host:",
            "host:0",
            "host:+80",
            "host:65536",
            "host:80:90",
            "a..b",
            ".a",
            "a.",
            "-a.example",
            "a-.example",
            "a_b",
            "a b",
            "a/b",
            "a@b",
            "é.example",
            "1.2.3",
            "256.1.1.1",
            "010.0.0.1",
            "1.2.3.4.5",
            "[::1",
            "::1",
            "[::1]x",
            "[]",
            "[1.2.3.4]",
            "[fe80::1%25eth0]",
            "a\n",
            &long,
        ] {
            assert_eq!(Authority::parse(text), None, "{text}");
        }
    }

    #[test]
    fn equal_https_addresses_are_equal_values() {
        let address = |text| HttpsAddress::parse("address", text).unwrap();
        let plain = address("https://api.example");
        assert_eq!(plain.to_string(), "https://api.example");
        for text in [
            "https://api.example/",
            "https://API.example:443",
            "HTTPS://api.example:443/",
        ] {
            assert_eq!(address(text), plain, "{text}");
        }
        assert_ne!(address("https://api.example:6443"), plain);
    }

    #[test]
    fn what_is_no_https_address_is_refused_and_no_password_is_shown() {
        for text in [
            "",
            "api.example",
            "http://api.example",
            "https://",
            "https:///",
            "https://a/b",
            "https://a//",
            "https://a?x=y",
            "https://a#x",
            "https://user:hunter2@a",
            "https:/a",
            " https://a",
            "https://a\\b",
            "https://a:0",
        ] {
            let error = HttpsAddress::parse("address", text).unwrap_err();
            assert_eq!(
                error.code(),
                crate::ErrorCode::InvalidConfiguration,
                "{text}"
            );
            assert!(error.message().starts_with("address"), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
    }
}
