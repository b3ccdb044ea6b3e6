//! Who a ServiceAccount is to whoever receives its token, and who may receive it.

use gatepass_sdk::{Error, Request, Subject};

/// The name that Kubernetes puts into the token as its subject.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; `invalid-configuration` if the request
/// holds a field that has no effect.
pub(crate) fn identity(subject: &Subject, request: &Request) -> Result<String, Error> {
    check(request)?;
    let account = subject.service_account()?;
    Ok(format!(
        "system:serviceaccount:{}:{}",
        account.namespace, account.name
    ))
}

/// Refuses every field but the audiences: nothing else goes into a ServiceAccount token.
///
/// # Errors
///
/// `invalid-configuration` naming the field.
pub(crate) fn check(request: &Request) -> Result<(), Error> {
    request.refuse_scopes()?;
    request.refuse_region()?;
    request.refuse_endpoint()?;
    request.take_parameters().finish()
}

/// The audiences of the request. There is no default: a token for the wrong audience is accepted
/// by the wrong service.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; `invalid-configuration` if the request
/// names no audience.
pub(crate) fn audience(subject: &Subject, request: &Request) -> Result<Vec<String>, Error> {
    subject.service_account()?;
    if request.audiences.is_empty() {
        return Err(Error::invalid_configuration(
            "the generic provider cannot know who will receive the token: set audiences to the name by which that service knows itself",
        ));
    }
    Ok(request.audiences.clone())
}

/// The request for a token that goes to `receiver`, unless the caller names other audiences.
///
/// # Errors
///
/// As [`check`].
pub(crate) fn access(request: &Request, receiver: &str) -> Result<Request, Error> {
    check(request)?;
    Ok(request.for_receiver(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, testing};

    fn subject() -> Subject {
        testing::service_account("team-a", "app", &[])
    }

    #[test]
    fn an_account_is_the_subject_of_its_token() {
        let identity = identity(&subject(), &Request::default()).unwrap();
        assert_eq!(identity, "system:serviceaccount:team-a:app");
    }

    #[test]
    fn fields_without_effect_are_refused_by_name() {
        let plain = Request::default;
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
                    parameters: [("p".into(), "v".into())].into(),
                    ..plain()
                },
                "parameter p",
            ),
        ] {
            for error in [
                identity(&subject(), &request).unwrap_err(),
                access(&request, "x").unwrap_err(),
            ] {
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
                assert!(error.message().contains(field), "{error}");
            }
        }
    }

    #[test]
    fn audiences_come_from_the_request_alone() {
        let request = Request {
            audiences: vec!["vault".into()],
            ..Request::default()
        };
        assert_eq!(audience(&subject(), &request), Ok(vec!["vault".into()]));
        let error = audience(&subject(), &Request::default()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
        assert!(error.message().contains("set audiences"), "{error}");
    }

    #[test]
    fn other_subjects_are_unsupported() {
        for error in [
            identity(&Subject::Ambient, &Request::default()).unwrap_err(),
            audience(&Subject::Ambient, &Request::default()).unwrap_err(),
        ] {
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
    }
}
