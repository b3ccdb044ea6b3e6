//! Facts of the environment.

use super::*;

fn facts(host: &ScriptedHost) -> BTreeMap<String, String> {
    Aws.discover(host).unwrap()
}

fn region(host: &ScriptedHost) -> Option<String> {
    facts(host).remove("region")
}

fn profile(text: &str) -> ScriptedHost {
    ScriptedHost::new()
        .variable("HOME", "/home/app")
        .file("/home/app/.aws/config", text.as_bytes())
}

#[test]
fn the_region_is_the_variables_then_the_profiles_then_the_instances() {
    let host = profile("[default]\nregion = eu-west-1\n")
        .variable("AWS_REGION", "us-east-1")
        .variable("AWS_DEFAULT_REGION", "us-west-2");
    assert_eq!(region(&host).as_deref(), Some("us-east-1"));
    let host =
        profile("[default]\nregion = eu-west-1\n").variable("AWS_DEFAULT_REGION", "us-west-2");
    assert_eq!(region(&host).as_deref(), Some("us-west-2"));
    let host = profile("[default]\nregion = eu-west-1\n");
    assert_eq!(region(&host).as_deref(), Some("eu-west-1"));
    assert!(host.sent().is_empty());
    let host = profile("[default]\n")
        .answer(ok("t"))
        .answer(ok("ap-south-1\n"));
    assert_eq!(region(&host).as_deref(), Some("ap-south-1"));
    let sent = host.sent();
    assert_eq!(
        sent[1].url(),
        "http://169.254.169.254/latest/meta-data/placement/region"
    );
    let token = testing::header(&sent[1], "x-aws-ec2-metadata-token");
    assert_eq!(token.as_deref(), Some("t"));
}

/// A host whose metadata service does not answer.
fn silent(host: ScriptedHost, code: egress::ErrorCode) -> ScriptedHost {
    let put = egress::Request::put("http://169.254.169.254/latest/api/token")
        .header("x-aws-ec2-metadata-token-ttl-seconds", "21600")
        .timeout(Duration::from_secs(1))
        .build();
    let message = "as told".into();
    host.expect_failure(put, egress::Error { code, message })
}

