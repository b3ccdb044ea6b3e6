//! The shared files: which profile, which keys, which roles on the way.

use super::*;

const CONFIG: &str = "/home/app/.aws/config";
const CREDENTIALS: &str = "/home/app/.aws/credentials";
const BASE_KEYS: &str =
    "[base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = base/secret\n";

fn host(config: &str, credentials: &str) -> ScriptedHost {
    ScriptedHost::new()
        .variable("HOME", "/home/app")
        .file(CONFIG, config.as_bytes())
        .file(CREDENTIALS, credentials.as_bytes())
}

fn role(number: usize) -> String {
    format!("arn:aws:iam::{number}:role/role")
}

fn assumed(number: usize) -> egress::Response {
    let arn = format!("arn:aws:sts::{number}:assumed-role/role/x");
    ok(&session("AssumeRole", &arn))
}

#[test]
fn keys_of_a_profile_are_read_from_both_files() {
    let keys_of = |id: &str| format!("aws_access_key_id = {id}\naws_secret_access_key = secret\n");
    for (profile, config, credentials, id) in [
        (
            None,
            String::new(),
            format!("[default]\n{}", keys_of("A")),
            "A",
        ),
        (
            None,
            format!("[default]\n{}", keys_of("B")),
            String::new(),
            "B",
        ),
        (
            None,
            format!(
                "[default]\n{}[profile default]\n{}",
                keys_of("C"),
                keys_of("D")
            ),
            String::new(),
            "D",
        ),
        (
            None,
            format!("[default]\n{}", keys_of("E")),
            format!("[default]\n{}", keys_of("F")),
            "F",
        ),
        (
            Some("app"),
            format!("[profile app]\n{}", keys_of("G")),
            format!("[default]\n{}", keys_of("H")),
            "G",
        ),
        (
            Some("app"),
            format!("[profile   \"app\"]\n{}", keys_of("I")),
            String::new(),
            "I",
        ),
        (
            Some("app"),
            String::new(),
            format!("[app]\n{}", keys_of("J")),
            "J",
        ),
    ] {
        let host = host(&config, &credentials);
        let host = match profile {
            None => host,
            Some(name) => host.variable("AWS_PROFILE", name),
        };
        let credential = keys(&host).unwrap();
        assert_eq!(shown(&credential), [id, "secret", ""]);
        assert_eq!(attribute(&credential, "source"), Some("profile"));
        assert_eq!(
            attribute(&credential, "profile"),
            Some(profile.unwrap_or("default"))
        );
        assert_eq!(lifetime(&credential), Duration::from_secs(3600));
    }
}

#[test]
fn the_files_are_where_the_variables_say() {
    let host = ScriptedHost::new()
        .variable("HOME", "/home/app")
        .variable("AWS_SHARED_CREDENTIALS_FILE", "/keys")
        .variable("AWS_CONFIG_FILE", "/config")
        .file(
            "/config",
            b"[profile app]\nrole_arn = arn:aws:iam::1:role/role\nsource_profile = base",
        )
        .file("/keys", BASE_KEYS.as_bytes())
        .file(CREDENTIALS, b"broken")
        .variable("AWS_PROFILE", "app")
        .answer(assumed(1));
    keys(&host).unwrap();
}

#[test]
fn a_profile_without_keys_is_passed_over() {
    let disabled = |host: ScriptedHost| host.variable("AWS_EC2_METADATA_DISABLED", "true");
    for host in [
        host("[default]\nregion = eu-west-1\n", ""),
        host("[sso-session default]\nx = y\n[default-x]\n", ""),
        host(
            "[app]\naws_access_key_id = x\naws_secret_access_key = y\n",
            "",
        )
        .variable("AWS_PROFILE", "default")
        .file(CREDENTIALS, b"[default]\n"),
        host(
            "[profiledefault]\naws_access_key_id = x\naws_secret_access_key = y\n",
            "",
        ),
    ] {
        let error = keys(&disabled(host)).unwrap_err();
        assert!(error.message().contains("has no keys of AWS"), "{error}");
    }
}

