//! What the administrator of an account must add, so that a role trusts a ServiceAccount.

use crate::arn::RoleArn;
use crate::identity::AUDIENCE;
use crate::parameter::Parameters;
use gatepass_sdk::{Authority, Error, Request, ServiceAccount, Subject};
use serde_json::{Value, json};

/// The version of the policy language that knows every element used here.
const POLICY_VERSION: &str = "2012-10-17";

/// Longest issuer (IAM `OpenIDConnectProviderUrlType`).
const MAX_ISSUER: usize = 255;

/// The trust policy of the role `identity`, as JSON: for exactly this subject and these audiences,
/// whose tokens are of exactly this issuer.
///
/// # Errors
///
/// `unsupported` for subjects that AWS is not told of by a token, and for links of a chain;
/// `invalid-configuration` if role or issuer is none that IAM takes.
pub(crate) fn trust(
    subject: &Subject,
    identity: &str,
    issuer: &str,
    audiences: &[String],
    request: &Request,
) -> Result<String, Error> {
    let account = subject.service_account()?;
    if Parameters::parse(request)?.link.is_some() {
        return Err(Error::unsupported(
            "the trust policy of a link's role names the role before it, which is not known here: allow sts:AssumeRole to the principal of the link before, with the external ID as a condition",
        ));
    }
    let role = RoleArn::parse("identity", identity)?;
    let issuer = Issuer::parse(issuer)?;
    let policy = policy(account, &role, &issuer, audiences);
    serde_json::to_string_pretty(&policy)
        .map_err(|_| Error::internal("the trust policy cannot be written as JSON"))
}

fn policy(
    account: &ServiceAccount,
    role: &RoleArn,
    issuer: &Issuer,
    audiences: &[String],
) -> Value {
    let Issuer(issuer) = issuer;
    let subject = format!(
        "system:serviceaccount:{}:{}",
        account.namespace, account.name
    );
    let provider = format!(
        "arn:{}:iam::{}:oidc-provider/{issuer}",
        role.partition().name(),
        role.account()
    );
    json!({
        "Version": POLICY_VERSION,
        "Statement": [{
            "Effect": "Allow",
            "Principal": { "Federated": provider },
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {
                "StringEquals": {
                    (format!("{issuer}:sub")): literal(&subject),
                    (format!("{issuer}:aud")): any_of(audiences),
                },
            },
        }],
    })
}

/// One audience, or a list of which one must match.
fn any_of(audiences: &[String]) -> Value {
    match audiences {
        [] => AUDIENCE.into(),
        [audience] => literal(audience).into(),
        audiences => audiences.iter().map(|audience| literal(audience)).collect(),
    }
}

/// A value that IAM compares as it stands: `${` would begin a policy variable (IAM User Guide,
/// "Policy variables").
fn literal(text: &str) -> String {
    text.replace("${", "${$}{")
}

/// An issuer as IAM names its provider: without the scheme.
struct Issuer(String);

impl Issuer {
    /// Reads `https://HOST[/PATH]`. IAM takes no port, no query and no fragment
    /// (`CreateOpenIDConnectProvider`).
    fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "issuer '{}' must be https://HOST[/PATH] of at most {MAX_ISSUER} characters, without port and query: IAM takes no other",
                text.escape_debug()
            ))
        })
    }

    fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://")?;
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at_checked(at)?,
            None => (rest, ""),
        };
        let authority = Authority::parse(host)?;
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte);
        let fits = text.len() <= MAX_ISSUER
            && authority.port().is_none()
            && !host.starts_with('[')
            && path.bytes().all(legal);
        fits.then(|| Self(format!("{}{path}", authority.host())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, testing};

    const ROLE: &str = "arn:aws:iam::123456789012:role/app";
    const ISSUER: &str = "https://oidc.eks.us-east-1.amazonaws.com/id/ABC";

    fn written(role: &str, issuer: &str, audiences: &[&str]) -> Result<Value, Error> {
        let subject = testing::service_account("team-a", "app", &[]);
        let audiences: Vec<String> = audiences.iter().map(|text| (*text).to_owned()).collect();
        let text = trust(&subject, role, issuer, &audiences, &Request::default())?;
        Ok(serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn the_policy_trusts_exactly_this_account() {
        let policy = written(ROLE, ISSUER, &["sts.amazonaws.com"]).unwrap();
        let expected = json!({
            "Version": "2012-10-17",
            "Statement": [{
                "Effect": "Allow",
                "Principal": {
                    "Federated": "arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/ABC",
                },
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {
                    "StringEquals": {
                        "oidc.eks.us-east-1.amazonaws.com/id/ABC:sub": "system:serviceaccount:team-a:app",
                        "oidc.eks.us-east-1.amazonaws.com/id/ABC:aud": "sts.amazonaws.com",
                    },
                },
            }],
        });
        assert_eq!(policy, expected);
        assert_eq!(written(ROLE, ISSUER, &[]).unwrap(), expected);
    }

    #[test]
    fn the_provider_is_of_the_roles_partition_and_account() {
        let policy = written("arn:aws-cn:iam::1:role/a", "https://Issuer.example", &[]).unwrap();
        assert_eq!(
            policy["Statement"][0]["Principal"]["Federated"],
            "arn:aws-cn:iam::1:oidc-provider/issuer.example"
        );
    }

    #[test]
    fn no_value_can_change_the_policy() {
        for (audience, expected) in [
            ("a\"}], \"x\": [{\"", "a\"}], \"x\": [{\""),
            ("${aws:userid}", "${$}{aws:userid}"),
            ("*", "*"),
            ("a\nb", "a\nb"),
        ] {
            let policy = written(ROLE, ISSUER, &[audience]).unwrap();
            let condition = &policy["Statement"][0]["Condition"];
            let key = "oidc.eks.us-east-1.amazonaws.com/id/ABC:aud";
            assert_eq!(condition["StringEquals"][key], expected);
            assert_eq!(condition.as_object().unwrap().len(), 1);
        }
        let policy = written(ROLE, ISSUER, &["a", "b"]).unwrap();
        let equals = &policy["Statement"][0]["Condition"]["StringEquals"];
        let key = "oidc.eks.us-east-1.amazonaws.com/id/ABC:aud";
        assert_eq!(equals[key], json!(["a", "b"]));
    }

    #[test]
    fn an_issuer_or_role_that_iam_does_not_take_is_refused() {
        let long = format!("https://a.example/{}", "a".repeat(240));
        for issuer in [
            "",
            "a.example",
            "http://a.example",
            "https://",
            "https://a.example:8443",
            "https://a.example?x",
            "https://a.example/x#y",
            "https://u@a.example",
            "https://[::1]/",
            "https://a.example/*",
            "https://a.example/\"",
            "https://a.example/${aws:userid}",
            &long,
        ] {
            let error = written(ROLE, issuer, &[]).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{issuer}");
            assert!(error.message().contains("issuer"), "{error}");
        }
        assert!(written("ambient", ISSUER, &[]).is_err());
    }

    #[test]
    fn other_subjects_and_links_are_unsupported() {
        let error = trust(&Subject::Ambient, ROLE, ISSUER, &[], &Request::default());
        assert_eq!(error.unwrap_err().code(), ErrorCode::Unsupported);
        let link = Request {
            parameters: [("role-arn".into(), ROLE.into())].into(),
            ..Request::default()
        };
        let subject = testing::service_account("team-a", "app", &[]);
        let error = trust(&subject, ROLE, ISSUER, &[], &link).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
    }
}