#[test]
fn a_service_that_is_silent_for_a_moment_is_not_remembered_as_no_region() {
    for code in [egress::ErrorCode::TimedOut, egress::ErrorCode::Unreachable] {
        for host in [
            ScriptedHost::new(),
            profile("[default]\noutput = json\n"),
            profile(&format!(
                "[default]\nrole_arn = {ROLE}\ncredential_source = Ec2InstanceMetadata\n"
            )),
        ] {
            let error = Aws.discover(&silent(host, code)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
            for word in ["AWS_REGION", "AWS_EC2_METADATA_DISABLED", "169.254.169.254"] {
                assert!(error.message().contains(word), "{error}");
            }
        }
    }
    let get = egress::Request::get("http://169.254.169.254/latest/meta-data/placement/region")
        .timeout(Duration::from_secs(1))
        .header("x-aws-ec2-metadata-token", "t")
        .build();
    let message = "as told".into();
    let code = egress::ErrorCode::TimedOut;
    let host = ScriptedHost::new()
        .answer(ok("t"))
        .expect_failure(get, egress::Error { code, message });
    let error = Aws.discover(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unavailable, "{error}");
}

#[test]
fn who_has_keys_from_elsewhere_needs_no_metadata_service() {
    let keys = "[default]\naws_access_key_id = x\naws_secret_access_key = y\n";
    let agent = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    for host in [
        ScriptedHost::new().variable("AWS_ACCESS_KEY_ID", "x"),
        ScriptedHost::new().variable("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ScriptedHost::new().variable(agent, "http://169.254.170.23/v1/credentials"),
        ScriptedHost::new().variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"),
        profile(keys),
    ] {
        let host = silent(host, egress::ErrorCode::TimedOut);
        assert_eq!(region(&host), None);
        let (level, line) = host.logged().pop().unwrap();
        assert_eq!(level, Level::Warn, "{line}");
        host.finish();
    }
}

#[test]
fn without_a_region_there_is_no_such_fact() {
    let answering = |status| {
        ScriptedHost::new()
            .answer(ok("t"))
            .answer(egress::Response::new(status, b""))
    };
    for host in [
        ScriptedHost::new().variable("AWS_EC2_METADATA_DISABLED", "true"),
        silent(ScriptedHost::new(), egress::ErrorCode::NotGranted),
        answering(403),
        answering(404),
    ] {
        assert_eq!(region(&host), None);
        let (level, line) = host.logged().pop().unwrap();
        assert_eq!(level, Level::Warn, "{line}");
    }
}

#[test]
fn a_wrong_region_is_an_error_and_not_a_fact() {
    for (host, code, word) in [
        (
            ScriptedHost::new().variable("AWS_REGION", "us-east-1.evil"),
            ErrorCode::InvalidConfiguration,
            "AWS_REGION 'us-east-1.evil'",
        ),
        (
            ScriptedHost::new().variable("AWS_REGION", "s3"),
            ErrorCode::InvalidConfiguration,
            "AWS_REGION 's3'",
        ),
        (
            ScriptedHost::new().variable("AWS_DEFAULT_REGION", "s3-us-west-2"),
            ErrorCode::InvalidConfiguration,
            "AWS_DEFAULT_REGION 's3-us-west-2'",
        ),
        (
            profile("[default]\nregion = s3\n"),
            ErrorCode::InvalidConfiguration,
            "region of profile 'default' 's3'",
        ),
        (
            ScriptedHost::new().answer(ok("t")).answer(ok("s3")),
            ErrorCode::Unavailable,
            "no region",
        ),
        (
            profile("[default]\nregion = aws-global\n"),
            ErrorCode::InvalidConfiguration,
            "region of profile 'default'",
        ),
        (
            ScriptedHost::new().answer(ok("t")).answer(ok("<html>")),
            ErrorCode::Unavailable,
            "no region",
        ),
        (
            ScriptedHost::new().answer(egress::Response::new(503, b"")),
            ErrorCode::Unavailable,
            "503",
        ),
        (
            ScriptedHost::new()
                .answer(egress::Response::new(405, b""))
                .answer(egress::Response::new(401, b"")),
            ErrorCode::Denied,
            "hop limit",
        ),
    ] {
        let error = Aws.discover(&host).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn the_role_is_a_fact_where_the_chain_comes_to_it() {
    let irsa = || {
        ScriptedHost::new()
            .variable("AWS_REGION", "us-east-1")
            .variable("AWS_ROLE_ARN", ROLE)
            .variable("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
    };
    let role = |host: &ScriptedHost| facts(host).remove("role-arn");
    assert_eq!(role(&irsa()).as_deref(), Some(ROLE));
    let host = irsa().variable("AWS_ACCESS_KEY_ID", "x");
    assert_eq!(role(&host), None);
    let credentials = b"[default]\naws_access_key_id = x\naws_secret_access_key = y\n";
    let host = irsa()
        .variable("HOME", "/h")
        .file("/h/.aws/credentials", credentials);
    assert_eq!(role(&host), None);
    let host = irsa()
        .variable("HOME", "/h")
        .file("/h/.aws/config", b"[default]\n");
    assert_eq!(role(&host).as_deref(), Some(ROLE));
    let host = ScriptedHost::new()
        .variable("AWS_REGION", "us-east-1")
        .variable("AWS_ROLE_ARN", ROLE);
    assert_eq!(role(&host), None);
    assert!(
        Aws.discover(&irsa().variable("AWS_ROLE_ARN", "app"))
            .is_err()
    );
}

#[test]
fn facts_give_an_account_its_region_in_the_whole_path() {
    let host = ScriptedHost::new()
        .variable("AWS_REGION", "eu-west-1")
        .answer(ok(&session("AssumeRoleWithWebIdentity", SESSION)));
    let subject =
        testing::service_account("team-a", "app", &[("eks.amazonaws.com/role-arn", ROLE)]);
    let request = Request::default();
    let needs = Aws.identity(&subject, &None, &request).unwrap_err();
    assert_eq!(needs.code(), ErrorCode::NeedsFacts);
    let facts = Some(Aws.discover(&host).unwrap());
    let exchange = Exchange {
        identity: Aws.identity(&subject, &facts, &request).unwrap(),
        subject,
        facts,
        source: Source::SubjectToken,
        request,
    };
    Aws.exchange(&exchange, &host).unwrap();
    assert_eq!(host.sent()[0].url(), "https://sts.eu-west-1.amazonaws.com/");
}
