//! Google's metadata server, which machines of Google and pods of GKE reach.

use crate::fault::{self, Step};
use gatepass_sdk::egress::{Request, Response};
use gatepass_sdk::{Authority, Error, Host};
use std::time::Duration;

/// Names another metadata server than the usual one; every SDK of Google reads it.
pub(crate) const HOST_VARIABLE: &str = "GCE_METADATA_HOST";

/// The name that resolves on every machine of Google.
const DEFAULT_HOST: &str = "metadata.google.internal";

/// The header that a client must send and the server answers: neither a browser nor a proxy that
/// was tricked into a request does, and no other server does.
const FLAVOR: (&str, &str) = ("metadata-flavor", "Google");

/// How long an answer may take: the server is on the same machine, and elsewhere nothing answers.
/// Google's own SDKs wait as long for one try.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Origins that the server is wished for at.
pub(crate) const WISHES: [&str; 2] = ["http://metadata.google.internal", "http://169.254.169.254"];

/// The metadata server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata(Authority);

impl Metadata {
    /// The server that the environment names, or the usual one.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the environment names something that is no host.
    pub(crate) fn of(host: &dyn Host) -> Result<Self, Error> {
        let named = host
            .variable(HOST_VARIABLE)
            .filter(|value| !value.is_empty());
        let text = named.as_deref().unwrap_or(DEFAULT_HOST);
        Authority::parse(text).map(Self).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "variable {HOST_VARIABLE} '{}' must be HOST[:PORT], or unset",
                text.escape_debug()
            ))
        })
    }

    /// What is under a path of `/computeMetadata/v1/`; `None` where nothing is.
    ///
    /// # Errors
    ///
    /// What [`fault`] makes of a refusal, `unavailable` if no metadata server of Google answers.
    pub(crate) fn get(&self, path: &str, host: &dyn Host) -> Result<Option<Response>, Error> {
        let (name, value) = FLAVOR;
        let request = Request::get(format!("http://{}/computeMetadata/v1/{path}", self.0))
            .header(name, value)
            .timeout(TIMEOUT)
            .build();
        let subject = path.split('?').next().unwrap_or(path);
        let doing = format!("reading {subject} from the metadata server {}", self.0);
        let response = host
            .send(request)
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() == 404 {
            return Ok(None);
        }
        if response.status() != 200 {
            return Err(fault::classify(Step::Metadata, &doing, &response));
        }
        if response.header_value(name) != Some(value) {
            return Err(Error::unavailable(format!(
                "{doing}: the answer lacks the header Metadata-Flavor: Google, so that it is not from there: check {HOST_VARIABLE} and proxies on the way"
            )));
        }
        Ok(Some(response))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;
    use gatepass_sdk::egress;
    use gatepass_sdk::testing::ScriptedHost;

    /// The request for a path, as it goes over the wire.
    pub(crate) fn wire(path: &str) -> Request {
        Request::get(format!(
            "http://metadata.google.internal/computeMetadata/v1/{path}"
        ))
        .header("metadata-flavor", "Google")
        .timeout(Duration::from_secs(3))
        .build()
    }

    /// An answer of the server.
    pub(crate) fn answer(body: &str) -> Response {
        Response::new(200, body.as_bytes()).header("Metadata-Flavor", "Google")
    }

    fn get(host: &ScriptedHost) -> Result<Option<Response>, Error> {
        Metadata::of(host)?.get("project/project-id", host)
    }

    #[test]
    fn the_flavor_is_sent_and_must_come_back() {
        let host = ScriptedHost::new().expect(wire("project/project-id"), answer("p"));
        assert_eq!(get(&host).unwrap().unwrap().body(), b"p");
        for response in [
            Response::new(200, b"p"),
            Response::new(200, b"p").header("metadata-flavor", "google"),
            Response::new(200, b"p").header("x-metadata-flavor", "Google"),
        ] {
            let host = ScriptedHost::new().answer(response);
            let error = get(&host).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unavailable);
            assert!(error.message().contains("Metadata-Flavor"), "{error}");
        }
    }

    #[test]
    fn the_environment_may_name_another_server() {
        for (value, url) in [
            ("", "http://metadata.google.internal/"),
            ("169.254.169.254", "http://169.254.169.254/"),
            ("localhost:8080", "http://localhost:8080/"),
        ] {
            let host = ScriptedHost::new()
                .variable("GCE_METADATA_HOST", value)
                .answer(answer("p"));
            get(&host).unwrap();
            assert!(host.sent()[0].url().starts_with(url), "{value}");
        }
        for value in ["http://x", "a/b", "u@h", "h:0", "a b", "x.example/?"] {
            let host = ScriptedHost::new().variable("GCE_METADATA_HOST", value);
            let error = get(&host).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            assert!(error.message().contains(value), "{error}");
        }
    }

    #[test]
    fn a_refusal_is_sorted_and_names_the_path() {
        let not_found = ScriptedHost::new().answer(Response::new(404, b""));
        assert_eq!(get(&not_found), Ok(None));
        for (status, code) in [
            (403, ErrorCode::Denied),
            (429, ErrorCode::Throttled),
            (500, ErrorCode::Unavailable),
            (301, ErrorCode::Unavailable),
        ] {
            let host = ScriptedHost::new().answer(Response::new(status, b"<html>"));
            let error = get(&host).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.message().contains("project/project-id"), "{error}");
        }
        let silent = egress::Error {
            code: egress::ErrorCode::Unreachable,
            message: "no route".into(),
        };
        let host = ScriptedHost::new().expect_failure(wire("project/project-id"), silent);
        let error = get(&host).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unavailable);
        assert!(error.message().contains("no route"), "{error}");
    }
}
