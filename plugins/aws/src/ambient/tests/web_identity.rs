//! The token in a file.

use super::*;

fn host(token: &[u8]) -> ScriptedHost {
    ScriptedHost::new()
        .variable("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")
        .variable("AWS_ROLE_ARN", ROLE)
        .file("/token", token)
}

#[test]
fn the_token_becomes_a_session_without_its_line_break() {
    for (name, sent_name) in [
        (None, "ambient.us-east-1.gatepass"),
        (Some("controller"), "controller"),
    ] {
        let host = host(b"header.claims.signature\n")
            .answer(ok(&session("AssumeRoleWithWebIdentity", SESSION)));
        let host = match name {
            None => host,
            Some(name) => host.variable("AWS_ROLE_SESSION_NAME", name),
        };
        let credential = keys(&host).unwrap();
        assert_eq!(shown(&credential), ["ASIAROLE", "role/key", "role-session"]);
        assert_eq!(attribute(&credential, "source"), Some("web-identity"));
        assert_eq!(attribute(&credential, "account"), Some("123456789012"));
        let sent = host.sent();
        assert_eq!(sent[0].url(), "https://sts.us-east-1.amazonaws.com/");
        assert_eq!(testing::header(&sent[0], "authorization"), None);
        assert_eq!(
            testing::body(&sent[0]),
            format!(
                "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fapp&RoleSessionName={sent_name}&WebIdentityToken=header.claims.signature"
            )
        );
    }
}

#[test]
fn a_file_that_holds_no_token_is_an_error_without_its_content() {
    let long = "a".repeat(20_001);
    for token in [
        &b""[..],
        b" \n ",
        b"two hidden",
        b"two\nhidden",
        b"\xff\xfehidden",
        "hidden\u{e9}".as_bytes(),
        long.as_bytes(),
    ] {
        let host = host(token);
        let error = keys(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains("'/token'"), "{error}");
        assert!(!error.message().contains("hidden"), "{error}");
        assert!(host.sent().is_empty());
    }
}

#[test]
fn what_the_variables_get_wrong_is_named() {
    for (name, value, word) in [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/missing", "/missing"),
        ("AWS_ROLE_ARN", "app", "AWS_ROLE_ARN 'app'"),
        (
            "AWS_ROLE_ARN",
            "arn:aws-cn:iam::1:role/app",
            "partition aws-cn",
        ),
        (
            "AWS_ROLE_SESSION_NAME",
            "a b",
            "AWS_ROLE_SESSION_NAME 'a b'",
        ),
    ] {
        let error = keys(&host(b"token").variable(name, value)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn a_refusal_is_the_error_and_the_node_is_not_asked() {
    let body = "<ErrorResponse><Error><Code>ExpiredTokenException</Code></Error></ErrorResponse>";
    let host = host(b"token").answer(egress::Response::new(400, body.as_bytes()));
    let error = keys(&host).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Denied);
    assert!(error.message().contains(ROLE), "{error}");
    assert_eq!(host.sent().len(), 1);
}
