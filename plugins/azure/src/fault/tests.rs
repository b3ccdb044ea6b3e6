//! Every code says who must act; every body that is not Azure's is judged by its status.

use super::*;
use gatepass_sdk::{ErrorCode, fault::MAX_WAIT};
use std::time::Duration;

fn entra(number: u64, status: u16) -> Error {
    let body = format!(
        r#"{{"error":"invalid_client","error_description":"AADSTS{number}: As told. Trace ID: 1\r\nCorrelation ID: 2","error_codes":[{number}],"timestamp":"2026-01-01 00:00:00Z","trace_id":"1","correlation_id":"2"}}"#
    );
    let response = Response::new(status, body.as_bytes());
    classify(Service::Entra, "doing", &response)
}

#[test]
fn every_code_of_entra_says_who_must_act() {
    use ErrorCode::{Denied, InvalidConfiguration, NotYet, Throttled, Unavailable};
    for (number, status, expected, word) in [
        (70_021, 400, NotYet, "minutes"),
        (700_211, 400, Denied, "issuer"),
        (700_212, 401, Denied, "audience"),
        (700_213, 401, Denied, "subject"),
        (7_002_137, 400, Denied, "upper and lower case"),
        (7_002_138, 401, Denied, "upper and lower case"),
        (700_024, 401, Denied, "clocks"),
        (700_082, 400, Denied, "clocks"),
        (500_133, 400, Denied, "clocks"),
        (900_384, 400, Denied, "keys"),
        (7_000_272, 401, Denied, "keys"),
        (700_021, 401, Denied, "another client"),
        (700_023, 401, Denied, "another client"),
        (90_061, 400, Unavailable, "discovery"),
        (900_612, 400, Unavailable, "discovery"),
        (700_016, 400, InvalidConfiguration, "client ID"),
        (7_000_215, 401, Denied, "secret"),
        (7_000_222, 401, Denied, "expired"),
        (700_027, 401, Denied, "certificate"),
        (7_000_112, 401, Denied, "disabled"),
        (53_003, 400, Denied, "policy"),
        (90_002, 400, InvalidConfiguration, "tenant"),
        (900_023, 400, InvalidConfiguration, "tenant"),
        (50_049, 400, InvalidConfiguration, "cloud"),
        (90_038, 400, InvalidConfiguration, "cloud"),
        (70_011, 400, InvalidConfiguration, "scope"),
        (1_002_012, 400, InvalidConfiguration, "scope"),
        (500_011, 400, InvalidConfiguration, "resource"),
        (50_196, 400, Throttled, "As told"),
        (90_055, 400, Throttled, "As told"),
        (90_033, 503, Unavailable, "As told"),
        (90_033, 400, Unavailable, "As told"),
        (50_033, 400, Unavailable, "As told"),
        (700_016, 429, Throttled, "As told"),
        (700_016, 500, Unavailable, "As told"),
        (90_061, 500, Unavailable, "discovery"),
        (12_345, 400, Denied, "As told"),
        (12_345, 401, Denied, "As told"),
    ] {
        let error = entra(number, status);
        assert_eq!(error.code(), expected, "{error}");
        let begin = format!("doing: Azure answered status {status}, AADSTS{number} (As told.)");
        assert!(error.message().starts_with(&begin), "{error}");
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn an_error_without_a_number_is_judged_by_its_word_and_status() {
    for (body, status, expected) in [
        (
            r#"{"error":"temporarily_unavailable"}"#,
            400,
            ErrorCode::Unavailable,
        ),
        (
            r#"{"error":"invalid_client","error_description":"no"}"#,
            401,
            ErrorCode::Denied,
        ),
        (
            r#"{"error":"invalid_client","error_codes":[700016]}"#,
            400,
            ErrorCode::InvalidConfiguration,
        ),
        (
            r#"{"error":"x","error_description":"AADSTS700016: no","error_codes":[]}"#,
            400,
            ErrorCode::InvalidConfiguration,
        ),
        (
            r#"{"error":"x","error_description":"AADSTS+700016: no"}"#,
            400,
            ErrorCode::Denied,
        ),
    ] {
        let response = Response::new(status, body.as_bytes());
        let error = classify(Service::Entra, "doing", &response);
        assert_eq!(error.code(), expected, "{error}");
    }
}

#[test]
fn every_other_service_has_statuses_of_its_own() {
    use ErrorCode::{Denied, InvalidConfiguration, NotYet, Throttled, Unavailable};
    use Service::{Metadata, Registry, ResourceManager};
    let oauth = r#"{"error":"invalid_request","error_description":"Identity not found"}"#;
    let acr = r#"{"errors":[{"code":"UNAUTHORIZED","message":"Identity not found","detail":[]}]}"#;
    let arm =
        |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"Identity not found"}}}}"#);
    for (service, body, status, expected, word) in [
        (Metadata, oauth.to_owned(), 400, Denied, "AZURE_CLIENT_ID"),
        (
            Metadata,
            oauth.replace("invalid_request", "invalid_resource"),
            400,
            InvalidConfiguration,
            "scope",
        ),
        (
            Metadata,
            oauth.replace("Identity", "AADSTS500011: Identity"),
            400,
            InvalidConfiguration,
            "resource",
        ),
        (Metadata, oauth.to_owned(), 404, NotYet, "70 s"),
        (Metadata, oauth.to_owned(), 410, NotYet, "70 s"),
        (Metadata, oauth.to_owned(), 429, Throttled, "429"),
        (Metadata, oauth.to_owned(), 500, Unavailable, "500"),
        (Metadata, oauth.to_owned(), 403, Denied, "403"),
        (Registry, acr.to_owned(), 401, Denied, "AcrPull"),
        (Registry, acr.to_owned(), 403, Denied, "AcrPull"),
        (
            Registry,
            acr.to_owned(),
            404,
            InvalidConfiguration,
            "name of the registry",
        ),
        (Registry, acr.to_owned(), 429, Throttled, "UNAUTHORIZED"),
        (Registry, acr.to_owned(), 503, Unavailable, "UNAUTHORIZED"),
        (
            ResourceManager,
            arm("AuthorizationFailed"),
            403,
            Denied,
            "Cluster User Role",
        ),
        (
            ResourceManager,
            arm("InvalidAuthenticationToken"),
            401,
            Denied,
            "tenant",
        ),
        (
            ResourceManager,
            arm("ResourceNotFound"),
            404,
            InvalidConfiguration,
            "resource ID",
        ),
        (
            ResourceManager,
            arm("SubscriptionNotFound"),
            400,
            InvalidConfiguration,
            "resource ID",
        ),
        (
            ResourceManager,
            arm("OperationNotAllowed"),
            409,
            Unavailable,
            "operation",
        ),
        (
            ResourceManager,
            arm("TooManyRequests"),
            429,
            Throttled,
            "TooManyRequests",
        ),
        (
            ResourceManager,
            arm("AuthorizationFailed"),
            503,
            Unavailable,
            "503",
        ),
    ] {
        let error = classify(service, "doing", &Response::new(status, body.as_bytes()));
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.message().contains("Identity not found"), "{error}");
        assert!(error.message().contains(word), "{error}");
    }
}

