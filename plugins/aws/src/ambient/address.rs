//! Addresses of metadata services, as environment variables hold them.

use gatepass_sdk::Authority;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The port that `http` URLs leave out.
const HTTP_PORT: u16 = 80;

/// `http[s]://HOST[:PORT][/PATH][?QUERY]`, with its host in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    is_https: bool,
    authority: Authority,
    /// Path and query; empty, or with a slash first.
    rest: String,
}

impl Address {
    /// Reads an address; `None` if it is none, or holds a user, a fragment or white space.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end)?;
        let rest = match rest.starts_with('?') {
            true => format!("/{rest}"),
            false => rest.into(),
        };
        is_path(&rest).then_some(())?;
        Some(Self {
            is_https,
            authority: Authority::parse(authority)?,
            rest,
        })
    }

    pub(super) fn is_https(&self) -> bool {
        self.is_https
    }

    /// Path and query.
    pub(super) fn rest(&self) -> &str {
        &self.rest
    }

    /// Whether it is one of these hosts, on the usual port.
    pub(super) fn is_one_of(&self, hosts: &[&str]) -> bool {
        let usual = self.authority.port().is_none_or(|port| port == HTTP_PORT);
        usual && hosts.contains(&self.authority.host())
    }

    /// Whether it is the machine itself, by any address or by name.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.authority.host();
        let v6 = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        host == "localhost"
            || host.parse().is_ok_and(|v4: Ipv4Addr| v4.is_loopback())
            || v6.is_some_and(|v6| v6.parse().is_ok_and(|v6: Ipv6Addr| v6.is_loopback()))
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }
}

/// Whether a text is a path and a query as they stand in a request, or nothing.
pub(super) fn is_path(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"#\\\"<>^`{|}".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for (text, origin, rest) in [
            (
                "http://169.254.170.23/v1/credentials",
                "http://169.254.170.23",
                "/v1/credentials",
            ),
            ("HTTP://[FD00:EC2:0::23]/v1", "http://[fd00:ec2::23]", "/v1"),
            (
                "https://Keys.Example:8443/a?b=c",
                "https://keys.example:8443",
                "/a?b=c",
            ),
            ("http://localhost:80?x", "http://localhost:80", "/?x"),
            ("http://169.254.169.254", "http://169.254.169.254", ""),
        ] {
            let address = Address::read(text).unwrap();
            assert_eq!((address.origin().as_str(), address.rest()), (origin, rest));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "169.254.170.23/v1",
            "ftp://169.254.170.23/",
            "http://",
            "http:///v1",
            "http://user@169.254.170.23/",
            "http://169.254.170.23/#x",
            "http://169.254.170.23/a b",
            "http://169.254.170.23/a\r\nb",
            "http://169.254.170.23\\@evil.example/",
            "http://0xa9.254.170.23/",
            "http://2852039191/",
            "http://169.254.170.23.",
        ] {
            assert_eq!(Address::read(text), None, "{text}");
        }
    }

    #[test]
    fn the_machine_itself_has_many_names() {
        for (text, expected) in [
            ("http://127.0.0.1/", true),
            ("http://127.255.0.3:8080/", true),
            ("http://[::1]/", true),
            ("http://localhost/", true),
            ("http://localhost.example/", false),
            ("http://127.0.0.1.example/", false),
            ("http://10.0.0.1/", false),
            ("http://[::2]/", false),
        ] {
            assert_eq!(
                Address::read(text).unwrap().is_loopback(),
                expected,
                "{text}"
            );
        }
    }
}