#[test]
fn roles_are_assumed_one_after_another() {
    let config = format!(
        "[profile app]\nrole_arn = {}\nsource_profile = middle\nexternal_id = ext\nduration_seconds = 900\n[profile middle]\nrole_arn = {}\nsource_profile = base\nrole_session_name = hop\n",
        role(2),
        role(1)
    );
    let host = host(&config, BASE_KEYS)
        .variable("AWS_PROFILE", "app")
        .answer(assumed(1))
        .answer(assumed(2));
    let credential = keys(&host).unwrap();
    assert_eq!(shown(&credential), ["ASIAROLE", "role/key", "role-session"]);
    assert_eq!(attribute(&credential, "account"), Some("2"));
    assert_eq!(lifetime(&credential), Duration::from_secs(6 * 3600));
    let bodies: Vec<String> = host.sent().iter().map(testing::body).collect();
    assert_eq!(
        bodies,
        [
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Frole&RoleSessionName=hop",
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A2%3Arole%2Frole&RoleSessionName=ambient.us-east-1.gatepass&DurationSeconds=900&ExternalId=ext",
        ]
    );
    let signed_with = |index: usize| testing::header(&host.sent()[index], "authorization").unwrap();
    assert!(signed_with(0).contains("Credential=AKIDBASE/"));
    assert!(signed_with(1).contains("Credential=ASIAROLE/"));
}

#[test]
fn a_profile_may_be_its_own_source() {
    let config = format!(
        "[default]\nrole_arn = {}\nsource_profile = default\naws_access_key_id = AKIDOWN\naws_secret_access_key = own\n",
        role(1)
    );
    let host = host(&config, "").answer(assumed(1));
    keys(&host).unwrap();
    let authorization = testing::header(&host.sent()[0], "authorization").unwrap();
    assert!(
        authorization.contains("Credential=AKIDOWN/"),
        "{authorization}"
    );
}

#[test]
fn the_first_keys_may_be_those_of_another_source() {
    let config = |source: &str| {
        format!(
            "[default]\nrole_arn = {}\ncredential_source = {source}\n",
            role(1)
        )
    };
    let container = host(&config("EcsContainer"), "")
        .variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/a")
        .answer(ok(&document(EXPIRATION)))
        .answer(assumed(1));
    let instance = host(&config("Ec2InstanceMetadata"), "")
        .answer(ok("t"))
        .answer(ok("app"))
        .answer(ok(&document(EXPIRATION)))
        .answer(assumed(1));
    for host in [container, instance] {
        keys(&host).unwrap();
        let sent = host.sent();
        let authorization = testing::header(sent.last().unwrap(), "authorization").unwrap();
        assert!(
            authorization.contains("Credential=ASIAMETADATA/"),
            "{authorization}"
        );
    }
    let error = keys(&host(&config("Environment"), "")).unwrap_err();
    assert!(error.message().contains("Environment"), "{error}");
}

#[test]
fn a_profile_may_have_a_web_identity() {
    let config = format!(
        "[default]\nrole_arn = {}\nsource_profile = irsa\n[profile irsa]\nrole_arn = {ROLE}\nweb_identity_token_file = /token\nduration_seconds = 900\n",
        role(1)
    );
    let host = host(&config, "")
        .file("/token", b"jwt")
        .answer(ok(&session("AssumeRoleWithWebIdentity", SESSION)))
        .answer(assumed(1));
    keys(&host).unwrap();
    let body = testing::body(&host.sent()[0]);
    assert!(
        body.ends_with("&DurationSeconds=900&WebIdentityToken=jwt"),
        "{body}"
    );
}

/// Profiles that assume the roles 1 to `hops` from the keys of the instance.
fn chain(hops: usize) -> String {
    let source = |number| match number {
        1 => "credential_source = Ec2InstanceMetadata".to_owned(),
        _ => format!("source_profile = p{}", number - 1),
    };
    let profile = |number| {
        let (role, source) = (role(number), source(number));
        format!("[profile p{number}]\nrole_arn = {role}\n{source}\n")
    };
    (1..=hops).map(profile).collect()
}

