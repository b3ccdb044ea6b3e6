//! Who a job is, and for whom its token may be.

use gatepass_sdk::{Error, Request, Subject};

/// The identity of a job before its token is there: which repository and workflow it is of, GitHub
/// says in the token.
const JOB: &str = "github-actions-job";

/// The identity of the process, which must be a job.
///
/// # Errors
///
/// `unsupported` for every other subject; `invalid-configuration` if the request is wrong.
pub(crate) fn identity(subject: &Subject, request: &Request) -> Result<String, Error> {
    if *subject != Subject::Ambient {
        return Err(Error::unsupported(
            "the github provider serves the job in which it runs: name no service account and no object",
        ));
    }
    audience(request)?;
    Ok(JOB.into())
}

/// The audience of a request: GitHub puts one into a token, and takes the URL of the repository's
/// owner if it is told none.
///
/// # Errors
///
/// `invalid-configuration` if there are several, or the request holds a field that has no effect.
pub(crate) fn audience(request: &Request) -> Result<Option<&str>, Error> {
    request.refuse_scopes()?;
    request.refuse_region()?;
    request.refuse_endpoint()?;
    request.take_parameters().finish()?;
    match request.audiences.as_slice() {
        [] => Ok(None),
        [audience] => Ok(Some(audience)),
        several => Err(Error::invalid_configuration(format!(
            "audiences names {}, and GitHub puts one into a token: name one",
            several.len()
        ))),
    }
}

/// The request for a token that goes to `receiver`, unless the caller names another audience.
///
/// # Errors
///
/// As [`audience`].
pub(crate) fn access(request: &Request, receiver: &str) -> Result<Request, Error> {
    audience(request)?;
    Ok(request.for_receiver(receiver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, testing};

    #[test]
    fn the_process_is_a_job_with_one_audience_at_most() {
        for audiences in [&[][..], &["sts"]] {
            let request = Request {
                audiences: audiences.iter().map(|text| (*text).to_owned()).collect(),
                ..Request::default()
            };
            assert_eq!(identity(&Subject::Ambient, &request).as_deref(), Ok(JOB));
        }
    }

    #[test]
    fn fields_without_effect_are_refused_by_name() {
        let plain = Request::default;
        for (request, field) in [
            (
                Request {
                    audiences: vec!["a".into(), "b".into()],
                    ..plain()
                },
                "audiences",
            ),
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
                identity(&Subject::Ambient, &request).unwrap_err(),
                access(&request, "x").unwrap_err(),
            ] {
                assert_eq!(error.code(), ErrorCode::InvalidConfiguration);
                assert!(error.message().contains(field), "{error}");
            }
        }
    }

    #[test]
    fn other_subjects_are_unsupported() {
        for subject in [
            testing::service_account("team-a", "app", &[]),
            testing::object("a", "b", "c"),
        ] {
            let error = identity(&subject, &Request::default()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
    }
}
