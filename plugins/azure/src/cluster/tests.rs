//! The matrix of name, address and certificate authority, and what becomes of Azure's answers.

use super::*;
use crate::Azure;
use gatepass_sdk::testing::{self, ScriptedHost};
use gatepass_sdk::{ErrorCode, Provider};
use std::time::Duration;

const ID: &str = "/subscriptions/11111111-aaaa-4bbb-8ccc-222222222222/resourceGroups/group/providers/Microsoft.ContainerService/managedClusters/prod";
const SERVER: &str = "https://prod-abc.hcp.westeurope.azmk8s.io:443";
const CANONICAL: &str = "https://prod-abc.hcp.westeurope.azmk8s.io";
const PRIVATE: &str = "https://prod-abc.privatelink.westeurope.azmk8s.io:8443";
const PEM: &str = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
const OTHER_PEM: &str = "-----BEGIN CERTIFICATE-----\nWFla\n-----END CERTIFICATE-----\n";
const DESCRIBED: &str =
    r#"{"id":"x","properties":{"provisioningState":"Succeeded","aadProfile":{"managed":true}}}"#;

fn facts() -> Facts {
    Some(Default::default())
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

fn request(parameters: &[(&str, &str)]) -> Request {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        parameters: parameters.iter().map(own).collect(),
        ..Request::default()
    }
}

fn kubeconfig(servers: &[(&str, &str)]) -> String {
    let mut yaml = String::from("apiVersion: v1\nkind: Config\nclusters:\n");
    for (server, authority) in servers {
        let data = STANDARD.encode(authority);
        yaml.push_str(&format!(
            "- cluster:\n    certificate-authority-data: {data}\n    server: {server}\n  name: prod\n"
        ));
    }
    yaml.push_str("contexts:\n- context: {cluster: prod, user: u}\n  name: prod\ncurrent-context: prod\nusers:\n- name: u\n  user: {token: hunter2}\n");
    yaml
}

fn listed(kubeconfigs: &[String]) -> String {
    let items: Vec<serde_json::Value> = kubeconfigs
        .iter()
        .map(|yaml| serde_json::json!({"name": "clusterUser", "value": STANDARD.encode(yaml)}))
        .collect();
    serde_json::json!({ "kubeconfigs": items }).to_string()
}

fn usual() -> String {
    listed(&[
        kubeconfig(&[(SERVER, PEM)]),
        kubeconfig(&[(PRIVATE, OTHER_PEM)]),
    ])
}

fn answering(described: &str, listed: &str) -> ScriptedHost {
    ScriptedHost::new()
        .answer(Response::new(200, described.as_bytes()))
        .answer(Response::new(200, listed.as_bytes()))
}

fn tokens(host: &ScriptedHost, count: usize) -> Vec<Credential> {
    ["kubernetes-token", "manager-token", "surplus"]
        .iter()
        .take(count)
        .map(|token| Credential::bearer(*token, host.now() + Duration::from_secs(3600)))
        .collect()
}

fn config(
    reference: &ClusterReference,
    request: &Request,
    host: &ScriptedHost,
) -> Result<ClusterAccess, Error> {
    let wanted = Azure.cluster(reference, &facts(), request)?.len();
    Azure.rest_config(reference, &tokens(host, wanted), &facts(), request, host)
}

#[test]
fn each_sufficient_reference_finds_server_and_authority() {
    for (reference, lookups, server, authority) in [
        (reference(Some(ID), None, None), 2, CANONICAL, PEM),
        (
            reference(Some(ID), Some(CANONICAL), None),
            2,
            CANONICAL,
            PEM,
        ),
        (reference(Some(ID), Some(SERVER), None), 2, CANONICAL, PEM),
        (
            reference(Some(ID), Some(PRIVATE), None),
            2,
            PRIVATE,
            OTHER_PEM,
        ),
        (
            reference(Some(ID), None, Some(OTHER_PEM)),
            2,
            CANONICAL,
            OTHER_PEM,
        ),
        (reference(None, Some(SERVER), Some(PEM)), 0, CANONICAL, PEM),
    ] {
        let host = answering(DESCRIBED, &usual());
        let access = config(&reference, &request(&[]), &host).unwrap();
        assert_eq!(access.server, server, "{reference:?}");
        assert_eq!(access.ca_certificate.as_deref(), Some(authority));
        assert_eq!(access.material, Material::Bearer("kubernetes-token".into()));
        let expiry = host.now() + Duration::from_secs(3600);
        assert_eq!(access.expires_at, Some(expiry));
        assert_eq!(host.sent().len(), lookups, "{reference:?}");
    }
}