#[test]
fn the_longest_way_fits_the_requests_of_one_call() {
    let metadata = |host: ScriptedHost| {
        host.answer(ok("t"))
            .answer(ok("app"))
            .answer(ok(&document(EXPIRATION)))
    };
    let caller = "<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>";
    let facts = Some(BTreeMap::new());
    let request = Request {
        parameters: [("expected-account".into(), "123456789012".into())].into(),
        ..request()
    };
    let exchange = Exchange {
        identity: Aws.identity(&Subject::Ambient, &facts, &request).unwrap(),
        subject: Subject::Ambient,
        facts,
        source: Source::Ambient,
        request,
    };
    let host = metadata(host(&chain(4), "").variable("AWS_PROFILE", "p4"));
    let host = (1..=4).fold(host, |host, number| host.answer(assumed(number)));
    let host = host.answer(ok(caller));
    Aws.exchange(&exchange, &host).unwrap();
    // What a host allows a call if its operator says nothing.
    assert_eq!(host.sent().len(), 8);

    let host = self::host(&chain(5), "").variable("AWS_PROFILE", "p5");
    let error = Aws.exchange(&exchange, &host).unwrap_err();
    assert!(error.message().contains("more than 4"), "{error}");
    assert!(host.sent().is_empty());
}

#[test]
fn what_a_profile_gets_wrong_is_named_before_anything_is_sent() {
    let chain: String = (0..7)
        .map(|number| {
            format!(
                "[profile p{number}]\nrole_arn = {}\nsource_profile = p{}\n",
                role(1),
                number + 1
            )
        })
        .collect();
    let assuming = |rest: &str| format!("[default]\nrole_arn = {}\n{rest}\n", role(1));
    for (config, word) in [
        ("secret-line".to_owned(), "line 1"),
        (
            "[default]\naws_access_key_id = x\n".into(),
            "aws_secret_access_key",
        ),
        (
            "[default]\naws_secret_access_key = secret\n".into(),
            "aws_access_key_id",
        ),
        (
            "[default]\nrole_arn = app\nsource_profile = base\n".into(),
            "role_arn of profile 'default'",
        ),
        (assuming(""), "source_profile"),
        (
            assuming("source_profile = base\ncredential_source = Environment"),
            "one of",
        ),
        (assuming("source_profile = nobody"), "'nobody'"),
        (assuming("source_profile = default"), "leads back"),
        (
            assuming(
                "source_profile = b\n[profile b]\nrole_arn = arn:aws:iam::1:role/b\nsource_profile = default",
            ),
            "leads back",
        ),
        (
            assuming("source_profile = b\n[profile b]\nregion = x"),
            "'b'",
        ),
        (assuming("credential_source = Magic"), "'Magic'"),
        (
            assuming("source_profile = base\nmfa_serial = x"),
            "mfa_serial",
        ),
        (
            assuming("source_profile = base\nduration_seconds = 1h"),
            "duration_seconds",
        ),
        (
            assuming("source_profile = base\nexternal_id = a b"),
            "external_id",
        ),
        (
            assuming("source_profile = base\nrole_session_name = a/b"),
            "role_session_name",
        ),
        (assuming("web_identity_token_file = /missing"), "/missing"),
        (
            "[default]\ncredential_process = /bin/secret\n".into(),
            "credential_process",
        ),
        ("[default]\nsso_session = corp\n".into(), "sso_session"),
        (
            format!(
                "[default]\nrole_arn = arn:aws-cn:iam::1:role/x\nsource_profile = base\n{BASE_KEYS}"
            ),
            "aws-cn",
        ),
        (
            format!("{}{chain}", assuming("source_profile = p0")),
            "more than 4",
        ),
    ] {
        let host = host(&config, BASE_KEYS);
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
        assert!(!error.message().contains("secret-line"), "{error}");
        assert!(host.sent().is_empty(), "{error}");
    }
}
