//! What a registry's refusal means, and who must act.

use super::login::Login;
use crate::failure::Failure;
use gatepass::ErrorKind;
use oci_client::errors::{OciDistributionError, OciEnvelope, OciErrorCode};

/// How much of a registry's own words is repeated.
const MAX_WORDS: usize = 300;

/// Turns an error of the client into a failure that says what was being done to what.
pub(crate) fn explain(
    error: OciDistributionError,
    doing: &str,
    host: &str,
    login: &Login,
) -> Failure {
    let (kind, words) = sort(&error);
    let message = match words.is_empty() {
        true => format!("cannot {doing}"),
        false => format!("cannot {doing}: {words}"),
    };
    let failure = Failure::registry(kind, message);
    let failure = match advice(kind, &error, host, login) {
        Some(advice) => failure.fix(advice),
        None => failure,
    };
    match error {
        // The rest of its words: without the URL, whose query is the state of an upload.
        OciDistributionError::RequestError(error) => failure.because(error.without_url()),
        _ => failure,
    }
}

/// Whether the registry refused the login, rather than anything else.
pub(crate) fn is_of_login(error: &OciDistributionError) -> bool {
    sort(error).0 == ErrorKind::Denied
}

fn sort(error: &OciDistributionError) -> (ErrorKind, String) {
    use OciDistributionError as E;
    match error {
        E::AuthenticationFailure(words) => (
            ErrorKind::Denied,
            format!(
                "the registry's token service refuses the login{}",
                colon(words)
            ),
        ),
        E::UnauthorizedError { .. } => (
            ErrorKind::Denied,
            "the registry does not accept the login".into(),
        ),
        E::RegistryError { envelope, .. } => of_envelope(envelope),
        E::ServerError { code, message, .. } => {
            // Answers to uploads come unparsed.
            match serde_json::from_str::<OciEnvelope>(message) {
                Ok(envelope) if !envelope.errors.is_empty() => {
                    let (kind, words) = of_envelope(&envelope);
                    (of_status(*code).unwrap_or(kind), words)
                }
                _ => (
                    of_status(*code).unwrap_or(ErrorKind::Unavailable),
                    format!("the registry answered {code}{}", colon(message)),
                ),
            }
        }
        E::RequestError(error) => match error.status() {
            Some(status) => (
                of_status(status.as_u16()).unwrap_or(ErrorKind::Unavailable),
                format!("the registry answered {}", status.as_u16()),
            ),
            None => (ErrorKind::Unavailable, String::new()),
        },
        E::DigestError(error) => (
            ErrorKind::Unavailable,
            format!("what came is not what was asked for: {error}"),
        ),
        E::ImageManifestNotFoundError(words) => (ErrorKind::Configuration, cut(words)),
        error => (ErrorKind::Unavailable, cut(&error.to_string())),
    }
}

fn of_status(code: u16) -> Option<ErrorKind> {
    match code {
        401 | 403 => Some(ErrorKind::Denied),
        429 => Some(ErrorKind::Throttled),
        400..=499 => Some(ErrorKind::Configuration),
        500..=599 => Some(ErrorKind::Unavailable),
        _ => None,
    }
}

fn of_envelope(envelope: &OciEnvelope) -> (ErrorKind, String) {
    let kind = envelope.errors.first().map(|error| &error.code);
    let kind = match kind {
        Some(OciErrorCode::Unauthorized | OciErrorCode::Denied) => ErrorKind::Denied,
        Some(OciErrorCode::Toomanyrequests) => ErrorKind::Throttled,
        Some(OciErrorCode::BlobUploadUnknown | OciErrorCode::BlobUploadInvalid) | None => {
            ErrorKind::Unavailable
        }
        Some(_) => ErrorKind::Configuration,
    };
    let words: Vec<String> = envelope
        .errors
        .iter()
        .map(|error| match error.message.is_empty() {
            true => format!("{:?}", error.code),
            false => error.message.clone(),
        })
        .collect();
    (kind, cut(&words.join("; ")))
}