#[test]
fn a_body_that_is_not_azures_is_judged_by_its_status() {
    let brackets = "[".repeat(10_000);
    let nested = r#"{"error":"#.repeat(10_000);
    for body in [
        "",
        "<html><body><h1>Bad Gateway</h1></body></html>",
        "null",
        "[]",
        "{}",
        r#"{"error":null}"#,
        r#"{"error":7}"#,
        r#"{"error":[]}"#,
        r#"{"error":{"code":7}}"#,
        r#"{"error":{"code":"<script>"}}"#,
        r#"{"error":"a b","error_description":null}"#,
        r#"{"errors":[]}"#,
        r#"{"errors":{}}"#,
        r#"{"error":"x","error_codes":[-1]}"#,
        r#"{"error":"x","error_codes":["700016"]}"#,
        r#"{"error":"x","error_desc"#,
        "\u{0}\u{ff}",
        &brackets,
        &nested,
    ] {
        for service in [Service::Entra, Service::Registry, Service::ResourceManager] {
            for (status, expected) in [
                (204, ErrorCode::Unavailable),
                (302, ErrorCode::Unavailable),
                (400, ErrorCode::Denied),
                (401, ErrorCode::Denied),
                (407, ErrorCode::Denied),
                (408, ErrorCode::Unavailable),
                (418, ErrorCode::Denied),
                (429, ErrorCode::Throttled),
                (500, ErrorCode::Unavailable),
                (599, ErrorCode::Unavailable),
            ] {
                let response = Response::new(status, body.as_bytes());
                let error = classify(service, "doing", &response);
                assert_eq!(error.code(), expected, "{status} {error}");
                assert!(error.message().contains(&status.to_string()), "{error}");
                assert!(error.message().len() < 400, "{error}");
            }
        }
    }
}

#[test]
fn a_message_is_one_short_line_without_tokens() {
    let token = format!("ey{}", "J".repeat(200));
    for (message, expected) in [
        ("fine words", Some("fine words".to_owned())),
        (
            "two\nlines\tand\u{1b}[31m",
            Some("two lines and [31m".into()),
        ),
        ("", None),
        ("   ", None),
        ("token eyJhbGciOiJub25lIn0.e30. is bad", None),
        (token.as_str(), None),
        (&"word ".repeat(100), Some("word ".repeat(80))),
    ] {
        assert_eq!(presentable(message), expected, "{message}");
    }
}

#[test]
fn the_wait_is_azures_up_to_a_bound_and_only_where_waiting_helps() {
    for (value, expected) in [
        ("1", Some(Duration::from_secs(1))),
        ("18446744073709551615", Some(MAX_WAIT)),
        ("-1", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ] {
        for status in [429, 503] {
            let response = Response::new(status, b"").header("retry-after", value);
            let error = classify(Service::Entra, "doing", &response);
            assert_eq!(error.wait(), expected, "{value}");
        }
        let denied = Response::new(403, b"").header("retry-after", value);
        assert_eq!(classify(Service::Entra, "doing", &denied).wait(), None);
    }
}
