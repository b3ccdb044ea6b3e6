//! What a provider says of itself, as the contract writes it.

use crate::generated::exports::gatepass::provider::provider as exported;
use crate::{Description, SourceKind, Verb};

impl From<Description> for exported::Description {
    fn from(description: Description) -> Self {
        Self {
            name: description.name,
            version: description.version,
            summary: description.summary,
            parameters: description.parameters,
            annotations: description
                .annotations
                .into_iter()
                .map(|annotation| exported::Annotation {
                    key: annotation.key,
                    required: annotation.required,
                    summary: annotation.summary,
                })
                .collect(),
            wishes: exported::Wishes {
                hosts: description.wishes.hosts,
                audiences: description.wishes.audiences,
                environment: description.wishes.environment,
                files: description.wishes.files,
                signer: description.wishes.signer,
            },
            verbs: description.verbs.into_iter().map(Into::into).collect(),
            sources: description.sources.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Verb> for exported::Verb {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Discover => Self::Discover,
            Verb::Audience => Self::Audience,
            Verb::Identity => Self::Identity,
            Verb::Exchange => Self::Exchange,
            Verb::Registry => Self::Registry,
            Verb::RegistryCredentials => Self::RegistryCredentials,
            Verb::Cluster => Self::Cluster,
            Verb::RestConfig => Self::RestConfig,
        }
    }
}

impl From<SourceKind> for exported::SourceKind {
    fn from(source: SourceKind) -> Self {
        match source {
            SourceKind::Ambient => Self::Ambient,
            SourceKind::SubjectToken => Self::SubjectToken,
            SourceKind::Credential => Self::Credential,
            SourceKind::Signer => Self::Signer,
        }
    }
}
