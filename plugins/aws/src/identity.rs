//! Who a subject becomes.

use crate::arn::RoleArn;
use crate::facts;
use crate::parameter::{CLUSTER_NAME, Parameters};
use crate::region::Region;
use crate::terms::{self, Terms, require_account, require_partition};
use gatepass_sdk::{Error, Facts, Request, Subject};

/// The annotation that names the role; the one that EKS's own webhook reads.
pub(crate) const ROLE_ARN: &str = "eks.amazonaws.com/role-arn";

/// The audience that AWS's token service asks for, in every partition.
pub(crate) const AUDIENCE: &str = "sts.amazonaws.com";

/// What the process itself becomes, where nothing says which role it has.
const AMBIENT: &str = "ambient";

/// What a subject becomes under a request: the role of a link, the role of an account's annotation,
/// or whatever the process itself is.
///
/// # Errors
///
/// `unsupported` for an object outside a link; `invalid-configuration` if annotation or request is
/// wrong; `needs-facts`.
pub(crate) fn identity(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
) -> Result<String, Error> {
    if *subject == Subject::Ambient && facts.is_none() {
        // Even where the request has a region: a key must not hang on what was asked before.
        return Err(Error::needs_facts());
    }
    let terms = Terms::parse(request, facts)?;
    match (&terms.parameters.link, subject) {
        (Some(link), _) => {
            refuse_audiences(request, "in a link, which has no token")?;
            Ok(link.role.to_string())
        }
        (None, Subject::Ambient) => ambient(facts, request, &terms.parameters),
        (None, _) => Ok(annotated(subject, &terms)?.to_string()),
    }
}

/// The role of a ServiceAccount's annotation.
fn annotated(subject: &Subject, terms: &Terms) -> Result<RoleArn, Error> {
    let account = subject.service_account()?;
    let annotation = account.required_annotation(ROLE_ARN)?;
    let field = format!("service account '{account}': annotation {ROLE_ARN}");
    let role = RoleArn::parse(&field, annotation)?;
    require_partition("role", role.as_str(), role.partition(), &terms.region)?;
    require_account(&role, &terms.parameters)?;
    Ok(role)
}

/// The keys of the process are what they are: no parameter can limit them. Region and endpoint say
/// where the token service is, which a source may need.
fn ambient(facts: &Facts, request: &Request, parameters: &Parameters) -> Result<String, Error> {
    for (name, given) in [
        ("duration-seconds", parameters.duration_seconds.is_some()),
        ("policy", parameters.policy.is_some()),
        ("policy-arns", !parameters.policy_arns.is_empty()),
    ] {
        if given {
            return Err(Error::invalid_configuration(format!(
                "parameter {name} has no effect on the host's own keys: remove it, or put it in a link with role-arn"
            )));
        }
    }
    refuse_audiences(request, "on the host's own keys")?;
    Ok(facts::role(facts).unwrap_or(AMBIENT).into())
}

fn refuse_audiences(request: &Request, place: &str) -> Result<(), Error> {
    match request.audiences.first() {
        None => Ok(()),
        Some(audience) => Err(Error::invalid_configuration(format!(
            "audiences '{}' have no effect {place}: remove them",
            audience.escape_debug()
        ))),
    }
}

