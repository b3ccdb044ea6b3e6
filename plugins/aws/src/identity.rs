//! Who a ServiceAccount becomes, and what a checked request for it holds.

use crate::arn::RoleArn;
use crate::endpoint;
use crate::parameter::{CLUSTER_NAME, Parameters};
use crate::partition::Partition;
use crate::region::Region;
use gatepass_sdk::{Error, Request, Subject};

/// The annotation that names the role; the one that EKS's own webhook reads.
pub(crate) const ROLE_ARN: &str = "eks.amazonaws.com/role-arn";

/// The audience that AWS's token service asks for, in every partition.
pub(crate) const AUDIENCE: &str = "sts.amazonaws.com";

/// A request for an access token, checked.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Region of the token service.
    pub(crate) region: Region,
    /// Host of the token service.
    pub(crate) sts_host: String,
    pub(crate) parameters: Parameters,
}

impl Terms {
    /// Checks every field of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn parse(request: &Request) -> Result<Self, Error> {
        request.refuse_scopes()?;
        let region = region(request)?;
        let parameters = Parameters::parse(request)?;
        if parameters.cluster_name.is_some() {
            return Err(Error::invalid_configuration(format!(
                "parameter {CLUSTER_NAME} has effect for a cluster alone: remove it"
            )));
        }
        for policy in &parameters.policy_arns {
            require_partition("policy", policy.as_str(), policy.partition(), &region)?;
        }
        let endpoint = request.endpoint.as_deref();
        let sts_host = endpoint::sts_host(&region, parameters.variant, endpoint)?;
        Ok(Self {
            region,
            sts_host,
            parameters,
        })
    }
}

/// The role that a subject becomes under a request.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount; `invalid-configuration` if its
/// annotation or the request is wrong.
pub(crate) fn identity(subject: &Subject, request: &Request) -> Result<RoleArn, Error> {
    let account = subject.service_account()?;
    let annotation = account.required_annotation(ROLE_ARN)?;
    let field = format!("service account '{account}': annotation {ROLE_ARN}");
    let role = RoleArn::parse(&field, annotation)?;
    let terms = Terms::parse(request)?;
    require_partition("role", role.as_str(), role.partition(), &terms.region)?;
    Ok(role)
}

/// The region of a request that must have one.
///
/// # Errors
///
/// `invalid-configuration` if it has none, or one that is no region.
pub(crate) fn region(request: &Request) -> Result<Region, Error> {
    match request.region.as_deref() {
        Some(text) => Region::parse("region", text),
        None => Err(Error::invalid_configuration(
            "a region is needed to authenticate with a service account: set region to that of the token service, us-east-1 say",
        )),
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
        Some(_) => region(request)?,
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

fn require_partition(
    what: &str,
    arn: &str,
    partition: Partition,
    region: &Region,
) -> Result<(), Error> {
    if partition == region.partition() {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "{what} '{arn}' is of partition {}, and region {region} of partition {}: correct one of them",
        partition.name(),
        region.partition().name()
    )))
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
        let role = identity(&subject(ROLE), &request("us-east-1")).unwrap();
        assert_eq!(role.as_str(), ROLE);
    }

    #[test]
    fn a_subject_without_annotations_to_read_is_unsupported() {
        let object = ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            resource: "pods".into(),
            namespace: "a".into(),
            name: "b".into(),
            uid: "c".into(),
        };
        for subject in [Subject::Ambient, Subject::Object(object)] {
            let error = identity(&subject, &request("us-east-1")).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
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
        for (role, request, words) in [
            (ROLE, Request::default(), ["region", "us-east-1"]),
            (
                ROLE,
                request("us-east-1.evil"),
                ["region", "us-east-1.evil"],
            ),
            (ROLE, request("cn-north-1"), ["aws-cn", ROLE]),
            ("app", request("us-east-1"), [ROLE_ARN, "'app'"]),
            ("", request("us-east-1"), [ROLE_ARN, "team-a/app"]),
            (ROLE, endpoint, ["endpoint", "sts.us-west-2"]),
            (ROLE, scopes, ["scopes", "read"]),
            (ROLE, cluster, ["cluster-name", "remove"]),
            (ROLE, policy, ["policy 'arn:aws-cn", "us-east-1"]),
        ] {
            let error = identity(&subject(role), &request).unwrap_err();
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
