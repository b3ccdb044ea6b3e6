//! What annotations, requests and facts make of a subject.

use super::*;
use gatepass_sdk::{ErrorCode, ObjectReference, testing};

const CLIENT: &str = "11111111-aaaa-4bbb-8ccc-222222222222";
const TENANT: &str = "99999999-aaaa-4bbb-8ccc-222222222222";

fn facts(pairs: &[(&str, &str)]) -> Facts {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Some(pairs.iter().map(own).collect())
}

fn account(annotations: &[(&str, &str)]) -> Subject {
    testing::service_account("team-a", "app", annotations)
}

fn whole() -> Subject {
    account(&[(CLIENT_ID, CLIENT), (TENANT_ID, TENANT)])
}

fn request(parameters: &[(&str, &str)]) -> Request {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        parameters: parameters.iter().map(own).collect(),
        ..Request::default()
    }
}

fn with_endpoint(endpoint: &str) -> Request {
    Request {
        endpoint: Some(endpoint.into()),
        ..Request::default()
    }
}

fn with_scopes(scopes: &[&str]) -> Request {
    Request {
        scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
        ..Request::default()
    }
}

#[test]
fn an_account_becomes_the_client_of_its_annotations() {
    let own = facts(&[("tenant", "contoso.com")]);
    let upper = CLIENT.to_ascii_uppercase();
    for (subject, facts, identity_) in [
        (whole(), facts(&[]), format!("{TENANT}/{CLIENT}")),
        (whole(), own.clone(), format!("{TENANT}/{CLIENT}")),
        (
            account(&[(CLIENT_ID, CLIENT)]),
            own.clone(),
            format!("contoso.com/{CLIENT}"),
        ),
        (
            account(&[(CLIENT_ID, &upper), (TENANT_ID, "Fabrikam.com")]),
            own,
            format!("fabrikam.com/{CLIENT}"),
        ),
    ] {
        let answer = identity(&subject, &facts, &Request::default());
        assert_eq!(answer, Ok(identity_));
    }
}