#[test]
fn each_insufficient_reference_says_what_to_set_or_remove() {
    let (address, pem) = (Some(SERVER), Some(PEM));
    let id = |from: &str, to: &str| ID.replacen(from, to, 1);
    let long = id(
        "managedClusters/prod",
        &format!("managedClusters/{}", "a".repeat(64)),
    );
    for (reference, word) in [
        (reference(None, None, None), "set name"),
        (reference(None, address, None), "set name"),
        (reference(None, None, pem), "set name"),
        (reference(Some(ID), address, pem), "remove one of the three"),
        (reference(Some(""), None, None), "cluster ''"),
        (reference(Some("prod"), None, None), "resource ID"),
        (
            reference(Some(&id("/subscriptions", "subscriptions")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("1111", "x111")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("group/", "/")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("group/", "../")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("group/", "a%2fb/")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("group/", "a b/")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("ContainerService", "Compute")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("prod", "prod/x")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("prod", "prod?x=y")), None, None),
            "resource ID",
        ),
        (
            reference(Some(&id("prod", "..")), None, None),
            "resource ID",
        ),
        (reference(Some(&id("prod", "")), None, None), "resource ID"),
        (reference(Some(&long), None, None), "resource ID"),
        (reference(Some(ID), Some("http://x"), None), "address"),
        (reference(Some(ID), None, Some("x")), "ca-certificate"),
    ] {
        let error = Azure
            .cluster(&reference, &facts(), &request(&[]))
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
        assert!(error.message().contains(word), "{word}: {error}");
    }
}

#[test]
fn the_words_of_a_resource_id_are_of_any_case() {
    let id = ID
        .replacen("resourceGroups", "resourcegroups", 1)
        .replacen(
            "Microsoft.ContainerService",
            "microsoft.containerservice",
            1,
        )
        .replacen("managedClusters", "MANAGEDCLUSTERS", 1)
        .replacen("aaaa", "AAAA", 1);
    assert_eq!(ClusterId::parse(&id).unwrap().to_string(), ID);
}

#[test]
fn the_first_token_is_the_servers_and_the_second_is_there_for_a_lookup_alone() {
    let aks = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";
    let arm = |suffix: &str| format!("https://management.core.{suffix}//.default");
    let named = reference(Some(ID), None, None);
    let known = reference(None, Some(SERVER), Some(PEM));
    let plain = request(&[]);
    let china = request(&[("cloud", "china")]);
    let own = |pairs: &[(&str, &str)]| {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Some(pairs.iter().map(own).collect())
    };
    let government = own(&[("authority", "https://login.microsoftonline.us")]);
    let stack = own(&[(
        "environment.token-audience",
        "https://management.stack.example",
    )]);
    for (reference, request, facts, scopes) in [
        (&known, &plain, facts(), vec![aks.to_owned()]),
        (
            &named,
            &plain,
            facts(),
            vec![aks.into(), arm("windows.net")],
        ),
        (
            &named,
            &china,
            facts(),
            vec![aks.into(), arm("chinacloudapi.cn")],
        ),
        (
            &named,
            &china,
            None,
            vec![aks.into(), arm("chinacloudapi.cn")],
        ),
        (
            &named,
            &plain,
            government,
            vec![aks.into(), arm("usgovcloudapi.net")],
        ),
        (
            &named,
            &plain,
            stack,
            vec![
                aks.into(),
                "https://management.stack.example/.default".into(),
            ],
        ),
    ] {
        let wanted = Azure.cluster(reference, &facts, request).unwrap();
        let found: Vec<String> = wanted
            .iter()
            .flat_map(|wanted| wanted.scopes.clone())
            .collect();
        assert_eq!(found, scopes);
        assert!(
            wanted
                .iter()
                .all(|wanted| wanted.parameters == request.parameters)
        );
    }
    let error = Azure.cluster(&named, &None, &plain).unwrap_err();
    assert_eq!(error.code(), ErrorCode::NeedsFacts);
    let scopes = Request {
        scopes: vec!["https://vault.azure.net/.default".into()],
        ..request(&[])
    };
    for refused in [scopes, request(&[("resource", "storage")])] {
        let error = Azure.cluster(&named, &facts(), &refused).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
    }
}

