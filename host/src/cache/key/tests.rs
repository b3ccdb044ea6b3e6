use super::*;
use crate::provider::Facts;
use crate::request::CredentialRequestBuilder;
use crate::service_account::{ServiceAccount, ServiceAccountName};
use crate::subject::ObjectReference;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

const CA: &str = include_str!("../../../testdata/authority.pem");

fn account(namespace: &str, name: &str, uid: &str) -> Subject {
    Subject::ServiceAccount(Arc::new(ServiceAccount {
        name: ServiceAccountName::new(namespace, name).unwrap(),
        uid: uid.into(),
        resource_version: "1".into(),
        annotations: BTreeMap::new(),
    }))
}

fn request() -> CredentialRequestBuilder {
    CredentialRequest::builder("aws").service_account("a", "b")
}

fn lines(request: CredentialRequestBuilder) -> KeyLines {
    let audiences = ["sts.amazonaws.com".to_owned()];
    KeyLines::access(
        &request.build().unwrap(),
        "sha256:0",
        &account("a", "b", "u"),
        "arn",
        &audiences,
        &None,
    )
}

#[test]
fn the_lines_and_their_order_are_those_of_the_rfc() {
    let request = request()
        .scopes(["s1", "s2"])
        .region("us-east-1")
        .endpoint("https://sts.example")
        .proxy("http://proxy.example:8080")
        .parameter("duration-seconds", "900");
    let expected = "provider=aws\n\
        providerIdentity=arn\n\
        serviceAccountName=b\n\
        serviceAccountNamespace=a\n\
        serviceAccountTokenAudiences=sts.amazonaws.com\n\
        scopes=s1,s2\n\
        stsRegion=us-east-1\n\
        stsEndpoint=https://sts.example\n\
        proxyURL=http://proxy.example:8080\n\
        pluginDigest=sha256:0\n\
        serviceAccountUID=u\n\
        tokenLifetime=3600\n\
        parameter.duration-seconds=900";
    assert_eq!(lines(request).to_string(), expected);
}

#[test]
fn a_single_tenant_key_has_no_account_lines() {
    let request = CredentialRequest::builder("aws")
        .region("us-east-1")
        .build()
        .unwrap();
    let lines = KeyLines::access(&request, "d", &Subject::Ambient, "", &[], &None);
    assert!(!lines.to_string().contains("serviceAccount"), "{lines}");
    assert!(
        lines
            .to_string()
            .starts_with("provider=aws\nstsRegion=us-east-1\n"),
        "{lines}"
    );
}

#[test]
fn a_proxy_password_is_in_the_key_but_not_shown() {
    let with = lines(request().proxy("http://u:canary@p.example"));
    let without = lines(request().proxy("http://u:other@p.example"));
    assert_ne!(with.key(), without.key());
    assert!(!format!("{with} {with:?}").contains("canary"));
}

/// Every value that tries to look like a line, an item or an escape.
const FORGERIES: &[&str] = &[
    "x",
    "x,y",
    "x\\,y",
    "x\\",
    "x\\\\",
    "x=y",
    "x\\ny",
    "\\e",
    "x\\qy",
    "us-east-1\\nstsEndpoint=https://evil",
    "",
];

#[test]
fn no_two_different_requests_share_a_key() {
    let mut seen: HashMap<CacheKey, String> = HashMap::new();
    let mut insert = |lines: KeyLines, what: String| {
        if let Some(other) = seen.insert(lines.key(), what.clone()) {
            panic!("{what} has the key of {other}");
        }
    };
    insert(lines(request()), "nothing".into());
    for value in FORGERIES.iter().filter(|value| !value.is_empty()) {
        insert(lines(request().region(*value)), format!("region {value:?}"));
        insert(
            lines(request().endpoint(*value)),
            format!("endpoint {value:?}"),
        );
        insert(
            lines(request().scopes([*value])),
            format!("scope {value:?}"),
        );
        insert(
            lines(request().scopes([*value, "z"])),
            format!("scopes {value:?}, z"),
        );
        insert(
            lines(request().parameter("p", *value)),
            format!("parameter p={value:?}"),
        );
        if *value != "p" {
            insert(
                lines(request().parameter(*value, "v")),
                format!("parameter {value:?}=v"),
            );
        }
    }
    insert(lines(request().scopes(["x", "y"])), "scopes x and y".into());
    insert(
        lines(request().parameter("p", "")),
        "empty parameter".into(),
    );
}