/// A request for the access token to a resource in `home`. The caller's own region, if given, is
/// kept: it is the token service's, and keys serve the whole partition.
///
/// # Errors
///
/// `invalid-configuration` if the caller's region is of another partition, whose keys are void
/// in this one.
pub(crate) fn access(request: &Request, home: &Region) -> Result<Request, Error> {
    let region = match request.region {
        None => home.clone(),
        Some(_) => terms::region(request, &None)?,
    };
    if region.partition() != home.partition() {
        return Err(Error::invalid_configuration(format!(
            "region {region} is of partition {}, and keys from there are void in {home}: remove region, or set it to one of partition {}",
            region.partition().name(),
            home.partition().name()
        )));
    }
    let mut access = request.clone();
    access.region = Some(region.name().into());
    access.parameters.remove(CLUSTER_NAME);
    Ok(access)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, ObjectReference, testing};

    const ROLE: &str = "arn:aws:iam::123456789012:role/app";

    fn subject(role: &str) -> Subject {
        testing::service_account("team-a", "app", &[(ROLE_ARN, role)])
    }

    fn request(region: &str) -> Request {
        Request {
            region: Some(region.into()),
            ..Request::default()
        }
    }

    #[test]
    fn an_account_becomes_the_role_of_its_annotation() {
        let role = identity(&subject(ROLE), &None, &request("us-east-1")).unwrap();
        assert_eq!(role, ROLE);
    }

    fn facts(facts: &[(&str, &str)]) -> Facts {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Some(facts.iter().map(owned).collect())
    }

    #[test]
    fn without_a_region_the_environments_is_taken() {
        let identity = |facts: &Facts| identity(&subject(ROLE), facts, &Request::default());
        assert_eq!(identity(&None), Err(Error::needs_facts()));
        assert_eq!(identity(&facts(&[("region", "us-east-1")])).unwrap(), ROLE);
        for known in [
            facts(&[]),
            facts(&[("region", "us-east-1.evil")]),
            facts(&[("region", "s3")]),
        ] {
            let error = identity(&known).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            assert!(error.message().contains("region"), "{error}");
        }
        let error = identity(&facts(&[])).unwrap_err();
        assert!(error.message().contains("AWS_REGION"), "{error}");
    }

    #[test]
    fn the_process_is_what_the_facts_say() {
        let identity = |facts, request: &Request| identity(&Subject::Ambient, &facts, request);
        let request = request("us-east-1");
        assert_eq!(identity(None, &request), Err(Error::needs_facts()));
        assert_eq!(identity(facts(&[]), &request).unwrap(), "ambient");
        let role = facts(&[("role-arn", ROLE)]);
        assert_eq!(identity(role, &request).unwrap(), ROLE);
        for (name, value) in [
            ("duration-seconds", "900"),
            ("policy", "{}"),
            ("policy-arns", "arn:aws:iam::aws:policy/ReadOnlyAccess"),
        ] {
            let limited = Request {
                parameters: [(name.into(), value.into())].into(),
                ..request.clone()
            };
            let error = identity(facts(&[]), &limited).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            assert!(error.message().contains(name), "{error}");
        }
        let audience = Request {
            audiences: vec!["a".into()],
            ..request
        };
        let error = identity(facts(&[]), &audience).unwrap_err();
        assert!(error.message().contains("audiences"), "{error}");
    }

    #[test]
    fn a_link_makes_every_subject_its_role() {
        let other = "arn:aws:iam::210987654321:role/other";
        let link = Request {
            parameters: [("role-arn".into(), other.into())].into(),
            ..request("us-east-1")
        };
        assert_eq!(identity(&subject(ROLE), &None, &link).unwrap(), other);
        let ambient = identity(&Subject::Ambient, &facts(&[]), &link);
        assert_eq!(ambient.unwrap(), other);
        let audience = Request {
            audiences: vec!["a".into()],
            ..link.clone()
        };
        let error = identity(&subject(ROLE), &None, &audience).unwrap_err();
        assert!(error.message().contains("audiences 'a'"), "{error}");
        let elsewhere = Request {
            region: Some("cn-north-1".into()),
            ..link
        };
        let error = identity(&subject(ROLE), &None, &elsewhere).unwrap_err();
        assert!(error.message().contains("aws-cn"), "{error}");
    }

    #[test]
    fn an_object_is_unsupported() {
        let object = ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            resource: "pods".into(),
            namespace: "a".into(),
            name: "b".into(),
            uid: "c".into(),
        };
        let error = identity(&Subject::Object(object), &None, &request("us-east-1")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value() {
        let endpoint = Request {
            endpoint: Some("https://sts.us-west-2.amazonaws.com".into()),
            ..request("us-east-1")
        };
        let scopes = Request {
            scopes: vec!["read".into()],
            ..request("us-east-1")
        };
        let cluster = Request {
            parameters: [("cluster-name".into(), "prod".into())].into(),
            ..request("us-east-1")
        };
        let policy = Request {
            parameters: [(
                "policy-arns".into(),
                "arn:aws-cn:iam::aws:policy/ReadOnlyAccess".into(),
            )]
            .into(),
            ..request("us-east-1")
        };
        let account = Request {
            parameters: [("expected-account".into(), "210987654321".into())].into(),
            ..request("us-east-1")
        };
        for (role, request, words) in [
            (
                ROLE,
                request("us-east-1.evil"),
                ["region", "us-east-1.evil"],
            ),
            (ROLE, request("s3"), ["region", "'s3'"]),
            (ROLE, request("s3-us-west-2"), ["region", "'s3-us-west-2'"]),
            (ROLE, request("cn-north-1"), ["aws-cn", ROLE]),
            ("app", request("us-east-1"), [ROLE_ARN, "'app'"]),
            ("", request("us-east-1"), [ROLE_ARN, "team-a/app"]),
            (ROLE, endpoint, ["endpoint", "sts.us-west-2"]),
            (ROLE, scopes, ["scopes", "read"]),
            (ROLE, cluster, ["cluster-name", "remove"]),
            (ROLE, policy, ["policy 'arn:aws-cn", "us-east-1"]),
            (ROLE, account, ["expected-account '210987654321'", ROLE]),
        ] {
            let error = identity(&subject(role), &None, &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            for word in words {
                assert!(error.message().contains(word), "{error}");
            }
        }
    }

    #[test]
    fn access_to_a_resource_is_asked_for_in_its_region_unless_the_caller_names_one() {
        let home = Region::parse("region", "eu-west-1").unwrap();
        let region = |request: &Request| access(request, &home).map(|access| access.region);
        assert_eq!(region(&Request::default()), Ok(Some("eu-west-1".into())));
        assert_eq!(region(&request("us-east-1")), Ok(Some("us-east-1".into())));
        let error = region(&request("cn-north-1")).unwrap_err();
        assert!(error.message().contains("aws-cn"), "{error}");
    }
}