#[test]
fn every_cloud_has_a_resource_manager_of_its_own() {
    let reference = reference(Some(ID), None, None);
    let stack = Some(
        [(
            "environment.resource-manager".to_owned(),
            "https://management.stack.example".to_owned(),
        )]
        .into(),
    );
    for (request, facts, manager) in [
        (request(&[]), facts(), "management.azure.com"),
        (
            request(&[("cloud", "china")]),
            facts(),
            "management.chinacloudapi.cn",
        ),
        (
            request(&[("cloud", "us-government")]),
            stack.clone(),
            "management.usgovcloudapi.net",
        ),
        (request(&[]), stack, "management.stack.example"),
    ] {
        let host = answering(DESCRIBED, &usual());
        let access = Azure.rest_config(&reference, &tokens(&host, 2), &facts, &request, &host);
        access.unwrap();
        let sent = host.sent();
        let urls: Vec<(&str, &str)> = sent
            .iter()
            .map(|sent| (sent.method(), sent.url()))
            .collect();
        let get = format!("https://{manager}{ID}?api-version=2024-10-01");
        let post =
            format!("https://{manager}{ID}/listClusterUserCredential?api-version=2024-10-01");
        assert_eq!(urls, [("GET", get.as_str()), ("POST", post.as_str())]);
        for request in &sent {
            let authorization = testing::header(request, "authorization");
            assert_eq!(authorization.as_deref(), Some("Bearer manager-token"));
            assert_eq!(testing::body(request), "");
        }
    }
}

