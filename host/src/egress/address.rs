//! Which addresses may be dialled: a permitted name can resolve to any address at all, and an
//! attacker who owns a name makes it resolve to the machine's own network.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address may be dialled: it is of the public internet, or lies in a network that the
/// operator granted.
#[must_use]
pub fn permits(address: IpAddr, granted: &[IpNet]) -> bool {
    let address = unwrap(address);
    is_public(address) || granted.iter().any(|network| network.contains(&address))
}

/// IPv4 in IPv6 is judged as the IPv4 that is reached: mapped and compatible (RFC 4291 §2.5.5),
/// NAT64 (RFC 6052 §2.1), 6to4 (RFC 3056 §2).
fn unwrap(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(high, low),
        // The unspecified and the loopback address have this form too, and are neither.
        (0, 0, 0, 0, 0, 0) if high != 0 => v4(high, low),
        (0x2002, ..) => v4(b, c),
        _ => address,
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

/// Of the IANA special-purpose registry (RFC 6890), all that is not globally reachable; and the
/// host address of Azure's platform, which serves metadata and is reachable from within alone.
fn is_public_v4(v4: Ipv4Addr) -> bool {
    let special = matches!(
        v4.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [168, 63, 129, 16]
    );
    !special
}

/// Global unicast (2000::/3) without documentation, benchmarking and Teredo (RFC 4380), which carries
/// IPv4 in a form that a router rewrites.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    let global = (0x2000..=0x3fff).contains(&a);
    let special = matches!((a, b), (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff));
    global && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn egress_dials_public_addresses_alone() {
        let cases = [
            ("8.8.8.8", true),
            ("52.95.110.1", true),
            ("0.0.0.0", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("168.63.129.16", false),
            ("169.254.169.254", false),
            ("169.254.170.2", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.0.0.192", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::10.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b::808:808", true),
            ("64:ff9b:1::1", false),
            ("2002:7f00:1::", false),
            ("2002:a00:1::", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2606:4700::1111", true),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ];
        for (address, expected) in cases {
            assert_eq!(
                permits(address.parse().unwrap(), &[]),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn egress_dials_what_the_operator_granted() {
        let granted = ["10.1.0.0/16".parse().unwrap()];
        assert!(permits("10.1.2.3".parse().unwrap(), &granted));
        assert!(permits("::ffff:10.1.2.3".parse().unwrap(), &granted));
        assert!(!permits("10.2.0.1".parse().unwrap(), &granted));
    }
}
