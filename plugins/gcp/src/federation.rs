//! Through which workload identity pool a ServiceAccount is known to Google.

use crate::discover::Cluster;
use crate::universe::Universe;
use gatepass_sdk::{Error, Facts, ServiceAccount};

/// The annotation that names the pool's provider, off GKE.
pub(crate) const PROVIDER: &str = "gcp.auth.fluxcd.io/workload-identity-provider";

/// Longest name of a pool or a provider that controllers already in the field accept; IAM gives
/// out 32.
const MAX_NAME: usize = 100;

/// Digits of a project's number that controllers already in the field accept.
const MAX_DIGITS: usize = 30;

/// A provider of a workload identity pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkloadProvider {
    pub(crate) project_number: String,
    pub(crate) pool: String,
    pub(crate) name: String,
}

impl WorkloadProvider {
    /// Reads the value of `field`.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` naming the field, its value and the rule.
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Error> {
        Self::read(text).ok_or_else(|| {
            Error::invalid_configuration(format!(
                "{field} '{}' must be projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER",
                text.escape_debug()
            ))
        })
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        let segments: Vec<&str> = text.split('/').collect();
        let [
            "projects",
            number,
            "locations",
            "global",
            "workloadIdentityPools",
            pool,
            "providers",
            name,
        ] = segments.as_slice()
        else {
            return None;
        };
        let numbered = (1..=MAX_DIGITS).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit());
        (numbered && is_name(pool) && is_name(name)).then(|| Self {
            project_number: (*number).into(),
            pool: (*pool).into(),
            name: (*name).into(),
        })
    }

    /// The full name, as audience of tokens and of the exchange. It is the same in every universe
    /// (unverified outside the public one).
    pub(crate) fn audience(&self) -> String {
        format!(
            "//iam.googleapis.com/projects/{}/locations/global/workloadIdentityPools/{}/providers/{}",
            self.project_number, self.pool, self.name
        )
    }

    /// The principal of a subject in this pool.
    pub(crate) fn principal(&self, subject: &str) -> String {
        format!(
            "principal://iam.googleapis.com/projects/{}/locations/global/workloadIdentityPools/{}/subject/{subject}",
            self.project_number, self.pool
        )
    }
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len())
        && !text.starts_with('.')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

/// How a ServiceAccount token becomes a federated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Federation {
    /// Through the provider of the annotation.
    Provider(WorkloadProvider),
    /// Through the pool of the GKE cluster that the host runs in.
    Gke(Cluster),
}

impl Federation {
    /// The annotation decides; without it, it is GKE's.
    ///
    /// # Errors
    ///
    /// `invalid-configuration` if the annotation is wrong; `needs-facts` without it, before there
    /// are facts; `unsupported` for GKE in another universe than the public one.
    pub(crate) fn of(
        account: &ServiceAccount,
        facts: &Facts,
        universe: &Universe,
    ) -> Result<Self, Error> {
        if let Some(provider) = account.annotation(PROVIDER) {
            let field = format!("service account '{account}': annotation {PROVIDER}");
            return WorkloadProvider::parse(&field, provider).map(Self::Provider);
        }
        if !universe.is_public() {
            return Err(Error::unsupported(format!(
                "service account '{account}' lacks the annotation {PROVIDER}, and the pools of GKE in universe {universe} are not known to this provider: add it"
            )));
        }
        Cluster::of(facts).map(Self::Gke)
    }

    /// The audience of the ServiceAccount token.
    pub(crate) fn token_audience(&self) -> String {
        match self {
            Self::Provider(provider) => provider.audience(),
            Self::Gke(cluster) => cluster.pool(),
        }
    }

    /// The audience of the exchange.
    pub(crate) fn exchange_audience(&self) -> String {
        match self {
            Self::Provider(provider) => provider.audience(),
            Self::Gke(cluster) => {
                format!(
                    "identitynamespace:{}:{}",
                    cluster.pool(),
                    cluster.provider()
                )
            }
        }
    }