#[test]
fn every_input_of_an_access_token_changes_its_key() {
    let base = request().build().unwrap();
    let facts: Facts = Some(Arc::new(BTreeMap::from([("k".to_owned(), "v".to_owned())])));
    let subject = account("a", "b", "u");
    let audiences = ["x".to_owned()];
    let key = |request: &CredentialRequest,
               digest,
               subject: &Subject,
               identity,
               audiences: &[String],
               facts: &Facts| {
        KeyLines::access(request, digest, subject, identity, audiences, facts).key()
    };
    let object = |name: &str| {
        Subject::Object(ObjectReference {
            api_version: "v1".into(),
            kind: "K".into(),
            resource: "ks".into(),
            namespace: "a".into(),
            name: name.into(),
            uid: "u".into(),
        })
    };
    let built = |request: CredentialRequestBuilder| request.build().unwrap();
    let annotated = Subject::ServiceAccount(Arc::new(ServiceAccount {
        annotations: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        ..ServiceAccount::clone(subject.service_account().unwrap())
    }));
    let lifetime = request()
        .token_lifetime(std::time::Duration::from_secs(900))
        .build()
        .unwrap();
    let keys = [
        key(&base, "d", &subject, "i", &audiences, &None),
        key(&base, "e", &subject, "i", &audiences, &None),
        key(&base, "d", &account("a", "c", "u"), "i", &audiences, &None),
        key(&base, "d", &account("c", "b", "u"), "i", &audiences, &None),
        key(&base, "d", &account("a", "b", "v"), "i", &audiences, &None),
        key(&base, "d", &Subject::Ambient, "i", &audiences, &None),
        key(&base, "d", &object("b"), "i", &audiences, &None),
        key(&base, "d", &object("c"), "i", &audiences, &None),
        key(&base, "d", &subject, "j", &audiences, &None),
        key(&base, "d", &subject, "i", &["y".to_owned()], &None),
        key(
            &base,
            "d",
            &subject,
            "i",
            &["x".to_owned(), "y".to_owned()],
            &None,
        ),
        key(&base, "d", &subject, "i", &audiences, &facts),
        key(&lifetime, "d", &subject, "i", &audiences, &None),
        key(&base, "d", &annotated, "i", &audiences, &None),
        key(
            &built(request().ca(CA)),
            "d",
            &subject,
            "i",
            &audiences,
            &None,
        ),
        key(
            &built(request().audiences(["x"])),
            "d",
            &subject,
            "i",
            &audiences,
            &None,
        ),
        key(
            &built(request().proxy("http://p.example")),
            "d",
            &subject,
            "i",
            &audiences,
            &None,
        ),
    ];
    for (index, one) in keys.iter().enumerate() {
        for (other_index, other) in keys.iter().enumerate().skip(index + 1) {
            assert_ne!(one, other, "inputs {index} and {other_index}");
        }
    }
}

#[test]
fn registry_and_cluster_keys_hold_every_input() {
    let access = lines(request()).key();
    let plain = request().build().unwrap();
    let region = request().region("r").build().unwrap();
    let target = |host: &str, input: &str| RegistryTarget {
        host: host.into(),
        cache_input: input.into(),
        access: crate::request::AccessRequest::default(),
    };
    let cluster = |name: Option<&str>, address: Option<&str>| ClusterReference {
        name: name.map(Into::into),
        address: address.map(Into::into),
        ca: None,
    };
    let other = lines(request().region("x")).key();
    let facts: Facts = Some(Arc::new(BTreeMap::from([("k".to_owned(), "v".to_owned())])));
    let with_ca = ClusterReference {
        ca: Some(CA.parse().unwrap()),
        ..cluster(Some("c"), None)
    };
    let requested = |request: CredentialRequestBuilder| {
        let request = request.build().unwrap();
        KeyLines::registry(access, &target("h", "i"), &request, &None).key()
    };
    let keys = [
        KeyLines::registry(access, &target("h", "i"), &plain, &None).key(),
        KeyLines::registry(other, &target("h", "i"), &plain, &None).key(),
        KeyLines::registry(access, &target("g", "i"), &plain, &None).key(),
        KeyLines::registry(access, &target("h", "j"), &plain, &None).key(),
        KeyLines::registry(access, &target("h", "i"), &region, &None).key(),
        KeyLines::registry(access, &target("h", "i"), &plain, &facts).key(),
        KeyLines::cluster(&[access], &cluster(Some("c"), None), &plain, &None).key(),
        KeyLines::cluster(&[access, other], &cluster(Some("c"), None), &plain, &None).key(),
        KeyLines::cluster(&[access], &cluster(None, Some("c")), &plain, &None).key(),
        KeyLines::cluster(&[access], &cluster(Some("c"), Some("c")), &plain, &None).key(),
        KeyLines::cluster(&[access], &cluster(Some("c"), None), &region, &None).key(),
        KeyLines::cluster(&[access], &cluster(Some("c"), None), &plain, &facts).key(),
        KeyLines::cluster(&[access], &with_ca, &plain, &None).key(),
        requested(request().audiences(["a"])),
        requested(request().scopes(["a"])),
        requested(request().endpoint("a")),
        requested(request().parameter("a", "b")),
    ];
    let distinct: std::collections::HashSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
}
