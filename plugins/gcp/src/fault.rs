//! What Google's errors mean: who must act, and how.

use gatepass_sdk::fault::{Fault, Screen, Verdict, is_code};
use gatepass_sdk::{Error, egress};
use serde::Deserialize;

/// How much of Google's messages is passed on.
const SCREEN: Screen = Screen {
    longest_line: 400,
    longest_word: 100,
};

/// What was being done when the error came: the same code asks for different advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A token at the token service.
    Exchange,
    /// A token of a service account at IAM Credentials.
    Impersonation,
    /// A refresh token of a user.
    Refresh,
    /// What a key of a service account signed, at the OAuth endpoint.
    Assertion,
    /// The metadata server.
    Metadata,
    /// The server that an external account's token comes from.
    SubjectToken,
    /// A cluster at Kubernetes Engine.
    Cluster,
}

/// The error that an answer without success means. `doing` says what was being done to what:
/// `exchanging the token of X at Y`.
pub(crate) fn classify(step: Step, doing: &str, response: &egress::Response) -> Error {
    let fault = read(response);
    let verdict = verdict(step, &fault.code, response.status());
    let told = format!("{doing}: status {} came back", response.status());
    fault.error(&told, verdict, response.retry_after())
}

/// The error that no answer means.
pub(crate) fn no_answer(doing: &str, error: egress::Error) -> Error {
    let error = Error::from(error);
    error.reworded(format!("{doing}: {error}"))
}

/// Status comes before code where it says that the fault passes: those that Google's SDKs try
/// again at OAuth endpoints, and every other of a broken server.
fn verdict(step: Step, code: &str, status: u16) -> Verdict {
    if status == 429 || matches!(code, "RESOURCE_EXHAUSTED" | "slow_down") {
        return Verdict::Throttled;
    }
    let passing = [
        "ABORTED",
        "DEADLINE_EXCEEDED",
        "INTERNAL",
        "UNAVAILABLE",
        "server_error",
        "temporarily_unavailable",
    ];
    if status == 408 || status >= 500 || passing.contains(&code) {
        return Verdict::Unavailable("");
    }
    if (300..400).contains(&status) {
        return Verdict::Unavailable(
            "Google does not redirect here: check the proxy on the way to it",
        );
    }
    if status < 300 {
        return Verdict::Unavailable(
            "that is not how Google answers: check the proxy on the way to it",
        );
    }
    oauth(step, code)
        .or_else(|| api(step, code))
        .unwrap_or_else(|| plain(step, status))
}

/// Codes of OAuth endpoints (RFC 6749 §5.2, RFC 8693 §2.2.2).
fn oauth(step: Step, code: &str) -> Option<Verdict> {
    Some(match (step, code) {
        (Step::Refresh, "invalid_grant") => Verdict::Denied(
            "the refresh token has expired or was revoked: log in again with gcloud auth application-default login",
        ),
        (Step::Assertion, "invalid_grant") => Verdict::Denied(
            "check that the service account exists and is enabled, that it still has the key of the file and that the key is neither disabled nor expired, and the host's clock",
        ),
        (_, "invalid_grant") => Verdict::Denied(
            "check that the pool's provider has the issuer of the token, its keys (or that Google can read them at the issuer), the token's audience among those allowed, and an attribute condition that holds; and that the token is not older than 24 hours",
        ),
        (_, "invalid_target") => Verdict::Configuration(
            "check that the workload identity pool and provider exist and are neither disabled nor deleted, and that the project is given by its number",
        ),
        (_, "invalid_scope") => Verdict::Configuration("correct the scopes"),
        (Step::Refresh, "invalid_client" | "unauthorized_client") => Verdict::Denied(
            "the OAuth client of the credentials file is not known, or not for this",
        ),
        (Step::Assertion, "invalid_client" | "unauthorized_client" | "access_denied") => {
            Verdict::Denied("the service account may not have a token for these scopes")
        }
        (_, "invalid_client" | "unauthorized_client" | "access_denied") => {
            Verdict::Denied("check the pool's provider and its attribute condition")
        }
        (Step::Assertion, "invalid_request") => {
            Verdict::Configuration("check the scopes and the credentials file")
        }
        (_, "invalid_request") => Verdict::Configuration(
            "check the workload identity provider, the scopes and the audience of the token",
        ),
        _ => return None,
    })
}

/// Codes of Google's APIs (<https://google.aip.dev/193>, `google.rpc.Code`).
fn api(step: Step, code: &str) -> Option<Verdict> {
    Some(match (step, code) {
        (Step::Impersonation, "PERMISSION_DENIED") => Verdict::Denied(
            "grant the caller roles/iam.workloadIdentityUser (a federated identity) or roles/iam.serviceAccountTokenCreator (a service account or user) on the service account, and check that the account exists and that the IAM Service Account Credentials API is enabled",
        ),
        (Step::Cluster, "PERMISSION_DENIED") => Verdict::Denied(
            "grant the identity roles/container.clusterViewer on the project, and check that the Kubernetes Engine API is enabled",
        ),
        (_, "PERMISSION_DENIED") => Verdict::Denied("check the roles of the identity"),
        (_, "UNAUTHENTICATED") => Verdict::Denied(
            "Google did not accept the token: check the universe and the host's clock",
        ),
        (Step::Impersonation, "NOT_FOUND") => Verdict::Configuration(
            "check the e-mail of the service account: there is none of this name",
        ),
        (Step::Cluster, "NOT_FOUND") => {
            Verdict::Configuration("check project, location and name of the cluster")
        }
        (Step::Impersonation, "INVALID_ARGUMENT") => Verdict::Configuration(
            "check lifetime-seconds (more than 3600 needs the organisation policy iam.allowServiceAccountCredentialLifetimeExtension), scopes and delegates",
        ),
        (_, "NOT_FOUND" | "INVALID_ARGUMENT" | "OUT_OF_RANGE") => {
            Verdict::Configuration("check the annotations and the parameters")
        }
        (_, "FAILED_PRECONDITION") => {
            Verdict::Denied("check that the service account and the API are enabled")
        }
        _ => return None,
    })
}

/// A refusal without a code that is known.
fn plain(step: Step, status: u16) -> Verdict {
    match (step, status) {
        (Step::Metadata, 403) => Verdict::Denied(
            "the metadata server refuses: check that the machine or the pod has a service account, and on GKE that it may impersonate it (roles/iam.workloadIdentityUser)",
        ),
        (Step::SubjectToken, _) => {
            Verdict::Denied("check url and headers of the external account's credential_source")
        }
        _ => Verdict::Denied(""),
    }
}

/// OAuth answers a word in `error`, the APIs an object.
#[derive(Deserialize)]
struct Body {
    error: ErrorField,
    error_description: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorField {
    OAuth(String),
    Api {
        status: Option<String>,
        message: Option<String>,
    },
}

/// What Google says of an error.
fn read(response: &egress::Response) -> Fault {
    let (code, words) = match response.json::<Body>() {
        Ok(Body {
            error: ErrorField::OAuth(code),
            error_description,
        }) => (Some(code), error_description),
        Ok(Body {
            error: ErrorField::Api { status, message },
            ..
        }) => (status, message),
        Err(_) => (None, None),
    };
    // No code of Google's has a dot.
    let code = code.filter(|code| is_code(code) && !code.contains('.'));
    Fault {
        code: code.unwrap_or_default(),
        words: words.and_then(|words| SCREEN.elided(&words)),
    }
}

#[cfg(test)]
mod tests;
