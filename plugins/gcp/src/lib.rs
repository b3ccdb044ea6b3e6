//! The gcp provider: access tokens of Google, logins to Artifact Registry, access to GKE.

mod ambient;
mod cluster;
mod discover;
mod email;
mod exchange;
mod fault;
mod federation;
mod identity;
mod metadata;
mod parameter;
mod registry;
mod scope;
mod token;
mod trust;
mod universe;

use gatepass_sdk::{
    Annotation, ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts,
    Host, Provider, RegistryTarget, Request, SourceKind, Subject, Trust, Verb, Wishes,
};
use std::collections::BTreeMap;

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gcp;

impl Provider for Gcp {
    fn describe(&self) -> Description {
        Description {
            name: "gcp".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary:
                "Google Cloud: access tokens, logins to Artifact Registry, access to GKE clusters"
                    .into(),
            parameters: parameter::SCHEMA.into(),
            annotations: vec![
                Annotation::optional(
                    identity::SERVICE_ACCOUNT,
                    "e-mail of the Google service account to impersonate, `app@my-project.iam.gserviceaccount.com`; without it, access is the principal's own",
                ),
                Annotation::optional(
                    federation::PROVIDER,
                    "workload identity provider to federate with outside GKE, `projects/123456789012/locations/global/workloadIdentityPools/my-pool/providers/my-provider`",
                ),
            ],
            wishes: wishes(),
            verbs: vec![
                Verb::Discover,
                Verb::Audience,
                Verb::Identity,
                Verb::Exchange,
                Verb::Registry,
                Verb::RegistryCredentials,
                Verb::Cluster,
                Verb::RestConfig,
            ],
            sources: vec![
                SourceKind::Ambient,
                SourceKind::SubjectToken,
                SourceKind::Credential,
            ],
        }
    }

    fn discover(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        discover::discover(host)
    }

    fn audience(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<String>, Error> {
        Ok(vec![identity::audience(subject, facts, request)?])
    }

    fn identity(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        let plan = identity::Plan::of(subject, facts, request)?;
        Ok(plan.identity().to_owned())
    }

    fn exchange(&self, exchange: &Exchange, host: &dyn Host) -> Result<Credential, Error> {
        exchange::exchange(exchange, host)
    }

    fn registry(
        &self,
        repository: &str,
        _: &Facts,
        request: &Request,
    ) -> Result<RegistryTarget, Error> {
        registry::target(repository, request)
    }

    fn registry_credentials(
        &self,
        target: &RegistryTarget,
        access: &Credential,
        _: &Facts,
        _: &Request,
        _: &dyn Host,
    ) -> Result<Credential, Error> {
        registry::login(target, access)
    }

    fn cluster(
        &self,
        cluster: &ClusterReference,
        _: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        cluster::access(cluster, request)
    }

    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        _: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        cluster::rest_config(cluster, access, request, host)
    }
}

fn wishes() -> Wishes {
    let own = |text: &str| text.to_owned();
    let mut hosts = universe::wishes();
    hosts.push(format!("https://{}", ambient::OAUTH_HOST));
    hosts.push(ambient::GITHUB.into());
    hosts.extend(metadata::WISHES.map(own));
    let mut files = vec![
        format!("${}", ambient::FILE_VARIABLE),
        format!("${}/{}", ambient::HOME_VARIABLE, ambient::GCLOUD_FILE),
        format!("${}", ambient::SUBJECT_TOKEN_VARIABLE),
    ];
    files.extend(ambient::SUBJECT_TOKEN_FILES.map(own));
    Wishes {
        hosts,
        // Each pool has an audience of its own.
        audiences: vec!["*".into()],
        environment: [
            ambient::FILE_VARIABLE,
            ambient::HOME_VARIABLE,
            ambient::SUBJECT_TOKEN_VARIABLE,
            metadata::HOST_VARIABLE,
        ]
        .map(own)
        .into(),
        files,
        signer: false,
    }
}

impl Trust for Gcp {
    fn policy(
        &self,
        subject: &Subject,
        identity: &str,
        issuer: &str,
        audiences: &[String],
        _: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        trust::trust(subject, identity, issuer, audiences, request)
    }
}

gatepass_sdk::export!(Gcp, trust);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_of_this_provider() {
        let description = Gcp.describe();
        assert_eq!(description.name, "gcp");
        assert_eq!(description, Gcp.describe());
        let wishes = description.wishes;
        for host in [
            "https://sts.googleapis.com",
            "https://oauth2.googleapis.com",
            "http://metadata.google.internal",
        ] {
            assert!(wishes.hosts.iter().any(|wish| wish == host), "{host}");
        }
        assert_eq!(
            wishes.files,
            [
                "$GOOGLE_APPLICATION_CREDENTIALS",
                "$HOME/.config/gcloud/application_default_credentials.json",
                "$GATEPASS_GCP_SUBJECT_TOKEN_FILE",
                "/var/run/service-account/token",
                "/var/run/secrets/tokens/gcp-ksa/token",
            ]
        );
        for file in wishes.files.iter().filter(|file| file.starts_with('$')) {
            let name = file.trim_start_matches('$').split('/').next();
            assert!(
                wishes
                    .environment
                    .iter()
                    .any(|wish| Some(wish.as_str()) == name)
            );
        }
    }

    #[test]
    fn only_a_service_account_has_an_audience() {
        let audience = Gcp.audience(&Subject::Ambient, &None, &Request::default());
        assert!(audience.is_err());
    }
}
