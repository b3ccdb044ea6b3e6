//! The table is what AWS's endpoint rule sets evaluate to, one row for each service and region.

use super::*;

const TABLE: &str = include_str!("../../tests/endpoints.csv");

fn region(name: &str) -> Region {
    Region::parse("region", name).unwrap()
}

fn service(name: &str) -> Service {
    match name {
        "sts" => Service::Sts,
        "ecr" => Service::Ecr,
        "ecr-public" => Service::EcrPublic,
        "eks" => Service::Eks,
        other => panic!("no service {other}"),
    }
}

#[test]
fn every_row_of_the_endpoint_table_agrees() {
    let mut checked = 0;
    for row in TABLE.lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let expected = &columns[2..6];
        let computed: Vec<String> = variants()
            .map(|variant| service(columns[0]).host(&region(columns[1]), variant))
            .collect();
        assert_eq!(computed, expected, "{row}");
        checked += expected.len();
    }
    assert_eq!(checked, 28 * 4);
}

/// The host's rule: a `*` is exactly one label.
fn covers(pattern: &str, host: &str) -> bool {
    let pattern: Vec<&str> = pattern
        .strip_prefix("https://")
        .unwrap()
        .split('.')
        .collect();
    let labels: Vec<&str> = host.split('.').collect();
    pattern.len() == labels.len()
        && pattern
            .iter()
            .zip(labels)
            .all(|(pattern, label)| *pattern == "*" || *pattern == label)
}

fn is_wished(host: &str) -> bool {
    wishes().iter().any(|pattern| covers(pattern, host))
}

const REGIONS: [&str; 9] = [
    "us-east-1",
    "moon-north-1",
    "cn-north-1",
    "us-gov-west-1",
    "us-iso-east-1",
    "us-isob-east-1",
    "eu-isoe-west-1",
    "us-isof-south-1",
    "eusc-de-east-1",
];

#[test]
fn every_host_that_can_be_called_is_wished_for() {
    for name in REGIONS {
        for variant in variants() {
            for service in [Service::Sts, Service::Ecr, Service::Eks] {
                let host = service.host(&region(name), variant);
                assert!(is_wished(&host), "{host}");
            }
        }
    }
    for variant in variants() {
        let host = Service::EcrPublic.host(&region(PUBLIC_REGION), variant);
        assert!(is_wished(&host), "{host}");
    }
    assert!(!is_wished("sts.us-east-1.amazonaws.com.example"));
    assert!(!is_wished("s3.us-east-1.amazonaws.com"));
}

#[test]
fn a_wildcard_stands_for_a_region_or_an_endpoint_id_alone() {
    for wish in wishes() {
        let stars = wish.matches('*').count();
        assert!(stars <= 1 || wish.contains(".vpce."), "{wish}");
    }
}

#[test]
fn an_endpoint_of_the_regions_own_token_service_is_used_and_wished_for() {
    for (name, endpoint) in [
        ("us-east-1", "https://sts.us-east-1.amazonaws.com"),
        ("us-east-1", "https://sts.us-east-1.amazonaws.com/"),
        ("us-east-1", "https://STS.us-east-1.amazonaws.com:443"),
        ("us-east-1", "https://sts-fips.us-east-1.amazonaws.com"),
        ("us-east-1", "https://sts.us-east-1.api.aws"),
        ("eu-west-1", "https://sts.amazonaws.com"),
        ("us-gov-west-1", "https://sts-fips.us-gov-west-1.api.aws"),
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn"),
        (
            "cn-north-1",
            "https://sts.cn-north-1.api.amazonwebservices.com.cn",
        ),
        ("eusc-de-east-1", "https://sts.eusc-de-east-1.amazonaws.eu"),
        ("us-iso-east-1", "https://sts.us-iso-east-1.c2s.ic.gov"),
        (
            "us-east-1",
            "https://vpce-0a1b-2c3d.sts.us-east-1.vpce.amazonaws.com",
        ),
        (
            "us-east-1",
            "https://vpce-0a1b-2c3d-us-east-1a.sts-fips.us-east-1.vpce.amazonaws.com",
        ),
        (
            "cn-north-1",
            "https://vpce-0a1b.sts.cn-north-1.vpce.amazonaws.com.cn",
        ),
    ] {
        let host = sts_host(&region(name), Variant::default(), Some(endpoint)).unwrap();
        assert!(is_wished(&host), "{endpoint}");
        assert!(!host.contains(['/', ':']), "{host}");
    }
}

#[test]
fn an_endpoint_that_is_not_the_regions_token_service_is_refused() {
    for endpoint in [
        "",
        "sts.us-east-1.amazonaws.com",
        "http://sts.us-east-1.amazonaws.com",
        "https://sts.us-east-1.amazonaws.com:8443",
        "https://sts.us-east-1.amazonaws.com/path",
        "https://sts.us-east-1.amazonaws.com//",
        "https://sts.us-east-1.amazonaws.com?x",
        "https://user@sts.us-east-1.amazonaws.com",
        "https://sts.us-east-1.amazonaws.com.",
        "https://sts.us-east-1.amazonaws.com.example",
        "https://sts.us-east-1.example.amazonaws.com",
        "https://evil.sts.us-east-1.amazonaws.com",
        "https://sts.us-west-2.amazonaws.com",
        "https://sts.us-east-1.amazonaws.com.cn",
        "https://sts.us-east-1.amazonaws.eu",
        "https://s3.us-east-1.amazonaws.com",
        "https://sts.us-east-1.vpce.amazonaws.com",
        "https://x.vpce-1.sts.us-east-1.vpce.amazonaws.com",
        "https://evil-1.sts.us-east-1.vpce.amazonaws.com",
        "https://vpce-1.sts.us-west-2.vpce.amazonaws.com",
        "https://vpce-1.s3.us-east-1.vpce.amazonaws.com",
        "https://169.254.169.254",
        "https://localhost",
    ] {
        let error = sts_host(&region("us-east-1"), Variant::default(), Some(endpoint));
        assert!(error.is_err(), "{endpoint}");
    }
    let global = Some("https://sts.amazonaws.com");
    assert!(sts_host(&region("cn-north-1"), Variant::default(), global).is_err());
}

#[test]
fn an_endpoint_without_fips_is_refused_where_fips_is_asked_for() {
    let fips = Variant {
        fips: true,
        dual_stack: false,
    };
    for (name, endpoint, accepted) in [
        ("us-east-1", "https://sts.us-east-1.amazonaws.com", false),
        (
            "us-east-1",
            "https://vpce-1.sts.us-east-1.vpce.amazonaws.com",
            false,
        ),
        (
            "us-east-1",
            "https://sts-fips.us-east-1.amazonaws.com",
            true,
        ),
        (
            "us-east-1",
            "https://vpce-1.sts-fips.us-east-1.vpce.amazonaws.com",
            true,
        ),
        (
            "us-gov-west-1",
            "https://sts.us-gov-west-1.amazonaws.com",
            true,
        ),
    ] {
        let host = sts_host(&region(name), fips, Some(endpoint));
        assert_eq!(host.is_ok(), accepted, "{endpoint}");
    }
}
