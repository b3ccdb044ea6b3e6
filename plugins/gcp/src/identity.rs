//! Who a subject becomes, and what a checked request for it holds.

use crate::email::Email;
use crate::federation::Federation;
use crate::parameter::{IMPERSONATE, Parameters};
use crate::scope::Scopes;
use gatepass_sdk::{Error, Facts, Request, ServiceAccount, Subject};

/// The annotation that names the service account to impersonate; the one that GKE itself reads.
pub(crate) const SERVICE_ACCOUNT: &str = "iam.gke.io/gcp-service-account";

/// The identity of the process itself: which account that is, its credentials alone know.
const AMBIENT: &str = "application-default-credentials";

/// A request for an access token, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) route: Route,
    pub(crate) scopes: Scopes,
    pub(crate) parameters: Parameters,
}

/// How a subject comes to its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// By the credentials of the process.
    Ambient,
    /// By its ServiceAccount token.
    Federated(Federated),
    /// By the token of the link before it: the account that it impersonates.
    Link(Email),
}

/// A ServiceAccount that becomes a principal of Google.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Federated {
    pub(crate) federation: Federation,
    pub(crate) sts_host: String,
    pub(crate) principal: String,
    /// The service account that it impersonates; without one it has access itself.
    pub(crate) account: Option<Email>,
}

impl Plan {
    /// Checks annotations and every field of a request.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule; `needs-facts` where the
    /// cluster must be known; `unsupported` for an object.
    pub(crate) fn of(subject: &Subject, facts: &Facts, request: &Request) -> Result<Self, Error> {
        let parameters = Parameters::parse(request)?;
        parameters.refuse_cluster_endpoint()?;
        let scopes = Scopes::parse(&request.scopes)?;
        let route = route(subject, facts, request, &parameters)?;
        Ok(Self {
            route,
            scopes,
            parameters,
        })
    }

    /// What the subject becomes.
    pub(crate) fn identity(&self) -> &str {
        match &self.route {
            Route::Ambient => AMBIENT,
            Route::Link(account) => account.as_str(),
            Route::Federated(federated) => match &federated.account {
                Some(account) => account.as_str(),
                None => &federated.principal,
            },
        }
    }
}

fn route(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
    parameters: &Parameters,
) -> Result<Route, Error> {
    if let Subject::Object(_) = subject {
        return Err(Error::unsupported(
            "gcp serves ServiceAccounts and the process itself, not objects that are their own identity",
        ));
    }
    if let Some(account) = &parameters.impersonate {
        refuse_sts(request)?;
        return Ok(Route::Link(account.clone()));
    }
    match subject {
        Subject::ServiceAccount(account) => {
            federated(account, facts, request, parameters).map(Route::Federated)
        }
        _ => {
            refuse_sts(request)?;
            parameters.refuse_impersonation(
                "which account the process has is said by its own credentials (a further link with parameter impersonate becomes another)",
            )?;
            Ok(Route::Ambient)
        }
    }
}

/// Region and endpoint are the token service's, which this route does not use as the request says.
fn refuse_sts(request: &Request) -> Result<(), Error> {
    request.refuse_region()?;
    request.refuse_endpoint()
}

fn federated(
    account: &ServiceAccount,
    facts: &Facts,
    request: &Request,
    parameters: &Parameters,
) -> Result<Federated, Error> {
    let email = account
        .annotation(SERVICE_ACCOUNT)
        .map(|text| {
            let field = format!("service account '{account}': annotation {SERVICE_ACCOUNT}");
            Email::parse(&field, text)
        })
        .transpose()?;
    if email.is_none() {
        parameters.refuse_impersonation(&format!(
            "service account '{account}' lacks the annotation {SERVICE_ACCOUNT}"
        ))?;
    }
    let region = request.region.as_deref();
    let sts_host = parameters
        .universe
        .sts_host(region, request.endpoint.as_deref())?;
    let federation = Federation::of(account, facts, &parameters.universe)?;
    Ok(Federated {
        principal: federation.principal(account),
        federation,
        sts_host,
        account: email,
    })
}

/// The audience of the ServiceAccount token.
///
/// # Errors
///
/// As [`Plan::of`]; `unsupported` for a subject that has no such token; `invalid-configuration`
/// for a request that is a further link of a chain, which needs none.
pub(crate) fn audience(
    subject: &Subject,
    facts: &Facts,
    request: &Request,
) -> Result<String, Error> {
    subject.service_account()?;
    match Plan::of(subject, facts, request)?.route {
        Route::Federated(federated) => Ok(federated.federation.token_audience()),
        Route::Ambient | Route::Link(_) => Err(misplaced()),
    }
}