    /// What IAM calls the account once its token is exchanged. With a provider it is the token's
    /// `sub`, which is what `google.subject` is mapped from by everyone's instructions. GKE's
    /// pool has subjects of its own; without the project's number its older form serves, which
    /// names the same principal.
    pub(crate) fn principal(&self, account: &ServiceAccount) -> String {
        let (namespace, name) = (&account.namespace, &account.name);
        match self {
            Self::Provider(provider) => {
                provider.principal(&format!("system:serviceaccount:{namespace}:{name}"))
            }
            Self::Gke(cluster) => match &cluster.project_number {
                Some(number) => format!(
                    "principal://iam.googleapis.com/projects/{number}/locations/global/workloadIdentityPools/{}/subject/ns/{namespace}/sa/{name}",
                    cluster.pool()
                ),
                None => format!("serviceAccount:{}[{namespace}/{name}]", cluster.pool()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::facts;
    use gatepass_sdk::testing;

    const NAME: &str = "projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider";

    fn account(annotations: &[(&str, &str)]) -> ServiceAccount {
        let subject = testing::service_account("team-a", "app", annotations);
        subject.service_account().unwrap().clone()
    }

    #[test]
    fn a_provider_is_a_full_name() {
        let provider = WorkloadProvider::parse("annotation", NAME).unwrap();
        assert_eq!(provider.audience(), format!("//iam.googleapis.com/{NAME}"));
        let long = NAME.replace("my-pool", &"p".repeat(101));
        for text in [
            "",
            "my-provider",
            &NAME.replace("123456789012", "my-project"),
            &NAME.replace("123456789012", ""),
            &NAME.replace("123456789012", &"1".repeat(31)),
            &NAME.replace("global", "us"),
            &NAME.replace("my-pool", ""),
            &NAME.replace("my-pool", ".."),
            &NAME.replace("my-pool", "a b"),
            &NAME.replace("my-pool", "a?b"),
            &NAME.replace("my-provider", ""),
            &format!("{NAME}/"),
            &format!("/{NAME}"),
            &format!("//iam.googleapis.com/{NAME}"),
            &format!("https://iam.googleapis.com/{NAME}"),
            &format!("{NAME}\n"),
            &long,
        ] {
            let error = WorkloadProvider::parse("annotation", text).unwrap_err();
            assert!(error.message().starts_with("annotation '"), "{error}");
        }
    }

    #[test]
    fn the_annotation_decides_and_gke_is_the_default() {
        let universe = Universe::default();
        let annotated = account(&[(PROVIDER, NAME)]);
        let federation = Federation::of(&annotated, &None, &universe).unwrap();
        let audience = format!("//iam.googleapis.com/{NAME}");
        assert_eq!(federation.token_audience(), audience);
        assert_eq!(federation.exchange_audience(), audience);
        assert_eq!(
            federation.principal(&annotated),
            "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-pool/subject/system:serviceaccount:team-a:app"
        );

        let plain = account(&[]);
        let gke = Federation::of(&plain, &facts(), &universe).unwrap();
        assert_eq!(gke.token_audience(), "my-project.svc.id.goog");
        assert_eq!(
            gke.exchange_audience(),
            "identitynamespace:my-project.svc.id.goog:https://container.googleapis.com/v1/projects/my-project/locations/europe-west1/clusters/prod"
        );
        assert_eq!(
            gke.principal(&plain),
            "principal://iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/my-project.svc.id.goog/subject/ns/team-a/sa/app"
        );
        let mut numberless = facts().unwrap_or_default();
        numberless.remove("project-number");
        let gke = Federation::of(&plain, &Some(numberless), &universe).unwrap();
        assert_eq!(
            gke.principal(&plain),
            "serviceAccount:my-project.svc.id.goog[team-a/app]"
        );
    }

    #[test]
    fn without_annotation_facts_are_needed_and_the_public_universe() {
        let universe = Universe::default();
        let plain = account(&[]);
        let error = Federation::of(&plain, &None, &universe).unwrap_err();
        assert_eq!(error, Error::needs_facts());
        let s3ns = Universe::parse("universe-domain", "s3nsapis.fr").unwrap();
        let error = Federation::of(&plain, &facts(), &s3ns).unwrap_err();
        assert!(error.message().contains(PROVIDER), "{error}");
        assert!(Federation::of(&account(&[(PROVIDER, NAME)]), &None, &s3ns).is_ok());
        let error = Federation::of(&account(&[(PROVIDER, "")]), &facts(), &universe);
        assert!(error.unwrap_err().message().contains("team-a/app"));
    }
}
