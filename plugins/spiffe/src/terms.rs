//! What a request asks for: which kind of credential, and for whom.

use gatepass_sdk::{Credential, Error, Material, Request};

/// The JSON Schema of the parameters.
pub(crate) const SCHEMA: &str = include_str!("parameters.json");

/// What is issued; the names are those of the RFC on vendor-agnostic credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A token.
    #[default]
    Jwt,
    /// A certificate and its key.
    Certificate,
}

impl Kind {
    /// Checks every field but the audiences.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn of(request: &Request) -> Result<Self, Error> {
        request.refuse_scopes()?;
        request.refuse_region()?;
        request.refuse_endpoint()?;
        let mut parameters = request.take_parameters();
        let kind = match parameters.take("type") {
            None | Some("SpiffeJWT") => Self::Jwt,
            Some("SpiffeCertificate") => Self::Certificate,
            Some(other) => {
                return Err(Error::invalid_configuration(format!(
                    "parameter type '{}' must be SpiffeJWT or SpiffeCertificate",
                    other.escape_debug()
                )));
            }
        };
        parameters.finish()?;
        if kind == Self::Certificate && !request.audiences.is_empty() {
            return Err(Error::invalid_configuration(
                "a certificate has no audience: remove audiences, or set parameter type to SpiffeJWT",
            ));
        }
        Ok(kind)
    }

    /// Checks every field of a request that is exchanged.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of); `invalid-configuration` if a token has no audience.
    pub(crate) fn for_exchange(request: &Request) -> Result<Self, Error> {
        let kind = Self::of(request)?;
        if kind == Self::Jwt && request.audiences.is_empty() {
            return Err(Error::invalid_configuration(
                "a token needs an audience: set audiences to the name by which its receiver knows itself",
            ));
        }
        Ok(kind)
    }

    /// The request for a credential that goes to `receiver`, unless the caller names other audiences.
    ///
    /// # Errors
    ///
    /// As [`of`](Self::of).
    pub(crate) fn access(request: &Request, receiver: &str) -> Result<Request, Error> {
        Ok(match Self::of(request)? {
            Self::Jwt => request.for_receiver(receiver),
            Self::Certificate => request.clone(),
        })
    }

    /// Refuses a credential that is not of this kind.
    ///
    /// # Errors
    ///
    /// `internal`: it is not what `exchange` answers.
    pub(crate) fn require(self, credential: &Credential) -> Result<(), Error> {
        match (self, &credential.material) {
            (Self::Jwt, Material::Bearer(_)) | (Self::Certificate, Material::X509(_)) => Ok(()),
            _ => Err(Error::internal(
                "the access credential is not what was signed for the object",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::ErrorCode;

    fn request(kind: Option<&str>, audiences: &[&str]) -> Request {
        Request {
            audiences: audiences.iter().map(|text| (*text).to_owned()).collect(),
            parameters: kind
                .map(|kind| ("type".to_owned(), kind.to_owned()))
                .into_iter()
                .collect(),
            ..Request::default()
        }
    }

    #[test]
    fn a_token_has_an_audience_and_a_certificate_has_none() {
        for (kind, audiences, expected) in [
            (None, &["a"][..], Some(Kind::Jwt)),
            (Some("SpiffeJWT"), &["a", "b"], Some(Kind::Jwt)),
            (Some("SpiffeCertificate"), &[], Some(Kind::Certificate)),
            (None, &[], None),
            (Some("SpiffeJWT"), &[], None),
            (Some("SpiffeCertificate"), &["a"], None),
            (Some("spiffejwt"), &["a"], None),
            (Some("ServiceAccountToken"), &["a"], None),
            (Some(""), &["a"], None),
        ] {
            let request = request(kind, audiences);
            let parsed = Kind::for_exchange(&request);
            assert_eq!(parsed.as_ref().ok(), expected.as_ref(), "{request:?}");
            if let Err(error) = parsed {
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            }
        }
    }

    #[test]
    fn the_schema_knows_the_same_kinds() {
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for kind in ["SpiffeJWT", "SpiffeCertificate", "spiffejwt", "", "X"] {
            let parameters = serde_json::json!({ "type": kind });
            let audiences: &[&str] = if kind == "SpiffeCertificate" {
                &[]
            } else {
                &["a"]
            };
            assert_eq!(
                validator.is_valid(&parameters),
                Kind::of(&request(Some(kind), audiences)).is_ok(),
                "{kind}"
            );
        }
        assert!(!validator.is_valid(&serde_json::json!({ "kind": "SpiffeJWT" })));
    }

    #[test]
    fn fields_without_effect_are_refused_by_name() {
        let plain = || request(None, &["a"]);
        for (request, field) in [
            (
                Request {
                    scopes: vec!["s".into()],
                    ..plain()
                },
                "scopes",
            ),
            (
                Request {
                    region: Some("r".into()),
                    ..plain()
                },
                "region",
            ),
            (
                Request {
                    endpoint: Some("e".into()),
                    ..plain()
                },
                "endpoint",
            ),
            (
                Request {
                    parameters: [("trust-domain".into(), "v".into())].into(),
                    ..plain()
                },
                "parameter trust-domain",
            ),
        ] {
            let error = Kind::of(&request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
            assert!(error.message().contains(field), "{error}");
        }
    }
}
