use super::*;
use crate::ErrorKind;

fn refused(builder: CredentialRequestBuilder) -> String {
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
    error.to_string()
}

fn request() -> CredentialRequestBuilder {
    CredentialRequest::builder("aws")
}

#[test]
fn every_broken_field_is_named() {
    let huge = "x".repeat(MAX_TEXT + 1);
    let cases = [
        (CredentialRequest::builder(""), "provider"),
        (request().service_account("A", "b"), "namespace 'A'"),
        (
            request().service_account("a", "b_c"),
            "service account name 'b_c'",
        ),
        (request().namespace(""), "namespace ''"),
        (request().audiences([""]), "audience"),
        (
            request().audiences(["a", "a"]),
            "audience 'a' is given twice",
        ),
        (request().audiences(["a\nb"]), "control characters"),
        (request().scopes([huge.as_str()]), "scope"),
        (
            request().audiences((0..65).map(|index| index.to_string())),
            "65 values",
        ),
        (request().region(""), "region"),
        (request().endpoint("\0"), "endpoint"),
        (request().region("a\u{202e}b"), "region \"a\\u{202e}b\""),
        (request().scopes(["\u{2066}"]), "scope \"\\u{2066}\""),
        (request().audiences(["a\u{61c}"]), "invisible"),
        (request().parameter("", "x"), "parameter name"),
        (request().proxy("ftp://proxy"), "proxy"),
        (request().proxy("not a url"), "proxy"),
        (request().ca("not pem"), "certificate authority"),
        (request().token_lifetime(Duration::from_secs(599)), "599 s"),
        (
            request().token_lifetime(Duration::from_secs(86_401)),
            "86401 s",
        ),
    ];
    for (builder, expected) in cases {
        let message = refused(builder);
        assert!(message.contains(expected), "{message:?} lacks {expected:?}");
    }
}

#[test]
fn a_chain_is_bounded_and_starts_somewhere() {
    let keys = || {
        StartingKeys::new(crate::AwsKeys {
            access_key_id: "AKIA".into(),
            secret_access_key: "canary".into(),
            session_token: None,
        })
    };
    let link = AccessRequest::default;
    let long = (0..=MAX_LINKS).fold(request(), |request, _| request.link(link()));
    assert!(refused(long).contains("longer than 4"));
    assert!(refused(request().start_with(keys())).contains("need a link"));
    let unused = request().start_with(keys()).link(link());
    for builder in [
        unused.clone().parameter("expected-account", "1"),
        unused.clone().audiences(["a"]),
        unused.clone().scopes(["s"]),
        unused.endpoint("https://e.example"),
    ] {
        assert!(refused(builder).contains("no effect"));
    }
    let audience = AccessRequest {
        audiences: vec!["a".into()],
        ..link()
    };
    assert!(refused(request().link(audience)).contains("no audiences"));
    let good = request().start_with(keys()).link(link()).build().unwrap();
    assert!(!format!("{good:?}").contains("canary"));
    assert_ne!(good, request().link(link()).build().unwrap());
}

#[test]
fn a_link_has_the_region_of_the_first_request_unless_it_names_its_own() {
    let own = AccessRequest {
        region: Some("eu-west-1".into()),
        ..AccessRequest::default()
    };
    let request = request().region("us-east-1").build().unwrap();
    let region = |link: &AccessRequest| request.link(link).access().region.clone();
    assert_eq!(
        region(&AccessRequest::default()).as_deref(),
        Some("us-east-1")
    );
    assert_eq!(region(&own).as_deref(), Some("eu-west-1"));
}

#[test]
fn an_object_is_named_as_kubernetes_names_objects() {
    let object = |namespace: &str, resource: &str| {
        request().subject(SubjectReference::Object(crate::ObjectReference {
            api_version: "source.toolkit.fluxcd.io/v1".into(),
            kind: "OCIRepository".into(),
            resource: resource.into(),
            namespace: namespace.into(),
            name: "app".into(),
            uid: "u".into(),
        }))
    };
    assert!(object("tenant-a", "ocirepositories").build().is_ok());
    assert!(refused(object("a/b", "ocirepositories")).contains("namespace"));
    assert!(refused(object("a", "x/../y")).contains("resource"));
}

#[test]
fn a_proxy_password_is_never_shown() {
    let request = request()
        .proxy("http://user:canary@proxy.example")
        .build()
        .unwrap();
    assert!(!format!("{request:?}").contains("canary"));
    let message = refused(self::request().proxy("ftp://user:canary@proxy.example"));
    assert!(!message.contains("canary"), "{message}");
}
