//! What the administrator at Google runs so that an exchange works, for exactly one subject.

use crate::email::Email;
use crate::federation::{PROVIDER, WorkloadProvider};
use crate::identity::SERVICE_ACCOUNT;
use crate::parameter::Parameters;
use gatepass_sdk::{Error, Request, ServiceAccount, Subject, shell_quoted};

/// May have the tokens of a service account, as a federated identity.
const WORKLOAD_IDENTITY_USER: &str = "roles/iam.workloadIdentityUser";

/// May have the tokens of a service account, and pass that on to others.
const TOKEN_CREATOR: &str = "roles/iam.serviceAccountTokenCreator";

/// Commands of `gcloud`. `identity` and `audiences` are those of the subject's own request,
/// `issuer` is that of its tokens. Every value is quoted for a shell.
///
/// # Errors
///
/// `unsupported` for a subject that is no ServiceAccount, unless the request is a further link of
/// a chain; `invalid-configuration` if a value is wrong or does not fit a command.
pub(crate) fn trust(
    subject: &Subject,
    identity: &str,
    issuer: &str,
    audiences: &[String],
    request: &Request,
) -> Result<String, Error> {
    for (field, value) in [("identity", identity), ("issuer", issuer)] {
        check(field, value)?;
    }
    for audience in audiences {
        check("audience", audience)?;
    }
    let parameters = Parameters::parse(request)?;
    let mut script = Script::new(&parameters);
    if let Some(account) = &parameters.impersonate {
        script.note("Set MEMBER to the link before: serviceAccount:EMAIL, or its principal://.");
        script.impersonation(account, "\"$MEMBER\"", TOKEN_CREATOR);
        return Ok(script.text);
    }
    let account = subject.service_account()?;
    let member = match account.annotation(PROVIDER) {
        Some(name) => {
            let provider = WorkloadProvider::parse(&format!("annotation {PROVIDER}"), name)?;
            script.provider(&provider, issuer, audiences);
            let (namespace, name) = (&account.namespace, &account.name);
            provider.principal(&format!("system:serviceaccount:{namespace}:{name}"))
        }
        None => gke_member(account, identity, audiences)?,
    };
    let member = shell_quoted(&member);
    match account.annotation(SERVICE_ACCOUNT) {
        Some(text) => {
            let email = Email::parse(&format!("annotation {SERVICE_ACCOUNT}"), text)?;
            script.impersonation(&email, &member, WORKLOAD_IDENTITY_USER);
        }
        None => script.access(&member),
    }
    Ok(script.text)
}

/// GKE's pool trusts its clusters by itself. The identity is the principal, but for an account
/// that impersonates, whose older name the audience makes.
fn gke_member(
    account: &ServiceAccount,
    identity: &str,
    audiences: &[String],
) -> Result<String, Error> {
    if account.annotation(SERVICE_ACCOUNT).is_none() {
        return Ok(identity.into());
    }
    let pool = audiences
        .iter()
        .find(|audience| audience.ends_with(".svc.id.goog"));
    let pool = pool.ok_or_else(|| {
        Error::invalid_configuration(format!(
            "no audience is the pool of a GKE cluster, PROJECT.svc.id.goog: annotate the service account with {PROVIDER}"
        ))
    })?;
    Ok(format!(
        "serviceAccount:{pool}[{}/{}]",
        account.namespace, account.name
    ))
}

/// A value without spaces, control characters and commas, by which `gcloud` parts lists.
fn check(field: &str, value: &str) -> Result<(), Error> {
    let fits = value
        .chars()
        .all(|character| character.is_ascii_graphic() && character != ',');
    if fits && !value.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_configuration(format!(
        "{field} '{}' must be printable ASCII without spaces and commas to stand in a command",
        value.escape_debug()
    )))
}

struct Script<'a> {
    text: String,
    parameters: &'a Parameters,
}

impl<'a> Script<'a> {
    fn new(parameters: &'a Parameters) -> Self {
        Self {
            text: String::new(),
            parameters,
        }
    }

    fn note(&mut self, note: &str) {
        self.text.push_str(&format!("# {note}\n"));
    }

