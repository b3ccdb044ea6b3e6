//! A login to a registry, made with an access token.

use super::{CredentialHost, Loaded, credential_details, lies};
use crate::cache::key::KeyLines;
use crate::credential::{Credential, Issued, Material, RegistryCredential};
use crate::error::Error;
use crate::journal::details;
use crate::provider::{Call, RegistryTarget};
use crate::repository::Repository;
use crate::request::{CredentialRequest, check_text};

impl CredentialHost {
    pub(super) async fn registry(
        &self,
        request: &CredentialRequest,
        repository: &Repository,
    ) -> Result<Issued<RegistryCredential>, Error> {
        let loaded = self.loaded(request)?;
        let mut facts = loaded.facts.get(&()).await;
        let target = self
            .ask(
                loaded,
                request,
                &mut facts,
                repository,
                |provider, repository, call| provider.registry(repository.as_str(), call),
            )
            .await?;
        check_target(request.provider(), repository, &target)?;
        self.journal.passed("registry", || {
            details([("host", &target.host), ("cache input", &target.cache_input)])
        });
        let (access, access_key) = self.derived(request, &target.access).await?;
        let lines = KeyLines::registry(access_key, &target, request, &facts);
        let login = async {
            let call = self.call(request, &facts);
            let login = self.log_in(loaded, &target, &access.value, call).await?;
            Ok(RegistryCredential {
                host: target.host.clone(),
                login,
            })
        };
        let (value, origination) = self.cached_or(lines.key(), &lines, login).await?;
        Ok(Issued {
            value,
            identity: access.identity,
            origination,
        })
    }

    async fn log_in(
        &self,
        loaded: &Loaded,
        target: &RegistryTarget,
        access: &Credential,
        call: Call<'_>,
    ) -> Result<Credential, Error> {
        let login = self
            .retrying("registry login", || {
                loaded.provider.registry_credentials(target, access, call)
            })
            .await
            .map_err(|error| error.during(format_args!("login to {}", target.host)))?;
        self.check(&login, call.request.provider())?;
        if let Material::Aws(_) | Material::Custom(_) = login.material() {
            return Err(Error::plugin(format!(
                "provider '{}' answered a login of kind {}, which no registry takes",
                call.request.provider(),
                login.material().kind()
            )));
        }
        self.journal.passed("login", || credential_details(&login));
        Ok(login)
    }
}

/// A login is for the registry that the caller named, and no other: a client sends it there.
fn check_target(
    provider: &str,
    repository: &Repository,
    target: &RegistryTarget,
) -> Result<(), Error> {
    check_text("cache input", Some(&target.cache_input)).map_err(|error| lies(provider, error))?;
    if repository.is_at(&target.host) {
        return Ok(());
    }
    Err(Error::plugin(format!(
        "provider '{provider}' answers a login for another registry than {}",
        repository.host()
    )))
}
