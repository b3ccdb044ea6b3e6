//! Every kind of answer, and what it says of who must act.

use super::*;
use gatepass_sdk::{ErrorCode, egress::Response, fault::MAX_WAIT};
use std::time::Duration;

const STEPS: [Step; 7] = [
    Step::Exchange,
    Step::Impersonation,
    Step::Refresh,
    Step::Assertion,
    Step::Metadata,
    Step::SubjectToken,
    Step::Cluster,
];

fn of_oauth(code: &str) -> String {
    format!(r#"{{"error":"{code}","error_description":"as told","error_uri":"https://x"}}"#)
}

fn of_api(status: &str) -> String {
    format!(
        r#"{{"error":{{"code":400,"message":"as told","status":"{status}","details":[{{}}]}}}}"#
    )
}

fn judge(step: Step, status: u16, body: &str) -> Error {
    classify(step, "doing", &Response::new(status, body.as_bytes()))
}

#[test]
fn every_code_says_who_must_act_and_what_to_check() {
    for (step, status, body, code, word) in [
        (
            Step::Exchange,
            400,
            of_oauth("invalid_grant"),
            ErrorCode::Denied,
            "attribute condition",
        ),
        (
            Step::Refresh,
            400,
            of_oauth("invalid_grant"),
            ErrorCode::Denied,
            "application-default login",
        ),
        (
            Step::Assertion,
            400,
            of_oauth("invalid_grant"),
            ErrorCode::Denied,
            "key of the file",
        ),
        (
            Step::Assertion,
            401,
            of_oauth("unauthorized_client"),
            ErrorCode::Denied,
            "these scopes",
        ),
        (
            Step::Assertion,
            400,
            of_oauth("invalid_request"),
            ErrorCode::InvalidConfiguration,
            "credentials file",
        ),
        (
            Step::Exchange,
            400,
            of_oauth("invalid_target"),
            ErrorCode::InvalidConfiguration,
            "provider exist",
        ),
        (
            Step::Exchange,
            400,
            of_oauth("invalid_scope"),
            ErrorCode::InvalidConfiguration,
            "scopes",
        ),
        (
            Step::Exchange,
            400,
            of_oauth("invalid_request"),
            ErrorCode::InvalidConfiguration,
            "audience",
        ),
        (
            Step::Exchange,
            403,
            of_oauth("unauthorized_client"),
            ErrorCode::Denied,
            "attribute condition",
        ),
        (
            Step::Refresh,
            401,
            of_oauth("invalid_client"),
            ErrorCode::Denied,
            "OAuth client",
        ),
        (
            Step::Impersonation,
            403,
            of_api("PERMISSION_DENIED"),
            ErrorCode::Denied,
            "roles/iam.workloadIdentityUser",
        ),
        (
            Step::Impersonation,
            403,
            of_api("PERMISSION_DENIED"),
            ErrorCode::Denied,
            "roles/iam.serviceAccountTokenCreator",
        ),
        (
            Step::Cluster,
            403,
            of_api("PERMISSION_DENIED"),
            ErrorCode::Denied,
            "roles/container.clusterViewer",
        ),
        (
            Step::Cluster,
            401,
            of_api("UNAUTHENTICATED"),
            ErrorCode::Denied,
            "clock",
        ),
        (
            Step::Impersonation,
            404,
            of_api("NOT_FOUND"),
            ErrorCode::InvalidConfiguration,
            "e-mail",
        ),
        (
            Step::Cluster,
            404,
            of_api("NOT_FOUND"),
            ErrorCode::InvalidConfiguration,
            "location",
        ),
        (
            Step::Impersonation,
            400,
            of_api("INVALID_ARGUMENT"),
            ErrorCode::InvalidConfiguration,
            "lifetime-seconds",
        ),
        (
            Step::Impersonation,
            400,
            of_api("FAILED_PRECONDITION"),
            ErrorCode::Denied,
            "enabled",
        ),
        (
            Step::Exchange,
            418,
            of_oauth("something_new"),
            ErrorCode::Denied,
            "something_new",
        ),
    ] {
        let error = judge(step, status, &body);
        assert_eq!(error.code(), code, "{error}");
        for word in [word, "doing: ", "as told", &status.to_string()] {
            assert!(error.message().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn what_passes_is_tried_again_whatever_the_step() {
    for (status, body, code) in [
        (429, String::new(), ErrorCode::Throttled),
        (400, of_api("RESOURCE_EXHAUSTED"), ErrorCode::Throttled),
        (400, of_oauth("slow_down"), ErrorCode::Throttled),
        (408, String::new(), ErrorCode::Unavailable),
        (500, of_api("INTERNAL"), ErrorCode::Unavailable),
        (503, of_api("PERMISSION_DENIED"), ErrorCode::Unavailable),
        (502, "<html>".into(), ErrorCode::Unavailable),
        (504, of_oauth("invalid_grant"), ErrorCode::Unavailable),
        (400, of_oauth("server_error"), ErrorCode::Unavailable),
        (
            400,
            of_oauth("temporarily_unavailable"),
            ErrorCode::Unavailable,
        ),
        (409, of_api("ABORTED"), ErrorCode::Unavailable),
        (204, String::new(), ErrorCode::Unavailable),
        (302, String::new(), ErrorCode::Unavailable),
    ] {
        for step in STEPS {
            let error = judge(step, status, &body);
            assert_eq!(error.code(), code, "{step:?} {error}");
        }
    }
}

#[test]
fn a_body_that_is_not_googles_is_judged_by_its_status() {
    let deep = "[".repeat(10_000);
    let nested = r#"{"error":"#.repeat(5_000);
    for body in [
        "",
        "null",
        "{}",
        "[]",
        "<html><body>Forbidden</body></html>",
        r#"{"error":null}"#,
        r#"{"error":7}"#,
        r#"{"error":[]}"#,
        r#"{"error":{"status":7}}"#,
        r#"{"error":"<script>"}"#,
        r#"{"error":{"status":"a b"}}"#,
        r#"{"error":"invalid_grant""#,
        "\u{0}\u{ff}",
        &deep,
        &nested,
    ] {
        for step in STEPS {
            for status in [400, 401, 403, 404, 499] {
                let error = judge(step, status, body);
                assert_eq!(error.code(), ErrorCode::Denied, "{body:.50} {error}");
                assert!(error.message().len() < 300, "{error}");
            }
        }
    }
    let bytes = Response::new(503, &[0xff, 0xfe, 0x00]);
    let error = classify(Step::Exchange, "doing", &bytes);
    assert_eq!(error.code(), ErrorCode::Unavailable);
}

#[test]
fn a_message_is_one_short_line_without_tokens() {
    let token = format!("ey{}", "J".repeat(100));
    for (message, expected) in [
        ("fine words", Some("fine words".to_owned())),
        (
            "two\nlines\tand\u{1b}[31m",
            Some("two lines and [31m".into()),
        ),
        ("", None),
        ("   ", None),
        (token.as_str(), Some("…".into())),
        (
            &format!("bad token: {token} !"),
            Some("bad token: … !".into()),
        ),
        (&"word ".repeat(100), Some("word ".repeat(80))),
    ] {
        assert_eq!(SCREEN.elided(message), expected, "{message}");
    }
}

#[test]
fn the_wait_is_googles_up_to_a_bound() {
    for (value, expected) in [
        ("1", Some(Duration::from_secs(1))),
        ("18446744073709551615", Some(MAX_WAIT)),
        ("-1", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ] {
        for status in [429, 503] {
            let response = Response::new(status, b"").header("retry-after", value);
            let error = classify(Step::Exchange, "doing", &response);
            assert_eq!(error.wait(), expected, "{value}");
        }
        let denied = Response::new(403, b"").header("retry-after", value);
        assert_eq!(classify(Step::Exchange, "doing", &denied).wait(), None);
    }
}

#[test]
fn no_answer_says_what_was_done_and_keeps_its_kind() {
    for (code, expected) in [
        (egress::ErrorCode::Unreachable, ErrorCode::Unavailable),
        (egress::ErrorCode::TimedOut, ErrorCode::Unavailable),
        (egress::ErrorCode::TooLarge, ErrorCode::Unavailable),
        (egress::ErrorCode::NotGranted, ErrorCode::Denied),
        (egress::ErrorCode::InvalidRequest, ErrorCode::Internal),
        (egress::ErrorCode::BudgetExceeded, ErrorCode::Internal),
    ] {
        let error = egress::Error {
            code,
            message: "as told".into(),
        };
        let error = no_answer("doing", error);
        assert_eq!(error.code(), expected);
        assert_eq!(error.message(), "doing: as told");
    }
}
