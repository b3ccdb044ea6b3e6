//! The aws provider: keys of an IAM role for a ServiceAccount, for the host itself or for the keys of
//! another role, logins to ECR and CodeCommit, access to EKS.

mod ambient;
mod arn;
mod cluster;
mod endpoint;
mod exchange;
mod facts;
mod fault;
mod git;
mod identity;
mod parameter;
mod partition;
mod region;
mod registry;
mod session_name;
mod sign;
mod terms;
mod token;
mod trust;

use gatepass_sdk::{
    Annotation, ClusterAccess, ClusterReference, Credential, Description, Error, Exchange, Facts,
    Git, GitTarget, Host, Provider, RegistryTarget, Request, SourceKind, Subject, Trust, Verb,
    Wishes,
};
use std::collections::BTreeMap;

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aws;

impl Provider for Aws {
    fn describe(&self) -> Description {
        Description {
            name: "aws".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "AWS: keys of an IAM role, logins to ECR, access to EKS clusters".into(),
            parameters: parameter::SCHEMA.into(),
            annotations: vec![Annotation::required(
                identity::ROLE_ARN,
                "ARN of the IAM role to assume, `arn:aws:iam::123456789012:role/app`",
            )],
            wishes: Wishes {
                hosts: [endpoint::wishes(), ambient::host_wishes()].concat(),
                audiences: vec![identity::AUDIENCE.into()],
                environment: ambient::environment_wishes(),
                files: ambient::file_wishes(),
                signer: false,
            },
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
        ambient::discover(host)
    }

    fn audience(&self, subject: &Subject, _: &Facts, _: &Request) -> Result<Vec<String>, Error> {
        subject.service_account()?;
        Ok(vec![identity::AUDIENCE.into()])
    }

    fn identity(
        &self,
        subject: &Subject,
        facts: &Facts,
        request: &Request,
    ) -> Result<String, Error> {
        identity::identity(subject, facts, request)
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
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        registry::login(target, access, request, host)
    }

    fn cluster(
        &self,
        cluster: &ClusterReference,
        facts: &Facts,
        request: &Request,
    ) -> Result<Vec<Request>, Error> {
        cluster::access(cluster, facts, request)
    }

    fn rest_config(
        &self,
        cluster: &ClusterReference,
        access: &[Credential],
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<ClusterAccess, Error> {
        cluster::rest_config(cluster, access, facts, request, host)
    }
}

impl Git for Aws {
    fn repository(&self, url: &str, facts: &Facts, request: &Request) -> Result<GitTarget, Error> {
        git::target(url, facts, request)
    }

    fn git_credentials(
        &self,
        url: &str,
        access: &Credential,
        facts: &Facts,
        request: &Request,
        host: &dyn Host,
    ) -> Result<Credential, Error> {
        git::login(url, access, facts, request, host)
    }
}

impl Trust for Aws {
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

gatepass_sdk::export!(Aws, git, trust);

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_sdk::testing;

    #[test]
    fn the_description_is_of_this_provider() {
        let description = Aws.describe();
        assert_eq!(description.name, "aws");
        assert_eq!(description.wishes.audiences, ["sts.amazonaws.com"]);
        let wishes = &description.wishes;
        assert!(wishes.environment.contains(&"AWS_PROFILE".into()));
        for file in &wishes.files {
            let variable = file
                .strip_prefix('$')
                .and_then(|rest| rest.split('/').next());
            let wished = |name: &str| wishes.environment.contains(&name.to_owned());
            assert!(variable.map_or(file.starts_with('/'), wished), "{file}");
        }
        let unencrypted: Vec<&String> = wishes
            .hosts
            .iter()
            .filter(|host| !host.starts_with("https://"))
            .collect();
        assert_eq!(
            unencrypted,
            [
                "http://169.254.170.2",
                "http://169.254.170.23",
                "http://[fd00:ec2::23]",
                "http://169.254.169.254",
                "http://[fd00:ec2::254]",
            ]
        );
        assert_eq!(description, Aws.describe());
    }

    #[test]
    fn the_audience_is_that_of_the_token_service_for_accounts_alone() {
        let account = testing::service_account("team-a", "app", &[]);
        let audience = |subject| Aws.audience(subject, &None, &Request::default());
        assert_eq!(audience(&account), Ok(vec!["sts.amazonaws.com".into()]));
        assert!(audience(&Subject::Ambient).is_err());
    }
}