    /// One command over several lines, in the request's universe.
    fn command(&mut self, command: &str, arguments: &[(&str, String)]) {
        self.text.push_str(command);
        let universe = &self.parameters.universe;
        let domain = [("universe-domain", shell_quoted(universe.as_str()))];
        let domain = if universe.is_public() {
            &[][..]
        } else {
            &domain
        };
        for (name, value) in arguments.iter().chain(domain) {
            self.text.push_str(&format!(" \\\n  --{name}={value}"));
        }
        self.text.push('\n');
    }

    fn provider(&mut self, provider: &WorkloadProvider, issuer: &str, audiences: &[String]) {
        let (project, pool) = (
            shell_quoted(&provider.project_number),
            shell_quoted(&provider.pool),
        );
        let location = shell_quoted("global");
        let audiences = match audiences {
            [] => provider.audience(),
            audiences => audiences.join(","),
        };
        self.note("Leave out what is there already.");
        self.command(
            &format!("gcloud iam workload-identity-pools create {pool}"),
            &[("project", project.clone()), ("location", location.clone())],
        );
        self.note("If Google cannot reach the issuer, add --jwk-json-path with its keys.");
        self.command(
            &format!(
                "gcloud iam workload-identity-pools providers create-oidc {}",
                shell_quoted(&provider.name)
            ),
            &[
                ("project", project),
                ("location", location),
                ("workload-identity-pool", pool),
                ("issuer-uri", shell_quoted(issuer)),
                ("allowed-audiences", shell_quoted(&audiences)),
                (
                    "attribute-mapping",
                    shell_quoted("google.subject=assertion.sub"),
                ),
            ],
        );
    }

    /// Lets `member` have the account's tokens: by itself, or through the delegates, each of
    /// which may have those of the next.
    fn impersonation(&mut self, account: &Email, member: &str, role: &str) {
        let delegates = self.parameters.delegates.clone();
        let role = if delegates.is_empty() {
            role
        } else {
            TOKEN_CREATOR
        };
        let mut member = member.to_owned();
        for target in delegates.iter().chain([account]) {
            self.command(
                &format!(
                    "gcloud iam service-accounts add-iam-policy-binding {}",
                    shell_quoted(target.as_str())
                ),
                &[("role", shell_quoted(role)), ("member", member)],
            );
            member = shell_quoted(&format!("serviceAccount:{target}"));
        }
    }

