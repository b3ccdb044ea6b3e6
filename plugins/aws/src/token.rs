//! The bearer token of EKS: a signed question to STS, who it is that asks.

use crate::endpoint::{Service, Variant};
use crate::exchange::STS_VERSION;
use crate::region::Region;
use crate::sign::{Signer, Unsigned};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatepass_sdk::{AwsKeys, Error, Secret};
use std::time::{Duration, SystemTime};

/// What an EKS token begins with.
const PREFIX: &str = "k8s-aws-v1.";

/// The signed header that binds a token to one cluster.
const CLUSTER_HEADER: &str = "x-k8s-aws-id";

/// How long STS itself accepts the question. EKS accepts the token for longer.
const PRESIGNED: Duration = Duration::from_secs(60);

/// EKS accepts a token for 15 minutes from its date (aws-iam-authenticator, `token.Verify`); a
/// minute is left for clocks that differ, as AWS's own command line does.
pub(crate) const LIFETIME: Duration = Duration::from_secs(14 * 60);

/// Longest token that EKS reads (aws-iam-authenticator, `maxTokenLenBytes`).
const MAX_LENGTH: usize = 4_096;

/// Makes the token for the cluster `name` in `region`.
///
/// The question goes to the region's public host, whatever endpoint the keys came from: the
/// server refuses every other host.
///
/// # Errors
///
/// `internal` if the keys cannot sign, or their session token makes the token longer than EKS
/// reads.
pub(crate) fn token(
    keys: &AwsKeys,
    name: &str,
    region: &Region,
    variant: Variant,
    now: SystemTime,
) -> Result<Secret, Error> {
    let host = Service::Sts.host(region, variant);
    let signer = Signer {
        keys,
        service: Service::Sts.signing_name(),
        region,
        now,
    };
    let question = Unsigned {
        method: "GET",
        url: &format!("https://{host}/?Action=GetCallerIdentity&Version={STS_VERSION}"),
        headers: &[(CLUSTER_HEADER, name)],
        body: b"",
    };
    let url = signer.presign(&question, PRESIGNED)?;
    let mut token = String::from(PREFIX);
    URL_SAFE_NO_PAD.encode_string(url.as_bytes(), &mut token);
    if token.len() > MAX_LENGTH {
        return Err(Error::internal(format!(
            "the token for cluster {name} has {} bytes, and EKS reads {MAX_LENGTH}: the session token of the keys is too long",
            token.len()
        )));
    }
    Ok(token.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sigv4::sign::v4;
    use percent_encoding::utf8_percent_encode;
    use sha2::{Digest, Sha256};
    use std::collections::{BTreeMap, HashSet};

    const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    /// 2026-01-01T00:00:00Z
    const NOW: Duration = Duration::from_secs(1_767_225_600);

    fn make(session_token: &str, region: &str, variant: Variant) -> Result<Secret, Error> {
        let keys = AwsKeys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: SECRET_KEY.into(),
            session_token: Some(session_token.into()),
        };
        let region = Region::parse("region", region).unwrap();
        token(
            &keys,
            "prod",
            &region,
            variant,
            SystemTime::UNIX_EPOCH + NOW,
        )
    }

    /// Hosts that the server of a cluster in `region` accepts, as its own list has them.
    fn accepted_hosts(region: &str) -> Vec<String> {
        let (suffix, dual_stack) = match region.split('-').next() {
            Some("cn") => ("amazonaws.com.cn", "api.amazonwebservices.com.cn"),
            Some("eusc") => ("amazonaws.eu", "api.amazonwebservices.eu"),
            _ => ("amazonaws.com", "api.aws"),
        };
        let mut hosts = Vec::new();
        for service in ["sts", "sts-fips"] {
            hosts.push(format!("{service}.{region}.{suffix}"));
            hosts.push(format!("{service}.{region}.{dual_stack}"));
        }
        hosts
    }

    const PARAMETERS: [&str; 9] = [
        "action",
        "version",
        "x-amz-algorithm",
        "x-amz-credential",
        "x-amz-date",
        "x-amz-expires",
        "x-amz-security-token",
        "x-amz-signature",
        "x-amz-signedheaders",
    ];

    /// What a cluster's server checks of a token before it asks STS, and then what STS checks:
    /// the signature over the question with the header of the cluster's name.
    fn verify(token: &str, cluster: &str, region: &str) -> Result<(), String> {
        let rule = |holds: bool, rule: &str| if holds { Ok(()) } else { Err(rule.to_owned()) };
        rule(token.len() <= 4096, "length")?;
        let encoded = token.strip_prefix("k8s-aws-v1.").ok_or("prefix")?;
        rule(!encoded.contains(['=', '+', '/']), "alphabet")?;
        let url = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).map_err(|_| "base64")?);
        let url = url.map_err(|_| "utf-8")?;
        let rest = url.strip_prefix("https://").ok_or("scheme")?;
        let (host, rest) = rest.split_once('/').ok_or("path")?;
        let query = rest.strip_prefix('?').ok_or("path is not /")?;
        rule(accepted_hosts(region).contains(&host.to_owned()), "host")?;

        let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect();
        let names: HashSet<String> = pairs.iter().map(|(name, _)| name.to_lowercase()).collect();
        rule(names.len() == pairs.len(), "duplicate parameter")?;
        rule(
            names.iter().all(|name| PARAMETERS.contains(&name.as_str())),
            "unknown parameter",
        )?;
        let value = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found
                .map(|(_, value)| value.as_str())
                .ok_or(format!("no {name}"))
        };
        rule(value("action")? == "GetCallerIdentity", "action")?;
        rule(value("version")? == "2011-06-15", "version")?;
        let signed_headers = value("x-amz-signedheaders")?;
        rule(
            signed_headers.split(';').any(|name| name == "x-k8s-aws-id"),
            "the cluster's header is unsigned",
        )?;
        let expires: u64 = value("x-amz-expires")?.parse().map_err(|_| "expires")?;
        rule(expires <= 900, "expires")?;
        rule(value("x-amz-date")? == "20260101T000000Z", "date")?;
        rule(
            value("x-amz-credential")? == format!("AKIDEXAMPLE/20260101/{region}/sts/aws4_request"),
            "scope",
        )?;
        rule(
            value("x-amz-signature")? == signature(host, &pairs, cluster, region),
            "signature",
        )
    }

    /// The signature of a presigned GET, computed from the specification.
    fn signature(host: &str, pairs: &[(String, String)], cluster: &str, region: &str) -> String {
        let encode = |text: &str| utf8_percent_encode(text, crate::sign::RESERVED).to_string();
        let query: BTreeMap<String, String> = pairs
            .iter()
            .filter(|(name, _)| name != "X-Amz-Signature")
            .map(|(name, value)| (encode(name), encode(value)))
            .collect();
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let hexadecimal = |text: &str| -> String {
            let digest = Sha256::digest(text);
            digest.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let canonical = format!(
            "GET\n/\n{}\nhost:{host}\nx-k8s-aws-id:{cluster}\n\nhost;x-k8s-aws-id\n{}",
            query.join("&"),
            hexadecimal("")
        );
        let to_sign = format!(
            "AWS4-HMAC-SHA256\n20260101T000000Z\n20260101/{region}/sts/aws4_request\n{}",
            hexadecimal(&canonical)
        );
        let moment = SystemTime::UNIX_EPOCH + NOW;
        let key = v4::generate_signing_key(SECRET_KEY, moment, region, "sts");
        v4::calculate_signature(key, to_sign.as_bytes())
    }

    #[test]
    fn a_token_passes_the_checks_of_the_server() {
        for region in ["us-east-1", "us-gov-west-1", "cn-north-1", "eusc-de-east-1"] {
            for (fips, dual_stack) in [(false, false), (false, true), (true, false), (true, true)] {
                let variant = Variant { fips, dual_stack };
                let token = make("session+token/with==signs", region, variant).unwrap();
                assert_eq!(verify(token.expose(), "prod", region), Ok(()), "{region}");
            }
        }
    }

    #[test]
    fn a_token_is_for_one_cluster_in_one_region() {
        let token = make("session", "us-east-1", Variant::default()).unwrap();
        let verdict = |cluster, region| verify(token.expose(), cluster, region);
        assert_eq!(verdict("other", "us-east-1"), Err("signature".into()));
        assert_eq!(verdict("prod", "us-west-2"), Err("host".into()));
    }

    #[test]
    fn a_token_longer_than_eks_reads_is_an_error() {
        assert!(make(&"x".repeat(2_500), "us-east-1", Variant::default()).is_ok());
        let error = make(&"x".repeat(4_000), "us-east-1", Variant::default()).unwrap_err();
        assert!(error.message().contains("4096"), "{error}");
        assert!(!error.message().contains("xxx"), "{error}");
    }
}
