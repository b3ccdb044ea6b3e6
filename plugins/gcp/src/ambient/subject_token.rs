//! Where the token of an external account comes from: a file or a URL.

use super::file::required;
use crate::fault::{self, Step};
use gatepass_sdk::{Error, Host, Secret, egress};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Files at which Google's instructions put the token of a pod, beside the one that
/// [`FILE_VARIABLE`] names: of Kubernetes clusters
/// (<https://cloud.google.com/iam/docs/workload-identity-federation-with-kubernetes>) and of fleets.
/// The token for the API server itself is not among them.
pub(crate) const WISHED_FILES: [&str; 2] = [
    "/var/run/service-account/token",
    "/var/run/secrets/tokens/gcp-ksa/token",
];

/// Names the token's file where it is another, so that it can be granted.
pub(crate) const FILE_VARIABLE: &str = "GATEPASS_GCP_SUBJECT_TOKEN_FILE";

/// GitHub's token endpoints, which the files of its Google login name as `url`.
pub(crate) const GITHUB: &str = "https://*.actions.githubusercontent.com";

/// Longest token that is passed on.
const MAX_TOKEN: usize = 64 << 10;

/// `credential_source` of the file.
#[derive(Debug, Deserialize)]
pub(crate) struct CredentialSource {
    file: Option<String>,
    url: Option<String>,
    headers: Option<BTreeMap<String, Secret>>,
    executable: Option<IgnoredAny>,
    certificate: Option<IgnoredAny>,
    environment_id: Option<IgnoredAny>,
    format: Option<Format>,
}

#[derive(Debug, Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: Option<String>,
    subject_token_field_name: Option<String>,
}

impl CredentialSource {
    /// Reads the token.
    ///
    /// # Errors
    ///
    /// `unsupported` for a program, a certificate or AWS; `invalid-configuration` if the source
    /// cannot be read or holds no token; what the server of a URL refuses.
    pub(crate) fn read(&self, host: &dyn Host) -> Result<Secret, Error> {
        self.refuse_unserved()?;
        let format = self.format.as_ref();
        let field = format.map_or(Ok(None), Format::field)?;
        match (&self.file, &self.url) {
            (Some(path), None) => {
                let content = file(path, host)?;
                extract("credential_source.file", &content, field)
            }
            (None, Some(url)) => {
                let response = self.fetch(url, host)?;
                extract(
                    "the answer of credential_source.url",
                    response.body(),
                    field,
                )
            }
            _ => Err(Error::invalid_configuration(
                "credential_source must have one of file and url",
            )),
        }
    }

    fn refuse_unserved(&self) -> Result<(), Error> {
        let unserved = [
            (&self.executable, "executable: no program is ever run"),
            (&self.certificate, "certificate: keys stay with their owner"),
            (&self.environment_id, "environment_id: AWS signs no token"),
        ];
        match unserved.into_iter().find(|(field, _)| field.is_some()) {
            None => Ok(()),
            Some((_, what)) => Err(Error::unsupported(format!(
                "credential_source.{what}; use file or url"
            ))),
        }
    }

    fn fetch(&self, url: &str, host: &dyn Host) -> Result<egress::Response, Error> {
        let mut builder = egress::Request::get(url);
        for (name, value) in self.headers.iter().flatten() {
            builder = builder.header(name, value.expose());
        }
        let shown = url.split(['?', '#']).next().unwrap_or_default();
        let shown = shown.rsplit('@').next().unwrap_or_default();
        let doing = format!(
            "reading the external account's token from '{}'",
            shown.escape_debug()
        );
        let response = host
            .send(builder.build())
            .map_err(|error| fault::no_answer(&doing, error))?;
        if response.status() == 200 {
            return Ok(response);
        }
        Err(fault::classify(Step::SubjectToken, &doing, &response))
    }
}

impl Format {
    /// The field that holds the token; `None`: the whole text is the token.
    fn field(&self) -> Result<Option<&str>, Error> {
        match self.kind.as_deref() {
            None | Some("text") => Ok(None),
            Some("json") => required(
                self.subject_token_field_name.as_deref(),
                "credential_source.format.subject_token_field_name",
            )
            .map(Some),
            Some(other) => Err(Error::invalid_configuration(format!(
                "credential_source.format.type '{}' must be text or json",
                other.escape_debug()
            ))),
        }
    }
}

fn file(path: &str, host: &dyn Host) -> Result<Zeroizing<Vec<u8>>, Error> {
    host.file(path).map(Zeroizing::new).map_err(|error| {
        Error::invalid_configuration(format!(
            "credential_source.file '{}' cannot be read: {}: it must be there and granted to this plugin, which wishes for {} and for the file that {FILE_VARIABLE} names",
            path.escape_debug(),
            error.kind(),
            WISHED_FILES.join(", ")
        ))
    })
}

/// The token in a text: files end in a line break more often than not.
fn extract(what: &str, content: &[u8], field: Option<&str>) -> Result<Secret, Error> {
    let token = match field {
        None => std::str::from_utf8(content)
            .ok()
            .map(|text| Secret::from(text.trim())),
        Some(field) => serde_json::from_slice::<BTreeMap<String, Value>>(content)
            .ok()
            .and_then(|mut fields| fields.remove(field))
            .and_then(|value| match value {
                Value::Text(token) => Some(token),
                Value::Other(_) => None,
            }),
    };
    token
        .filter(|token| (1..=MAX_TOKEN).contains(&token.expose().len()))
        .ok_or_else(|| {
            let form = field.map_or_else(
                || "text".to_owned(),
                |field| format!("JSON, in the field {}", field.escape_debug()),
            );
            Error::invalid_configuration(format!(
                "{what}: {} bytes hold no token as {form}: correct credential_source.format",
                content.len()
            ))
        })
}

/// A field of a JSON source, of which one is the token.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(Secret),
    Other(IgnoredAny),
}