    fn access(&mut self, member: &str) {
        self.note("Set PROJECT and ROLE to what the subject shall have access to.");
        self.command(
            "gcloud projects add-iam-policy-binding \"$PROJECT\"",
            &[
                ("role", "\"$ROLE\"".into()),
                ("member", member.into()),
                ("condition", "None".into()),
            ],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::{ErrorCode, testing};

    const EMAIL: &str = "app@my-project.iam.gserviceaccount.com";
    const NAME: &str = "projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider";
    const ISSUER: &str = "https://issuer.example/cluster";
    const PRINCIPAL: &str = "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-pool/subject/system:serviceaccount:team-a:app";
    const GKE: &str = "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-project.svc.id.goog/subject/ns/team-a/sa/app";

    fn script(
        annotations: &[(&str, &str)],
        identity: &str,
        audience: &str,
        parameters: &[(&str, &str)],
    ) -> Result<String, Error> {
        let subject = testing::service_account("team-a", "app", annotations);
        let request = Request {
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Request::default()
        };
        trust(&subject, identity, ISSUER, &[audience.into()], &request)
    }

    #[test]
    fn a_provider_is_made_for_the_issuer_and_bound_for_the_subject() {
        let audience = format!("//iam.googleapis.com/{NAME}");
        let provider = format!(
            "# Leave out what is there already.
gcloud iam workload-identity-pools create 'my-pool' \\
  --project='123456789012' \\
  --location='global'
# If Google cannot reach the issuer, add --jwk-json-path with its keys.
gcloud iam workload-identity-pools providers create-oidc 'my-provider' \\
  --project='123456789012' \\
  --location='global' \\
  --workload-identity-pool='my-pool' \\
  --issuer-uri='{ISSUER}' \\
  --allowed-audiences='{audience}' \\
  --attribute-mapping='google.subject=assertion.sub'
"
        );
        let annotations = [(PROVIDER, NAME), (SERVICE_ACCOUNT, EMAIL)];
        let [direct, _] = &annotations;
        let access = format!(
            "# Set PROJECT and ROLE to what the subject shall have access to.
gcloud projects add-iam-policy-binding \"$PROJECT\" \\
  --role=\"$ROLE\" \\
  --member='{PRINCIPAL}' \\
  --condition=None
"
        );
        let text = script(&[*direct], PRINCIPAL, &audience, &[]).unwrap();
        assert_eq!(text, format!("{provider}{access}"));
        let own = trust(
            &testing::service_account("team-a", "app", &[*direct]),
            PRINCIPAL,
            ISSUER,
            &[],
            &Request::default(),
        );
        assert_eq!(own, Ok(text));
        let binding = format!(
            "gcloud iam service-accounts add-iam-policy-binding '{EMAIL}' \\
  --role='roles/iam.workloadIdentityUser' \\
  --member='{PRINCIPAL}'
"
        );
        let text = script(&annotations, EMAIL, &audience, &[]).unwrap();
        assert_eq!(text, format!("{provider}{binding}"));
    }

    #[test]
    fn gke_needs_no_provider() {
        let pool = "my-project.svc.id.goog";
        let text = script(&[], GKE, pool, &[]).unwrap();
        assert!(text.contains(&format!("--member='{GKE}'")), "{text}");
        assert!(!text.contains("workload-identity-pools create"), "{text}");
        let text = script(&[(SERVICE_ACCOUNT, EMAIL)], EMAIL, pool, &[]).unwrap();
        let member = "--member='serviceAccount:my-project.svc.id.goog[team-a/app]'";
        assert!(text.contains(member), "{text}");
        assert!(script(&[(SERVICE_ACCOUNT, EMAIL)], EMAIL, "other", &[]).is_err());
    }

    #[test]
    fn each_delegate_may_have_the_tokens_of_the_next() {
        let delegates = "b@p.iam.gserviceaccount.com,c@p.iam.gserviceaccount.com";
        let parameters = [
            ("impersonate", EMAIL),
            ("delegates", delegates),
            ("universe-domain", "s3nsapis.fr"),
        ];
        let text = script(&[], EMAIL, "none", &parameters).unwrap();
        let expected = "# Set MEMBER to the link before: serviceAccount:EMAIL, or its principal://.
gcloud iam service-accounts add-iam-policy-binding 'b@p.iam.gserviceaccount.com' \\
  --role='roles/iam.serviceAccountTokenCreator' \\
  --member=\"$MEMBER\" \\
  --universe-domain='s3nsapis.fr'
gcloud iam service-accounts add-iam-policy-binding 'c@p.iam.gserviceaccount.com' \\
  --role='roles/iam.serviceAccountTokenCreator' \\
  --member='serviceAccount:b@p.iam.gserviceaccount.com' \\
  --universe-domain='s3nsapis.fr'
gcloud iam service-accounts add-iam-policy-binding 'app@my-project.iam.gserviceaccount.com' \\
  --role='roles/iam.serviceAccountTokenCreator' \\
  --member='serviceAccount:c@p.iam.gserviceaccount.com' \\
  --universe-domain='s3nsapis.fr'
";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_can_be_put_into_a_command() {
        let request = Request::default();
        let subject = testing::service_account("team-a", "app", &[(PROVIDER, NAME)]);
        let quote = "https://issuer.example/';touch${IFS}x;'";
        let text = trust(&subject, PRINCIPAL, quote, &["a".into()], &request).unwrap();
        let safe = r"--issuer-uri='https://issuer.example/'\'';touch${IFS}x;'\'''";
        assert!(text.contains(safe), "{text}");
        for (identity, issuer, audience) in [
            ("a\nb", ISSUER, "a"),
            ("", ISSUER, "a"),
            ("a", "", "a"),
            ("a", "https://issuer.example/\n#", "a"),
            ("a", "https://issuer.example/\u{1b}[2J", "a"),
            ("a", "https://é.example", "a"),
            ("a", ISSUER, "a,b"),
            ("a", ISSUER, "a b"),
        ] {
            let error = trust(&subject, identity, issuer, &[audience.into()], &request);
            assert_eq!(
                error.unwrap_err().code(),
                ErrorCode::InvalidConfiguration,
                "{identity} {issuer} {audience}"
            );
        }
    }

    #[test]
    fn the_process_itself_needs_no_trust() {
        let error = trust(&Subject::Ambient, "a", ISSUER, &[], &Request::default());
        assert_eq!(error.unwrap_err().code(), ErrorCode::Unsupported);
    }
}
