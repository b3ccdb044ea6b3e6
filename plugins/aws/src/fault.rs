//! What AWS's errors mean: who must act, and how.

use gatepass_sdk::{Error, egress::Response};
use serde::Deserialize;
use std::time::Duration;

/// Longest wait that is passed on; who asks for more is asked again after it.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// Longest message of AWS that is passed on, in characters.
const MAX_MESSAGE: usize = 300;

/// A word of this length may be a token or a signed text, which a message must not show.
const MAX_WORD: usize = 100;

/// Longest error code that is taken for one.
const MAX_CODE: usize = 100;

/// Codes by which AWS asks for fewer calls: those that its SDKs count as throttling.
const THROTTLING: [&str; 13] = [
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionInProgressException",
];

/// Codes that pass by themselves whatever their status: those that AWS's SDKs try again.
const PASSING: [&str; 4] = [
    "IDPCommunicationError",
    "PriorRequestNotComplete",
    "RequestTimeout",
    "RequestTimeoutException",
];

/// Who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Throttled,
    Unavailable(&'static str),
    Denied(&'static str),
    Configuration(&'static str),
}

/// The error that an answer without success means. `doing` says what was being done to what:
/// `assuming role X at Y`.
pub(crate) fn classify(doing: &str, response: &Response) -> Error {
    let fault = Fault::read(response);
    let verdict = verdict(&fault.code, response.status());
    let message = fault.message(doing, response.status(), verdict);
    let error = match verdict {
        Verdict::Throttled => Error::throttled(message),
        Verdict::Unavailable(_) => Error::unavailable(message),
        Verdict::Denied(_) => Error::denied(message),
        Verdict::Configuration(_) => Error::invalid_configuration(message),
    };
    match verdict {
        Verdict::Throttled | Verdict::Unavailable(_) => error.retry_after(wait(response)),
        Verdict::Denied(_) | Verdict::Configuration(_) => error,
    }
}

fn verdict(code: &str, status: u16) -> Verdict {
    if THROTTLING.contains(&code) || status == 429 {
        return Verdict::Throttled;
    }
    if PASSING.contains(&code) || status == 408 || status >= 500 {
        return Verdict::Unavailable("");
    }
    if (300..400).contains(&status) {
        return Verdict::Unavailable(
            "AWS does not redirect here: check the endpoint and the proxy on the way to it",
        );
    }
    named(code).unwrap_or(if status < 300 {
        Verdict::Unavailable("that is not how AWS answers: check the proxy on the way to it")
    } else {
        Verdict::Denied("")
    })
}

/// What a code means that neither throttles nor passes.
fn named(code: &str) -> Option<Verdict> {
    Some(match code {
        "AccessDenied" | "AccessDeniedException" => Verdict::Denied(
            "check the role's trust policy (provider, subject and audience sts.amazonaws.com, or in a chain the role before and the external ID) and the permissions",
        ),
        // A fresh token would gain nothing: every exchange uses one that was made for it, or what
        // the kubelet keeps fresh in a file.
        "InvalidIdentityToken" => Verdict::Denied(
            "check that the account has an OIDC provider for the cluster's issuer with audience sts.amazonaws.com, and that AWS can read the issuer's keys",
        ),
        "IDPRejectedClaim" => Verdict::Denied(
            "check that the OIDC provider of the account lists audience sts.amazonaws.com, and the clock of the cluster",
        ),
        "ExpiredTokenException" | "ExpiredToken" | "RequestExpired" => Verdict::Denied(
            "the token or the keys have expired: check the clocks of cluster and host",
        ),
        "RegionDisabledException" => Verdict::Denied(
            "the region's token service is not activated in the account: activate it or choose another region",
        ),
        "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "SignatureDoesNotMatch"
        | "UnrecognizedClientException" => Verdict::Denied(
            "AWS did not recognise the keys or the signature: check the region and the host's clock",
        ),
        "ValidationError"
        | "ValidationException"
        | "InvalidParameterException"
        | "InvalidParameterValue"
        | "MissingParameter" => Verdict::Configuration("check the annotation and the parameters"),
        "MalformedPolicyDocument" | "MalformedPolicyDocumentException" => {
            Verdict::Configuration("correct the parameter policy")
        }
        "PackedPolicyTooLarge" | "PackedPolicyTooLargeException" => {
            Verdict::Configuration("shorten the parameters policy and policy-arns")
        }
        "ResourceNotFoundException" => {
            Verdict::Configuration("check the name, the account and the region")
        }
        _ => return None,
    })
}

/// What AWS says of an error; empty where it says nothing that is understood.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fault {
    code: String,
    words: Option<String>,
}

impl Fault {
    fn read(response: &Response) -> Self {
        let body = xml(response).or_else(|| json(response)).unwrap_or_default();
        let header = response.header_value("x-amzn-errortype").and_then(code);
        Self {
            code: header.or_else(|| body.code()).unwrap_or_default(),
            words: body.words(),
        }
    }

    fn message(&self, doing: &str, status: u16, verdict: Verdict) -> String {
        let mut message = format!("{doing}: AWS answered status {status}");
        if !self.code.is_empty() {
            message.push_str(&format!(", {}", self.code));
        }
        if let Some(words) = &self.words {
            message.push_str(&format!(" ({words})"));
        }
        match verdict {
            Verdict::Unavailable(advice)
            | Verdict::Denied(advice)
            | Verdict::Configuration(advice)
                if !advice.is_empty() =>
            {
                message.push_str(&format!(": {advice}"));
            }
            _ => {}
        }
        message
    }
}

/// The fields of an error, in whichever protocol: query (XML), JSON 1.1 and REST-JSON. Services
/// spell them differently, and some send two spellings at once.
#[derive(Debug, Default, Deserialize)]
struct Detail {
    #[serde(rename = "Code")]
    upper_code: Option<String>,
    #[serde(rename = "code")]
    lower_code: Option<String>,
    #[serde(rename = "__type")]
    shape: Option<String>,
    #[serde(rename = "Message")]
    upper_message: Option<String>,
    #[serde(rename = "message")]
    lower_message: Option<String>,
}

impl Detail {
    fn code(&self) -> Option<String> {
        [&self.upper_code, &self.shape, &self.lower_code]
            .into_iter()
            .flatten()
            .find_map(|text| code(text))
    }

    fn words(&self) -> Option<String> {
        [&self.upper_message, &self.lower_message]
            .into_iter()
            .flatten()
            .find_map(|text| presentable(text))
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "Error")]
    error: Detail,
}