/// The first link impersonates what the annotation says.
pub(crate) fn misplaced() -> Error {
    Error::invalid_configuration(format!(
        "parameter {IMPERSONATE} has effect for a further link of a chain alone: remove it, or annotate the service account with {SERVICE_ACCOUNT}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::facts;
    use crate::federation::PROVIDER;
    use gatepass_sdk::{ErrorCode, ObjectReference, testing};

    const EMAIL: &str = "app@my-project.iam.gserviceaccount.com";
    const OTHER: &str = "other@my-project.iam.gserviceaccount.com";
    const NAME: &str = "projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider";
    const PRINCIPAL: &str = "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-pool/subject/system:serviceaccount:team-a:app";

    fn account(annotations: &[(&str, &str)]) -> Subject {
        testing::service_account("team-a", "app", annotations)
    }

    fn with(parameters: &[(&str, &str)]) -> Request {
        Request {
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Request::default()
        }
    }

    fn identity(subject: &Subject, facts: &Facts, request: &Request) -> Result<String, Error> {
        Plan::of(subject, facts, request).map(|plan| plan.identity().to_owned())
    }

    #[test]
    fn a_subject_becomes_an_account_or_a_principal() {
        let plain = with(&[]);
        let link = with(&[("impersonate", OTHER), ("lifetime-seconds", "600")]);
        let both = account(&[(SERVICE_ACCOUNT, EMAIL), (PROVIDER, NAME)]);
        let direct = account(&[(PROVIDER, NAME)]);
        for (subject, facts, request, expected) in [
            (&both, None, &plain, EMAIL),
            (&direct, None, &plain, PRINCIPAL),
            (
                &account(&[(SERVICE_ACCOUNT, EMAIL)]),
                facts(),
                &plain,
                EMAIL,
            ),
            (
                &account(&[]),
                facts(),
                &plain,
                "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-project.svc.id.goog/subject/ns/team-a/sa/app",
            ),
            (&Subject::Ambient, None, &plain, AMBIENT),
            (&Subject::Ambient, None, &link, OTHER),
            (&both, None, &link, OTHER),
            (&account(&[]), None, &link, OTHER),
        ] {
            let identity = identity(subject, &facts, request);
            assert_eq!(identity.as_deref(), Ok(expected), "{subject:?}");
        }
    }

    #[test]
    fn without_provider_the_cluster_must_be_known() {
        for annotations in [&[][..], &[(SERVICE_ACCOUNT, EMAIL)]] {
            let subject = account(annotations);
            let error = identity(&subject, &None, &with(&[])).unwrap_err();
            assert_eq!(error.code(), ErrorCode::NeedsFacts);
            let error = audience(&subject, &None, &with(&[])).unwrap_err();
            assert_eq!(error.code(), ErrorCode::NeedsFacts);
        }
    }

    #[test]
    fn the_audience_is_that_of_the_pool() {
        let audience = |subject: &Subject, request: &Request| audience(subject, &facts(), request);
        assert_eq!(
            audience(&account(&[(PROVIDER, NAME)]), &with(&[])).unwrap(),
            format!("//iam.googleapis.com/{NAME}")
        );
        assert_eq!(
            audience(&account(&[]), &with(&[])).unwrap(),
            "my-project.svc.id.goog"
        );
        let error = audience(&Subject::Ambient, &with(&[])).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Unsupported);
        let error = audience(&account(&[]), &with(&[("impersonate", EMAIL)])).unwrap_err();
        assert!(error.message().contains("impersonate"), "{error}");
    }

    #[test]
    fn an_object_is_unsupported() {
        let object = Subject::Object(ObjectReference {
            api_version: "v1".into(),
            kind: "Pod".into(),
            resource: "pods".into(),
            namespace: "a".into(),
            name: "b".into(),
            uid: "c".into(),
        });
        for request in [with(&[]), with(&[("impersonate", EMAIL)])] {
            let error = identity(&object, &facts(), &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Unsupported);
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value() {
        let both = account(&[(SERVICE_ACCOUNT, EMAIL), (PROVIDER, NAME)]);
        let direct = account(&[(PROVIDER, NAME)]);
        let region = |parameters: &[(&str, &str)]| Request {
            region: Some("europe-west1".into()),
            ..with(parameters)
        };
        let endpoint = |url: &str, parameters: &[(&str, &str)]| Request {
            endpoint: Some(url.into()),
            ..with(parameters)
        };
        let sts = "https://sts.googleapis.com";
        let link = [("impersonate", EMAIL)];
        let scopes = Request {
            scopes: vec!["a b".into()],
            ..with(&[])
        };
        for (subject, request, words) in [
            (
                &account(&[(SERVICE_ACCOUNT, "app"), (PROVIDER, NAME)]),
                with(&[]),
                [SERVICE_ACCOUNT, "'app'"],
            ),
            (
                &account(&[(SERVICE_ACCOUNT, ""), (PROVIDER, NAME)]),
                with(&[]),
                [SERVICE_ACCOUNT, "team-a/app"],
            ),
            (
                &account(&[(SERVICE_ACCOUNT, EMAIL), (PROVIDER, "pool")]),
                with(&[]),
                [PROVIDER, "'pool'"],
            ),
            (&both, scopes, ["scope", "'a b'"]),
            (
                &both,
                endpoint("https://evil.example", &[]),
                ["endpoint", "https://evil.example"],
            ),
            (&both, region(&link), ["region", "europe-west1"]),
            (&both, endpoint(sts, &link), ["endpoint", sts]),
            (&Subject::Ambient, region(&[]), ["region", "europe-west1"]),
            (&Subject::Ambient, endpoint(sts, &[]), ["endpoint", sts]),
            (
                &Subject::Ambient,
                with(&[("lifetime-seconds", "600")]),
                ["lifetime-seconds", "process"],
            ),
            (
                &direct,
                with(&[("lifetime-seconds", "600")]),
                ["lifetime-seconds", SERVICE_ACCOUNT],
            ),
            (
                &direct,
                with(&[("delegates", EMAIL)]),
                ["delegates", SERVICE_ACCOUNT],
            ),
            (
                &both,
                with(&[("cluster-endpoint", "dns")]),
                ["cluster-endpoint", "remove"],
            ),
            (&both, with(&[("project", "x")]), ["project", "remove"]),
        ] {
            let error = identity(subject, &facts(), &request).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfiguration, "{error}");
            for word in words {
                assert!(error.message().contains(word), "{word}: {error}");
            }
        }
    }
}