fn advice(
    kind: ErrorKind,
    error: &OciDistributionError,
    host: &str,
    login: &Login,
) -> Option<String> {
    match (kind, login) {
        (ErrorKind::Denied, Login::Anonymous) => Some(format!(
            "log in: give --provider or --creds, or run `docker login {host}`"
        )),
        (ErrorKind::Denied, _) => Some(format!(
            "the administrator of {host} must let this identity do that; `gatepass explain registry` shows which it is"
        )),
        (ErrorKind::Throttled, _) => Some("try again later".into()),
        (ErrorKind::Unavailable, _) if matches!(error, OciDistributionError::RequestError(error) if error.is_connect()) => {
            Some(format!(
                "check that {host} is right and up; if a private authority signed its certificate, give --registry-ca-file"
            ))
        }
        _ => None,
    }
}

fn colon(words: &str) -> String {
    let words = cut(words);
    match words.is_empty() {
        true => words,
        false => format!(": {words}"),
    }
}

/// The beginning of a text of others.
fn cut(words: &str) -> String {
    let words = words.trim();
    match words.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    fn envelope(code: &str) -> OciDistributionError {
        let text = format!(r#"{{"errors":[{{"code":"{code}","message":"words"}}]}}"#);
        OciDistributionError::RegistryError {
            envelope: serde_json::from_str(&text).unwrap(),
            url: "https://r.example/v2/a?_state=canary".into(),
        }
    }

    fn server(code: u16, message: &str) -> OciDistributionError {
        OciDistributionError::ServerError {
            code,
            url: "https://r.example/v2/a?_state=canary".into(),
            message: message.into(),
        }
    }

    #[test]
    fn every_refusal_has_the_exit_code_of_who_must_act() {
        let login = Login::Bearer("canary".into());
        let unauthorized = OciDistributionError::UnauthorizedError {
            url: "https://r.example?canary".into(),
        };
        let cases = [
            (unauthorized, 4),
            (OciDistributionError::AuthenticationFailure("no".into()), 4),
            (envelope("DENIED"), 4),
            (envelope("UNAUTHORIZED"), 4),
            (envelope("MANIFEST_UNKNOWN"), 3),
            (envelope("NAME_UNKNOWN"), 3),
            (envelope("TOOMANYREQUESTS"), 9),
            (envelope("BLOB_UPLOAD_INVALID"), 9),
            (envelope("OF_OUR_OWN"), 3),
            (server(401, ""), 4),
            (
                server(403, r#"{"errors":[{"code":"DENIED","message":"words"}]}"#),
                4,
            ),
            (server(404, "<html>"), 3),
            (server(429, ""), 9),
            (server(500, "{}"), 9),
            (server(302, ""), 9),
        ];
        for (error, expected) in cases {
            let failure = explain(error, "push to r.example/a", "r.example", &login);
            assert_eq!(exit::code(&failure), expected, "{failure:?}");
            let report = failure.report();
            assert!(report.contains("cannot push to r.example/a"), "{report}");
            assert!(!report.contains("canary"), "{report}");
        }
    }

    #[test]
    fn who_has_no_login_is_told_to_log_in() {
        for (login, word) in [
            (Login::Anonymous, "docker login r.example"),
            (Login::Bearer("t".into()), "administrator of r.example"),
        ] {
            let failure = explain(envelope("DENIED"), "pull", "r.example", &login);
            assert!(failure.advice().unwrap().contains(word), "{failure:?}");
        }
    }

    #[test]
    fn long_answers_are_cut() {
        let failure = explain(
            server(500, &"ä".repeat(9999)),
            "pull",
            "r.example",
            &Login::Anonymous,
        );
        assert!(failure.to_string().chars().count() < MAX_WORDS + 100);
    }
}
