//! Which URLs are CodeCommit's, and what its passwords are.

use super::*;
use gatepass_sdk::testing::ScriptedHost;
use gatepass_sdk::{ErrorCode, Material};

const URL: &str = "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app";

fn access(session_token: Option<&str>, lifetime: u64) -> Credential {
    let keys = AwsKeys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: session_token.map(Into::into),
    };
    let expiry = ScriptedHost::new().now() + Duration::from_secs(lifetime);
    Credential::new(Material::Aws(keys), expiry)
}

fn log_in(url: &str, access: &Credential) -> Result<(String, String, Duration), Error> {
    let host = ScriptedHost::new();
    let credential = login(url, access, &None, &Request::default(), &host)?;
    let Material::Basic(basic) = &credential.material else {
        panic!("{credential:?}");
    };
    let left = credential.expires_at.unwrap().duration_since(host.now());
    let password = basic.password.expose().to_owned();
    Ok((basic.username.clone(), password, left.unwrap()))
}

/// Passwords that AWS's own credential helper makes at this moment with these keys.
#[test]
fn the_password_is_that_of_awss_own_helper() {
    for (url, password) in [
        (
            URL,
            "20260101T000000Z4bc1b6fa13256f35720a234467733d5f127cfefac2ce1a4821dc757fb1bb2dde",
        ),
        (
            "https://git-codecommit-fips.cn-north-1.amazonaws.com.cn/v1/repos/my.app_1-x",
            "20260101T000000Z828865bc75e4028aa2b567c5dc64374b919b34d6477927ad6683cedff67deab7",
        ),
    ] {
        assert_eq!(log_in(url, &access(None, 3600)).unwrap().1, password);
        let port = url.replacen(".com/", ".com:443/", 1);
        assert_eq!(log_in(&port, &access(None, 3600)).unwrap().1, password);
    }
}

#[test]
fn the_user_is_the_key_and_its_session() {
    let (user, ..) = log_in(URL, &access(None, 3600)).unwrap();
    assert_eq!(user, "AKIDEXAMPLE");
    let (user, ..) = log_in(URL, &access(Some("session/token=="), 3600)).unwrap();
    assert_eq!(user, "AKIDEXAMPLE%session/token==");
}

#[test]
fn a_login_ends_with_its_keys_or_after_a_quarter_of_an_hour() {
    for (lifetime, expected) in [(3600, 900), (901, 900), (899, 899), (1, 1)] {
        let (.., left) = log_in(URL, &access(None, lifetime)).unwrap();
        assert_eq!(left.as_secs(), expected);
    }
    let error = log_in(URL, &access(None, 0)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable);
}

#[test]
fn every_form_of_host_says_its_region() {
    for (host, region) in [
        ("git-codecommit.us-east-1.amazonaws.com", "us-east-1"),
        ("GIT-CODECOMMIT.us-east-1.amazonaws.com:443", "us-east-1"),
        (
            "git-codecommit-fips.us-gov-west-1.amazonaws.com",
            "us-gov-west-1",
        ),
        ("git-codecommit.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        (
            "git-codecommit.eusc-de-east-1.amazonaws.eu",
            "eusc-de-east-1",
        ),
        ("git-codecommit.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"),
        (
            "git-codecommit.us-isob-east-1.sc2s.sgov.gov",
            "us-isob-east-1",
        ),
        (
            "git-codecommit.eu-isoe-west-1.cloud.adc-e.uk",
            "eu-isoe-west-1",
        ),
        (
            "git-codecommit.us-isof-south-1.csp.hci.ic.gov",
            "us-isof-south-1",
        ),
        (
            "vpce-0a1b-2c3d.git-codecommit.us-east-1.vpce.amazonaws.com",
            "us-east-1",
        ),
        (
            "vpce-0a1b.git-codecommit-fips.us-east-1.vpce.amazonaws.com",
            "us-east-1",
        ),
    ] {
        let url = format!("https://{host}/v1/repos/app");
        let target = target(&url, &None, &Request::default()).unwrap();
        assert_eq!(target.access.region.as_deref(), Some(region), "{url}");
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix(":443").unwrap_or(&host);
        assert_eq!(target.cache_input, format!("https://{host}/v1/repos/app"));
    }
}

#[test]
fn what_only_looks_like_codecommit_is_refused() {
    let long = format!("{URL}{}", "a".repeat(100));
    for url in [
        "",
        "git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "http://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "ssh://git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "codecommit://app",
        "https://git-codecommit.us-east-1.amazonaws.com",
        "https://git-codecommit.us-east-1.amazonaws.com/",
        "https://git-codecommit.us-east-1.amazonaws.com/app",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/..",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/a/b",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/a/",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/a b",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/a%2f",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/a\nb",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app?hunter2",
        "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/app#hunter2",
        "https://x:hunter2@git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "https://git-codecommit.us-east-1.amazonaws.com:8443/v1/repos/app",
        "https://git-codecommit.us-east-1.amazonaws.com./v1/repos/app",
        "https://git-codecommit.us-east-1.amazonaws.com.example/v1/repos/app",
        "https://git-codecommit.us-east-1.amazonaws.com.cn/v1/repos/app",
        "https://git-codecommit.cn-north-1.amazonaws.com/v1/repos/app",
        "https://git-codecommit.amazonaws.com/v1/repos/app",
        "https://git-codecommit..amazonaws.com/v1/repos/app",
        "https://evil.git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "https://git-codecommit.us-east-1.evil.amazonaws.com/v1/repos/app",
        "https://git-codecommit.s3.amazonaws.com/v1/repos/app",
        "https://git-codecommit.s3-us-west-2.amazonaws.com/v1/repos/app",
        "https://vpce-1.git-codecommit.s3.vpce.amazonaws.com/v1/repos/app",
        "https://git-codecommit.us-east-1.vpce.amazonaws.com/v1/repos/app",
        "https://vpce-1.git-codecommit.us-east-1.amazonaws.com/v1/repos/app",
        "https://x.vpce-1.git-codecommit.us-east-1.vpce.amazonaws.com/v1/repos/app",
        "https://github.com/v1/repos/app",
        &long,
    ] {
        let error = target(url, &None, &Request::default()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{url}");
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(!error.message().contains('\n'), "{error}");
        assert_eq!(log_in(url, &access(None, 3600)).unwrap_err(), error);
    }
}

#[test]
fn keys_of_another_partition_and_other_credentials_are_refused() {
    let request = Request {
        region: Some("cn-north-1".into()),
        ..Request::default()
    };
    let error = target(URL, &None, &request).unwrap_err();
    assert!(error.message().contains("aws-cn"), "{error}");
    let error = log_in(URL, &Credential::subject_token()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
}

#[test]
fn a_clock_that_cannot_be_written_is_an_error() {
    for now in [
        SystemTime::UNIX_EPOCH - Duration::from_secs(1),
        SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800),
    ] {
        assert_eq!(date(now).unwrap_err().code(), ErrorCode::Internal);
    }
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    assert_eq!(date(last).unwrap(), "99991231T235959");
}