#[test]
fn an_address_that_is_not_the_clusters_is_refused() {
    for address in ["https://evil.example", &format!("{CANONICAL}:6443")] {
        let host = answering(DESCRIBED, &usual());
        let reference = reference(Some(ID), Some(address), None);
        let error = config(&reference, &request(&[]), &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        for word in [address, CANONICAL, PRIVATE] {
            assert!(error.message().contains(word), "{error}");
        }
    }
}

#[test]
fn a_cluster_that_does_not_know_entra_is_refused_before_its_credentials_are_read() {
    for body in [
        r#"{"properties":{}}"#,
        r#"{"properties":{"aadProfile":null}}"#,
        r#"{"properties":null}"#,
        "{}",
    ] {
        let host = ScriptedHost::new().answer(Response::new(200, body.as_bytes()));
        let reference = reference(Some(ID), None, None);
        let error = config(&reference, &request(&[]), &host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{body}");
        assert!(error.message().contains("--enable-aad"), "{error}");
        assert_eq!(host.sent().len(), 1);
    }
}

#[test]
fn a_hostile_answer_is_an_error_that_shows_nothing_of_it() {
    let value = |value: &str| format!(r#"{{"kubeconfigs":[{{"name":"x","value":"{value}"}}]}}"#);
    let yaml = |yaml: &str| listed(&[yaml.to_owned()]);
    let whole = kubeconfig(&[(SERVER, PEM)]);
    let creating = r#"{"properties":{"provisioningState":"Creating","aadProfile":{}}}"#;
    let (unavailable, not_yet) = (ErrorCode::Unavailable, ErrorCode::NotYet);
    let level = |(name, of): (&str, &str)| format!("{name}: &{name} [{}]\n", [of; 16].join(","));
    let levels = [("a", "x"), ("b", "*a"), ("c", "*b"), ("e", "*c")].map(level);
    let bomb = format!("{}clusters: *e\n", levels.concat());
    for (described, listed, expected) in [
        ("", usual(), unavailable),
        ("null", usual(), unavailable),
        ("[]", usual(), unavailable),
        (r#"{"properties":[]}"#, usual(), unavailable),
        (r#"{"properties":{"aadProfile":{}"#, usual(), unavailable),
        (DESCRIBED, String::new(), unavailable),
        (DESCRIBED, "null".into(), unavailable),
        (DESCRIBED, "{}".into(), unavailable),
        (DESCRIBED, r#"{"kubeconfigs":null}"#.into(), unavailable),
        (DESCRIBED, r#"{"kubeconfigs":[]}"#.into(), unavailable),
        (DESCRIBED, r#"{"kubeconfigs":{}}"#.into(), unavailable),
        (DESCRIBED, r#"{"kubeconfigs":[{}]}"#.into(), unavailable),
        (
            DESCRIBED,
            r#"{"kubeconfigs":[{"value":null}]}"#.into(),
            unavailable,
        ),
        (DESCRIBED, r#"{"kubeconfigs":"#.repeat(20_000), unavailable),
        (DESCRIBED, value(""), unavailable),
        (DESCRIBED, value("!"), unavailable),
        (DESCRIBED, value("//79"), unavailable),
        (DESCRIBED, yaml(""), unavailable),
        (DESCRIBED, yaml("hunter2"), unavailable),
        (DESCRIBED, yaml("clusters: []"), unavailable),
        (DESCRIBED, yaml("clusters: hunter2"), unavailable),
        (
            DESCRIBED,
            yaml("clusters: [{cluster: {server: x}}]"),
            unavailable,
        ),
        (
            DESCRIBED,
            yaml("clusters: [{cluster: {server: [x]}}]"),
            unavailable,
        ),
        (DESCRIBED, yaml(&"[".repeat(20_000)), unavailable),
        (DESCRIBED, yaml(&bomb), unavailable),
        (
            DESCRIBED,
            yaml(&whole.replacen("https", "http", 1)),
            unavailable,
        ),
        (
            DESCRIBED,
            yaml(&whole.replacen(":443", "/x", 1)),
            unavailable,
        ),
        (
            DESCRIBED,
            yaml(&kubeconfig(&[(SERVER, "hunter2")])),
            unavailable,
        ),
        (
            DESCRIBED,
            yaml(whole.split("server").next().unwrap()),
            unavailable,
        ),
        (creating, r#"{"kubeconfigs":[]}"#.into(), not_yet),
        (creating, "{}".into(), not_yet),
    ] {
        let host = answering(described, &listed);
        let error = config(&reference(Some(ID), None, None), &request(&[]), &host).unwrap_err();
        assert_eq!(error.code(), expected, "{described:.80} {listed:.80}");
        assert!(error.message().contains("cluster prod"), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
    }
}

#[test]
fn an_answer_that_is_cut_off_anywhere_is_an_error() {
    let (reference, whole) = (reference(Some(ID), None, None), usual());
    for end in (0..whole.len()).step_by(7) {
        let host = answering(DESCRIBED, whole.split_at(end).0);
        assert!(config(&reference, &request(&[]), &host).is_err(), "{end}");
    }
    let yaml = kubeconfig(&[(SERVER, PEM)]);
    for end in 0..yaml.find("https").unwrap() {
        let host = answering(DESCRIBED, &listed(&[yaml.split_at(end).0.to_owned()]));
        assert!(config(&reference, &request(&[]), &host).is_err(), "{end}");
    }
}

#[test]
fn a_refusal_of_the_resource_manager_is_classified() {
    for (status, code, expected) in [
        (404, "ResourceNotFound", ErrorCode::InvalidConfiguration),
        (403, "AuthorizationFailed", ErrorCode::Denied),
        (401, "ExpiredAuthenticationToken", ErrorCode::Denied),
        (429, "TooManyRequests", ErrorCode::Throttled),
        (503, "ServerTimeout", ErrorCode::Unavailable),
        (202, "", ErrorCode::Unavailable),
    ] {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"as told"}}}}"#);
        let refusal = || Response::new(status, body.as_bytes());
        let described = Response::new(200, DESCRIBED.as_bytes());
        for host in [
            ScriptedHost::new().answer(refusal()),
            ScriptedHost::new()
                .answer(described.clone())
                .answer(refusal()),
        ] {
            let error = config(&reference(Some(ID), None, None), &request(&[]), &host);
            let error = error.unwrap_err();
            assert_eq!(error.code(), expected, "{error}");
            assert!(error.message().contains("cluster prod"), "{error}");
            host.finish();
        }
    }
}

#[test]
fn credentials_that_do_not_fit_are_internal() {
    let host = ScriptedHost::new();
    let named = reference(Some(ID), None, None);
    let known = reference(None, Some(SERVER), Some(PEM));
    let wrong = Credential::subject_token();
    for (reference, access) in [
        (&named, tokens(&host, 0)),
        (&named, tokens(&host, 1)),
        (&named, tokens(&host, 3)),
        (&known, tokens(&host, 2)),
        (&known, vec![wrong.clone()]),
        (&named, vec![wrong.clone(), wrong]),
    ] {
        let error = Azure.rest_config(reference, &access, &facts(), &request(&[]), &host);
        assert_eq!(error.unwrap_err().code(), ErrorCode::Internal);
        assert!(host.sent().is_empty());
    }
}