fn xml(response: &Response) -> Option<Detail> {
    let envelope: Envelope = response.xml().ok()?;
    Some(envelope.error)
}

fn json(response: &Response) -> Option<Detail> {
    let enveloped = response.json().map(|envelope: Envelope| envelope.error);
    enveloped.or_else(|_| response.json()).ok()
}

/// The name in a code: `com.amazonaws.ecr#ServerException:http://…` is a `ServerException`.
fn code(text: &str) -> Option<String> {
    let name = text.rsplit('#').next()?.split(':').next()?.trim();
    let fits = (1..=MAX_CODE).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_');
    fits.then(|| name.into())
}

/// A message as one short line, or nothing if it may hold a token.
fn presentable(message: &str) -> Option<String> {
    let words: Vec<&str> = message
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() || words.iter().any(|word| word.len() > MAX_WORD) {
        return None;
    }
    Some(words.join(" ").chars().take(MAX_MESSAGE).collect())
}

/// How long AWS asks to wait: its own header in milliseconds, or the usual one in seconds.
fn wait(response: &Response) -> Option<Duration> {
    let own = response
        .header_value("x-amz-retry-after")
        .and_then(|value| value.trim().parse().ok())
        .map(Duration::from_millis);
    own.or_else(|| response.retry_after())
        .map(|wait| wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;

    fn xml_of(code: &str, message: &str) -> String {
        format!(
            r#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"#
        )
    }

    fn classify_xml(code: &str, status: u16) -> Error {
        let body = xml_of(code, "as told");
        classify("doing", &Response::new(status, body.as_bytes()))
    }

    #[test]
    fn every_code_says_who_must_act() {
        for (code, status, expected) in [
            ("IDPCommunicationError", 400, ErrorCode::Unavailable),
            ("RequestTimeout", 400, ErrorCode::Unavailable),
            ("ServiceUnavailable", 503, ErrorCode::Unavailable),
            ("InternalFailure", 500, ErrorCode::Unavailable),
            ("AccessDenied", 403, ErrorCode::Denied),
            ("AccessDenied", 503, ErrorCode::Unavailable),
            ("IDPRejectedClaim", 403, ErrorCode::Denied),
            ("InvalidIdentityToken", 400, ErrorCode::Denied),
            ("ExpiredTokenException", 400, ErrorCode::Denied),
            ("RegionDisabledException", 403, ErrorCode::Denied),
            ("SignatureDoesNotMatch", 403, ErrorCode::Denied),
            ("SomethingNew", 418, ErrorCode::Denied),
            ("ValidationError", 400, ErrorCode::InvalidConfiguration),
            (
                "MalformedPolicyDocument",
                400,
                ErrorCode::InvalidConfiguration,
            ),
            ("PackedPolicyTooLarge", 400, ErrorCode::InvalidConfiguration),
            (
                "ResourceNotFoundException",
                404,
                ErrorCode::InvalidConfiguration,
            ),
        ] {
            let error = classify_xml(code, status);
            assert_eq!(error.code(), expected, "{code}");
            assert!(error.message().starts_with("doing: "), "{error}");
            assert!(error.message().contains(code), "{error}");
            assert!(error.message().contains("as told"), "{error}");
        }
        for code in THROTTLING {
            assert_eq!(
                classify_xml(code, 400).code(),
                ErrorCode::Throttled,
                "{code}"
            );
        }
    }

    #[test]
    fn advice_says_what_to_check() {
        for (code, word) in [
            ("AccessDenied", "trust policy"),
            ("InvalidIdentityToken", "OIDC provider"),
            ("IDPRejectedClaim", "audience"),
            ("ExpiredTokenException", "clock"),
            ("RegionDisabledException", "activate"),
            ("PackedPolicyTooLarge", "policy-arns"),
        ] {
            let error = classify_xml(code, 400);
            assert!(error.message().contains(word), "{error}");
        }
    }

    #[test]
    fn every_protocol_is_understood() {
        for (body, header, code) in [
            (
                r#"{"__type":"ServerException","message":"m"}"#,
                None,
                "ServerException",
            ),
            (
                r#"{"__type":"com.amazonaws.ecr#InvalidParameterException","message":"m"}"#,
                None,
                "InvalidParameterException",
            ),
            (
                r#"{"Error":{"Code":"Throttling","Message":"m"},"RequestId":"1"}"#,
                None,
                "Throttling",
            ),
            (
                r#"{"__type":"Throttling","code":"x y","message":"m","Message":"m"}"#,
                None,
                "Throttling",
            ),
            (
                r#"{"message":"m"}"#,
                Some("ResourceNotFoundException:http://internal.amazon.com/"),
                "ResourceNotFoundException",
            ),
            (
                r#"{"code":"AccessDeniedException","message":"m"}"#,
                None,
                "AccessDeniedException",
            ),
        ] {
            let mut response = Response::new(400, body.as_bytes());
            if let Some(header) = header {
                response = response.header("x-amzn-ErrorType", header);
            }
            let fault = Fault::read(&response);
            assert_eq!(fault.code, code, "{body}");
            assert_eq!(fault.words.as_deref(), Some("m"), "{body}");
        }
    }

    #[test]
    fn a_body_that_is_not_awss_is_judged_by_its_status() {
        let deep = "<a>".repeat(10_000);
        let brackets = "[".repeat(10_000);
        for body in [
            "",
            "<html><body><h1>Bad Gateway</h1></body></html>",
            "<ErrorResponse><Error><Code>AccessDenied</Code>",
            "<ErrorResponse><Error><Code>A</Code><Code>B</Code></Error></ErrorResponse>",
            "{\"__type\":7}",
            "{\"__type\":\"<script>\"}",
            "null",
            "\u{0}\u{ff}",
            &deep,
            &brackets,
        ] {
            for (status, expected) in [
                (302, ErrorCode::Unavailable),
                (400, ErrorCode::Denied),
                (403, ErrorCode::Denied),
                (407, ErrorCode::Denied),
                (408, ErrorCode::Unavailable),
                (429, ErrorCode::Throttled),
                (500, ErrorCode::Unavailable),
                (502, ErrorCode::Unavailable),
                (599, ErrorCode::Unavailable),
                (204, ErrorCode::Unavailable),
            ] {
                let error = classify("doing", &Response::new(status, body.as_bytes()));
                assert_eq!(error.code(), expected, "{status} {error}");
                assert!(error.message().contains(&status.to_string()), "{error}");
                assert!(error.message().len() < 300, "{error}");
            }
        }
        let bytes = Response::new(503, &[0xff, 0xfe, 0x00]);
        assert_eq!(classify("doing", &bytes).code(), ErrorCode::Unavailable);
    }

    #[test]
    fn a_redirect_is_explained() {
        let error = classify("doing", &Response::new(307, b""));
        assert!(error.message().contains("does not redirect"), "{error}");
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
            (token.as_str(), None),
            (&format!("bad token: {token}"), None),
            (&"word ".repeat(100), Some("word ".repeat(60))),
        ] {
            assert_eq!(presentable(message), expected, "{message}");
        }
    }

    #[test]
    fn the_wait_is_awss_up_to_a_bound() {
        let second = Some(Duration::from_secs(1));
        for (name, value, expected) in [
            ("x-amz-retry-after", "1000", second),
            ("retry-after", "1", second),
            ("x-amz-retry-after", "18446744073709551615", Some(MAX_WAIT)),
            ("retry-after", "18446744073709551615", Some(MAX_WAIT)),
            ("x-amz-retry-after", "99999999999999999999999", None),
            ("x-amz-retry-after", "-1", None),
            ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", None),
        ] {
            for status in [429, 503] {
                let response = Response::new(status, b"").header(name, value);
                assert_eq!(
                    classify("doing", &response).wait(),
                    expected,
                    "{name} {value}"
                );
            }
            let denied = Response::new(403, b"").header(name, value);
            assert_eq!(classify("doing", &denied).wait(), None);
        }
    }
}
