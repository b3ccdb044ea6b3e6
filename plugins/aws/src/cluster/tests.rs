//! The matrix of name, address and certificate authority, and what becomes of EKS's answers.

use super::*;
use crate::Aws;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gatepass_sdk::egress::Response;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{AwsKeys, ErrorCode, Provider};
use std::time::Duration;

const ARN: &str = "arn:aws:eks:eu-west-1:123456789012:cluster/prod";
const ENDPOINT: &str = "https://ABC123.gr7.eu-west-1.eks.amazonaws.com";
const CANONICAL: &str = "https://abc123.gr7.eu-west-1.eks.amazonaws.com";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
const OTHER_PEM: &str = "-----BEGIN CERTIFICATE-----\nWFla\n-----END CERTIFICATE-----\n";

fn access_for(account: &str, lifetime: Duration) -> Credential {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: Some("session-token".into()),
    };
    Credential::new(Material::Aws(keys), ScriptedHost::new().now() + lifetime)
        .attribute(ACCOUNT, account)
}

fn access_credential() -> Credential {
    access_for("123456789012", Duration::from_secs(3600))
}

fn reference(
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

fn request(region: Option<&str>, parameters: &[(&str, &str)]) -> Request {
    Request {
        region: region.map(Into::into),
        parameters: parameters
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        ..Request::default()
    }
}

fn described(endpoint: &str, authority: &str) -> String {
    let data = STANDARD.encode(authority);
    format!(
        r#"{{"cluster":{{"name":"prod","arn":"{ARN}","endpoint":"{endpoint}","status":"ACTIVE","certificateAuthority":{{"data":"{data}"}},"identity":{{"oidc":{{"issuer":"x"}}}}}}}}"#
    )
}

fn answering(status: u16, body: &str) -> ScriptedHost {
    ScriptedHost::new().answer(Response::new(status, body.as_bytes()))
}

fn config(
    reference: &ClusterReference,
    request: &Request,
    host: &ScriptedHost,
) -> Result<ClusterAccess, Error> {
    Aws.rest_config(
        reference,
        &[access_credential()],
        &Some([].into()),
        request,
        host,
    )
}

#[test]
fn each_sufficient_reference_finds_server_and_authority() {
    let named = request(Some("eu-west-1"), &[("cluster-name", "prod")]);
    let regional = request(Some("eu-west-1"), &[]);
    let plain = request(None, &[]);
    for (reference, request, lookups, authority) in [
        (reference(Some(ARN), None, None), &plain, 1, PEM),
        (reference(Some("prod"), None, None), &regional, 1, PEM),
        (reference(Some(ARN), Some(CANONICAL), None), &plain, 1, PEM),
        (
            reference(Some(ARN), Some(&format!("{ENDPOINT}:443/")), None),
            &plain,
            1,
            PEM,
        ),
        (
            reference(Some(ARN), None, Some(OTHER_PEM)),
            &plain,
            1,
            OTHER_PEM,
        ),
        (
            reference(None, Some(ENDPOINT), Some(OTHER_PEM)),
            &named,
            0,
            OTHER_PEM,
        ),
    ] {
        let host = answering(200, &described(ENDPOINT, PEM));
        let access = config(&reference, request, &host).unwrap();
        assert_eq!(access.server, CANONICAL, "{reference:?}");
        assert_eq!(
            access.ca_certificate.as_deref(),
            Some(authority),
            "{reference:?}"
        );
        assert_eq!(host.sent().len(), lookups, "{reference:?}");
        let Material::Bearer(token) = &access.material else {
            panic!()
        };
        assert!(token.expose().starts_with("k8s-aws-v1."));
    }
}

#[test]
fn each_insufficient_reference_says_what_to_set_or_remove() {
    let plain = request(None, &[]);
    let regional = request(Some("eu-west-1"), &[]);
    let named = request(Some("eu-west-1"), &[("cluster-name", "prod")]);
    let unplaced = request(None, &[("cluster-name", "prod")]);
    let dotted = request(Some("eu-west-1"), &[("cluster-name", "..")]);
    let (address, pem) = (Some(ENDPOINT), Some(PEM));
    for (reference, request, word) in [
        (reference(None, None, None), &plain, "set name"),
        (reference(None, address, None), &plain, "set name"),
        (reference(None, None, pem), &plain, "set name"),
        (reference(None, address, None), &named, "set name"),
        (reference(None, address, pem), &plain, "cluster-name"),
        (reference(None, address, pem), &unplaced, "region"),
        (reference(None, address, pem), &dotted, "'..'"),
        (
            reference(Some(ARN), address, pem),
            &plain,
            "remove one of the three",
        ),
        (
            reference(Some(ARN), address, pem),
            &named,
            "remove one of the three",
        ),
        (reference(Some(ARN), None, None), &named, "no effect"),
        (reference(Some("prod"), None, None), &plain, "region"),
        (
            reference(Some(""), None, None),
            &regional,
            "cluster name ''",
        ),
        (reference(Some(".."), None, None), &regional, "'..'"),
        (reference(Some("a b"), None, None), &regional, "'a b'"),
        (
            reference(Some("arn:aws:s3:::x"), None, None),
            &plain,
            "arn:aws:s3:::x",
        ),
        (
            reference(Some("arn:aws:eks:eu-west-1:1:cluster/../x"), None, None),
            &plain,
            "cluster/../x",
        ),
        (
            reference(Some(ARN), Some("http://x"), None),
            &plain,
            "http://x",
        ),
        (
            reference(Some(ARN), Some("https://x/api"), None),
            &plain,
            "https://x/api",
        ),
        (reference(Some(ARN), None, Some("QUJD")), &plain, "PEM"),
    ] {
        let error = Aws
            .cluster(&reference, &Some([].into()), request)
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        let host = ScriptedHost::new();
        assert_eq!(config(&reference, request, &host).unwrap_err(), error);
        assert!(host.sent().is_empty());
    }
}

#[test]
fn the_keys_are_asked_for_in_the_clusters_region_with_the_callers_limits() {
    let asked = request(None, &[("duration-seconds", "900")]);
    let access = Aws.cluster(&reference(Some(ARN), None, None), &None, &asked);
    let expected = request(Some("eu-west-1"), &[("duration-seconds", "900")]);
    assert_eq!(access, Ok(vec![expected]));

    let asked = request(Some("eu-west-1"), &[("cluster-name", "prod")]);
    let given = reference(None, Some(ENDPOINT), Some(PEM));
    let access = Aws.cluster(&given, &None, &asked);
    assert_eq!(access, Ok(vec![request(Some("eu-west-1"), &[])]));

    let asked = request(Some("cn-north-1"), &[]);
    let error = Aws.cluster(&reference(Some(ARN), None, None), &None, &asked);
    assert!(error.unwrap_err().message().contains("aws-cn"));
}

#[test]
fn the_lookup_is_signed_for_the_clusters_region() {
    let host = answering(200, &described(ENDPOINT, PEM));
    let arn = "arn:aws:eks:eu-west-1:123456789012:cluster/pr/od~+x";
    let asked = request(Some("us-east-1"), &[("dual-stack", "true")]);
    config(&reference(Some(arn), None, None), &asked, &host).unwrap();
    let sent = host.sent();
    let url = "https://eks.eu-west-1.api.aws/clusters/pr%2Fod~%2Bx";
    assert_eq!((sent[0].method(), sent[0].url()), ("GET", url));
    let authorization = testing::header(&sent[0], "authorization").unwrap();
    for words in [
        "/20260101/eu-west-1/eks/aws4_request,",
        "SignedHeaders=host;x-amz-date;x-amz-security-token,",
    ] {
        assert!(authorization.contains(words), "{authorization}");
    }
}

#[test]
fn the_token_asks_the_clusters_own_region_whatever_the_endpoint() {
    let asked = Request {
        endpoint: Some("https://vpce-1.sts.us-east-1.vpce.amazonaws.com".into()),
        ..request(Some("us-east-1"), &[])
    };
    let host = answering(200, &described(ENDPOINT, PEM));
    let access = config(&reference(Some(ARN), None, None), &asked, &host).unwrap();
    let Material::Bearer(token) = access.material else {
        panic!()
    };
    let encoded = token.expose().strip_prefix("k8s-aws-v1.").unwrap();
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(encoded)
        .unwrap();
    let url = String::from_utf8(url).unwrap();
    assert!(
        url.starts_with("https://sts.eu-west-1.amazonaws.com/?"),
        "{url}"
    );
}

#[test]
fn access_ends_with_the_token_or_with_the_keys() {
    for (keys, expected) in [(3600, 14 * 60), (600, 600)] {
        let host = answering(200, &described(ENDPOINT, PEM));
        let access = access_for("123456789012", Duration::from_secs(keys));
        let reference = reference(Some(ARN), None, None);
        let access = Aws.rest_config(&reference, &[access], &None, &request(None, &[]), &host);
        let expiry = host.now() + Duration::from_secs(expected);
        assert_eq!(access.unwrap().expires_at, Some(expiry));
    }
}

#[test]
fn an_address_that_is_not_the_clusters_is_refused() {
    for address in ["https://evil.example", &format!("{ENDPOINT}:6443")] {
        let host = answering(200, &described(ENDPOINT, PEM));
        let reference = reference(Some(ARN), Some(address), None);
        let error = config(&reference, &request(None, &[]), &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains(CANONICAL), "{error}");
    }
}

#[test]
fn a_cluster_of_another_account_is_refused_before_anything_is_sent() {
    let host = ScriptedHost::new();
    let access = access_for("999999999999", Duration::from_secs(3600));
    let reference = reference(Some(ARN), None, None);
    let error = Aws.rest_config(&reference, &[access], &None, &request(None, &[]), &host);
    let error = error.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    for word in ["123456789012", "999999999999", "own account"] {
        assert!(error.message().contains(word), "{error}");
    }
    assert!(host.sent().is_empty());
}

#[test]
fn a_hostile_answer_is_an_error() {
    let active = |fields: &str| format!(r#"{{"cluster":{{"status":"ACTIVE"{fields}}}}}"#);
    let creating = |fields: &str| format!(r#"{{"cluster":{{"status":"CREATING"{fields}}}}}"#);
    let endpoint = format!(r#","endpoint":"{ENDPOINT}""#);
    let authority = |data: &str| format!(r#"{endpoint},"certificateAuthority":{{"data":{data}}}"#);
    let (unavailable, not_yet) = (ErrorCode::Unavailable, ErrorCode::NotYet);
    for (body, expected) in [
        (String::new(), unavailable),
        ("null".into(), unavailable),
        ("{}".into(), unavailable),
        (r#"{"cluster":null}"#.into(), unavailable),
        (r#"{"cluster":[]}"#.into(), unavailable),
        (r#"{"cluster":"#.repeat(20_000), unavailable),
        (active(""), unavailable),
        (active(r#","endpoint":null"#), unavailable),
        (active(r#","endpoint":7"#), unavailable),
        (active(r#","endpoint":"""#), unavailable),
        (active(r#","endpoint":"http://x""#), unavailable),
        (active(r#","endpoint":"https://x/y""#), unavailable),
        (active(&endpoint), unavailable),
        (active(&authority("null")), unavailable),
        (active(&authority("\"\"")), unavailable),
        (active(&authority("\"!\"")), unavailable),
        (active(&authority("\"QUJD\"")), unavailable),
        (active(&authority("\"//79\"")), unavailable),
        (creating(""), not_yet),
        (creating(r#","endpoint":"""#), not_yet),
        (creating(&endpoint), not_yet),
        (r#"{"cluster":{"status":"PENDING"}}"#.into(), not_yet),
    ] {
        let host = answering(200, &body);
        let error = config(
            &reference(Some(ARN), None, None),
            &request(None, &[]),
            &host,
        );
        assert_eq!(error.unwrap_err().code(), expected, "{body:.200}");
    }
}

#[test]
fn a_refusal_of_eks_is_classified() {
    for (status, code, expected) in [
        (
            404,
            "ResourceNotFoundException",
            ErrorCode::InvalidConfiguration,
        ),
        (403, "AccessDeniedException", ErrorCode::Denied),
        (429, "ThrottlingException", ErrorCode::Throttled),
        (503, "ServiceUnavailableException", ErrorCode::Unavailable),
        (400, "ClientException", ErrorCode::Denied),
    ] {
        let response = Response::new(status, br#"{"message":"as told"}"#);
        let host = ScriptedHost::new().answer(response.header("x-amzn-errortype", code));
        let error = config(
            &reference(Some(ARN), None, None),
            &request(None, &[]),
            &host,
        );
        let error = error.unwrap_err();
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.message().contains("cluster prod"), "{error}");
    }
}

#[test]
fn credentials_that_do_not_fit_are_internal() {
    let given = reference(Some(ARN), None, None);
    let two = [access_credential(), access_credential()];
    let bearer = [Credential::subject_token()];
    for access in [&[][..], &two, &bearer] {
        let error = Aws.rest_config(
            &given,
            access,
            &None,
            &request(None, &[]),
            &ScriptedHost::new(),
        );
        assert_eq!(error.unwrap_err().code(), ErrorCode::Internal);
    }
}