#[test]
fn facts_are_asked_for_only_where_they_decide() {
    let china = request(&[("cloud", "china")]);
    let answer = identity(&whole(), &None, &china);
    assert_eq!(answer, Ok(format!("{TENANT}/{CLIENT}")));
    for (subject, request) in [
        (whole(), Request::default()),
        (account(&[(CLIENT_ID, CLIENT)]), china),
        (Subject::Ambient, Request::default()),
    ] {
        let error = identity(&subject, &None, &request).unwrap_err();
        assert_eq!(error.code(), ErrorCode::NeedsFacts, "{subject:?}");
    }
    let wrong = account(&[(CLIENT_ID, "app")]);
    let error = identity(&wrong, &None, &Request::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
}

#[test]
fn the_process_itself_is_ambient_and_its_request_is_checked() {
    let answer = identity(&Subject::Ambient, &facts(&[]), &Request::default());
    assert_eq!(answer, Ok("ambient".into()));
    let wrong = with_scopes(&["read"]);
    assert!(identity(&Subject::Ambient, &facts(&[]), &wrong).is_err());
}

#[test]
fn an_object_is_unsupported() {
    let object = Subject::Object(ObjectReference {
        api_version: "v1".into(),
        kind: "Pod".into(),
        resource: "pods".into(),
        namespace: "a".into(),
        name: "b".into(),
        uid: "c".into(),
    });
    let error = identity(&object, &facts(&[]), &Request::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unsupported);
    for subject in [object, Subject::Ambient] {
        assert!(audience(&subject, &facts(&[]), &Request::default()).is_err());
    }
}

#[test]
fn what_is_wrong_is_named_with_its_value() {
    let plain = Request::default;
    let region = Request {
        region: Some("westeurope".into()),
        ..plain()
    };
    let contradiction = Request {
        endpoint: Some("https://login.microsoftonline.us".into()),
        ..request(&[("cloud", "china")])
    };
    let both = Request {
        scopes: vec!["https://vault.azure.net/.default".into()],
        ..request(&[("resource", "storage")])
    };
    let two = with_scopes(&["https://a.example/.default", "https://b.example/.default"]);
    let named = |text| account(&[(CLIENT_ID, text), (TENANT_ID, TENANT)]);
    let placed = |text| account(&[(CLIENT_ID, CLIENT), (TENANT_ID, text)]);
    let only = account(&[(CLIENT_ID, CLIENT)]);
    for (subject, facts, request, words) in [
        (account(&[]), facts(&[]), plain(), [CLIENT_ID, "team-a/app"]),
        (named(""), facts(&[]), plain(), [CLIENT_ID, "team-a/app"]),
        (named("app"), facts(&[]), plain(), [CLIENT_ID, "'app'"]),
        (placed(""), facts(&[]), plain(), [TENANT_ID, "''"]),
        (
            placed("common"),
            facts(&[]),
            plain(),
            [TENANT_ID, "'common'"],
        ),
        (
            only.clone(),
            facts(&[]),
            plain(),
            [TENANT_ID, "AZURE_TENANT_ID"],
        ),
        (
            only,
            facts(&[("tenant", "contoso.com")]),
            request(&[("cloud", "china")]),
            ["contoso.com", "not china"],
        ),
        (whole(), facts(&[]), region, ["region", "westeurope"]),
        (
            whole(),
            facts(&[]),
            with_endpoint("https://login.evil.example"),
            ["endpoint", "login.evil.example"],
        ),
        (
            whole(),
            facts(&[]),
            contradiction,
            ["us-government", "china"],
        ),
        (whole(), facts(&[]), both, ["resource", "vault.azure.net"]),
        (whole(), facts(&[]), two, ["one resource", "b.example"]),
        (
            whole(),
            facts(&[]),
            with_scopes(&["read"]),
            ["scopes 'read'", "/.default"],
        ),
        (
            whole(),
            facts(&[]),
            with_scopes(&["/.default"]),
            ["scopes", "resource"],
        ),
        (
            whole(),
            facts(&[]),
            with_scopes(&["https://a b/.default"]),
            ["scopes", "without spaces"],
        ),
    ] {
        let error = identity(&subject, &facts, &request).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        for word in words {
            assert!(error.message().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn authority_audience_and_scope_follow_the_cloud() {
    let gov = facts(&[("authority", "https://login.microsoftonline.us")]);
    let arm = |cloud: Cloud| cloud.scope(Resource::Management);
    for (request, facts, host, audience_, scope) in [
        (
            Request::default(),
            facts(&[]),
            "login.microsoftonline.com",
            "api://AzureADTokenExchange",
            arm(Cloud::Public),
        ),
        (
            Request::default(),
            gov.clone(),
            "login.microsoftonline.us",
            "api://AzureADTokenExchangeUSGov",
            arm(Cloud::UsGovernment),
        ),
        (
            request(&[("cloud", "china"), ("resource", "key-vault")]),
            gov.clone(),
            "login.chinacloudapi.cn",
            "api://AzureADTokenExchangeChina",
            "https://vault.azure.cn/.default",
        ),
        (
            with_endpoint("https://login.partner.microsoftonline.cn/"),
            gov,
            "login.partner.microsoftonline.cn",
            "api://AzureADTokenExchangeChina",
            arm(Cloud::China),
        ),
        (
            with_scopes(&["499b84ac-1321-427f-aa17-267ca6975798/.default"]),
            facts(&[]),
            "login.microsoftonline.com",
            "api://AzureADTokenExchange",
            "499b84ac-1321-427f-aa17-267ca6975798/.default",
        ),
    ] {
        let terms = Terms::parse(&request, &facts).unwrap();
        assert_eq!(terms.authority.host(), host);
        assert_eq!(terms.scope, scope);
        let audiences = audience(&whole(), &facts, &request);
        assert_eq!(audiences, Ok(vec![audience_.to_owned()]));
    }
}

#[test]
fn the_environment_file_counts_unless_the_request_names_a_cloud() {
    let stack = facts(&[(
        "environment.token-audience",
        "https://management.stack.example/x",
    )]);
    let scope = |request: &Request| Terms::parse(request, &stack).unwrap().scope;
    assert_eq!(
        scope(&Request::default()),
        "https://management.stack.example/x/.default"
    );
    let public = request(&[("cloud", "public")]);
    assert_eq!(scope(&public), Cloud::Public.scope(Resource::Management));
    let storage = request(&[("resource", "storage")]);
    assert_eq!(scope(&storage), "https://storage.azure.com/.default");
}

#[test]
fn the_audience_of_a_scope_keeps_its_own_slash() {
    for (scope, audience) in [
        (
            "https://management.core.windows.net//.default",
            "https://management.core.windows.net/",
        ),
        (
            "https://vault.azure.net/.default",
            "https://vault.azure.net",
        ),
        (
            "6dae42f8-4368-4678-94ff-3960e28e3630/.default",
            "6dae42f8-4368-4678-94ff-3960e28e3630",
        ),
    ] {
        let terms = Terms::parse(&with_scopes(&[scope]), &facts(&[])).unwrap();
        assert_eq!(terms.audience(), audience);
    }
}

#[test]
fn access_has_the_scope_of_its_service_and_refuses_the_callers() {
    let china = request(&[("cloud", "china")]);
    let access_ = access(&china, "x/.default").unwrap();
    assert_eq!(access_.scopes, ["x/.default"]);
    assert_eq!(access_.parameters, china.parameters);
    for request in [
        with_scopes(&["https://vault.azure.net/.default"]),
        request(&[("resource", "storage")]),
        request(&[("cloud", "mars")]),
    ] {
        let error = access(&request, "x/.default").unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    }
}
