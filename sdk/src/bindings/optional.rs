//! The interfaces that a component exports where its provider has them.

use super::{Component, ImportedHost};
use crate::generated::gatepass::provider::types;
use crate::generated::git::exports::gatepass::provider::git as exported_git;
use crate::generated::trust::exports::gatepass::provider::trust as exported_trust;
use crate::{Git, Trust};

impl<P: Git + Default> exported_git::Guest for Component<P> {
    fn repository(
        url: String,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<exported_git::GitTarget, types::Error> {
        let target = P::default().repository(&url, &super::facts(facts), &request.into())?;
        Ok(exported_git::GitTarget {
            cache_input: target.cache_input,
            access: target.access.into(),
        })
    }

    fn git_credentials(
        url: String,
        access: types::Credential,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<types::Credential, types::Error> {
        let (access, facts, request) = (access.into(), super::facts(facts), request.into());
        let credential =
            P::default().git_credentials(&url, &access, &facts, &request, &ImportedHost)?;
        Ok(credential.into())
    }
}

impl<P: Trust + Default> exported_trust::Guest for Component<P> {
    fn policy(
        subject: types::Subject,
        identity: String,
        issuer: String,
        audiences: Vec<String>,
        facts: types::Facts,
        request: types::Request,
    ) -> Result<String, types::Error> {
        let (subject, facts, request) = (subject.into(), super::facts(facts), request.into());
        Ok(P::default().policy(&subject, &identity, &issuer, &audiences, &facts, &request)?)
    }
}
