//! Where a host's connections go instead, as `curl --connect-to` has it.

use crate::error::Error;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A table from `HOST:PORT` to the address that is dialled for it. TLS still demands the host's own
/// certificate. A rule is the operator's word, so that its address needs no further grant.
///
/// `*:PORT` is every host at that port for which there is no rule of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectTo {
    rules: BTreeMap<(String, u16), SocketAddr>,
}

impl ConnectTo {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// `Configuration`: a rule is not `HOST:PORT` to `ADDRESS:PORT`.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut table = BTreeMap::new();
        for (from, to) in rules {
            let refuse = || {
                Error::configuration(format!(
                    "connect-to '{from}: {to}' must be HOST:PORT to ADDRESS:PORT"
                ))
            };
            let (host, port) = from.rsplit_once(':').ok_or_else(refuse)?;
            let port: u16 = port.parse().map_err(|_| refuse())?;
            let address: SocketAddr = to.parse().map_err(|_| refuse())?;
            if host.is_empty() {
                return Err(refuse());
            }
            table.insert((host.to_ascii_lowercase(), port), address);
        }
        Ok(Self { rules: table })
    }

    /// The address to dial for this host, if there is a rule.
    #[must_use]
    pub fn address(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let rule = |host: &str| self.rules.get(&(host.to_owned(), port)).copied();
        rule(host).or_else(|| rule("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_the_host_goes_before_the_rule_of_all() {
        let rules = [("sts.example:443", "127.0.0.1:1"), ("*:443", "127.0.0.1:2")];
        let table = ConnectTo::new(rules).unwrap();
        assert_eq!(
            table.address("sts.example", 443),
            "127.0.0.1:1".parse().ok()
        );
        assert_eq!(
            table.address("ecr.example", 443),
            "127.0.0.1:2".parse().ok()
        );
        assert_eq!(table.address("sts.example", 8443), None);
    }

    #[test]
    fn broken_rules_are_refused() {
        for rule in [
            ("a", "127.0.0.1:1"),
            ("a:x", "127.0.0.1:1"),
            ("a:1", "b:1"),
            (":1", "127.0.0.1:1"),
            ("a:1", "127.0.0.1"),
        ] {
            assert!(ConnectTo::new([rule]).is_err(), "{rule:?}");
        }
    }
}
