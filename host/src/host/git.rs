//! A login to a Git remote, made with an access token.

use super::{CredentialHost, credential_details, lies};
use crate::cache::key::KeyLines;
use crate::credential::{Credential, Issued, Material};
use crate::error::Error;
use crate::git::GitUrl;
use crate::journal::details;
use crate::request::{CredentialRequest, check_text};

impl CredentialHost {
    pub(super) async fn git(
        &self,
        request: &CredentialRequest,
        url: &GitUrl,
    ) -> Result<Issued<Credential>, Error> {
        let loaded = self.loaded(request)?;
        let mut facts = loaded.facts.get(&()).await;
        let target = self
            .ask(loaded, request, &mut facts, url, |provider, url, call| {
                provider.git_repository(url.as_str(), call)
            })
            .await?;
        check_text("cache input", Some(&target.cache_input))
            .map_err(|error| lies(request.provider(), error))?;
        self.journal.passed("repository", || {
            details([("url", &url), ("cache input", &target.cache_input)])
        });
        let (access, access_key) = self.derived(request, &target.access).await?;
        let lines = KeyLines::git(access_key, &target, request, &facts);
        let login = async {
            let call = self.call(request, &facts);
            let log_in = || {
                let access = &access.value;
                loaded.provider.git_credentials(url.as_str(), access, call)
            };
            let login = self.retrying("Git login", log_in).await;
            let login = login.map_err(|error| error.during(format_args!("login to {url}")))?;
            self.check_git_login(request.provider(), &login)?;
            Ok(login)
        };
        let (value, origination) = self.cached_or(lines.key(), &lines, login).await?;
        Ok(Issued {
            value,
            identity: access.identity,
            origination,
        })
    }

    fn check_git_login(&self, provider: &str, login: &Credential) -> Result<(), Error> {
        self.check(login, provider)?;
        self.journal.passed("login", || credential_details(login));
        match login.material() {
            Material::Basic(_) | Material::Bearer(_) => Ok(()),
            other => Err(Error::plugin(format!(
                "provider '{provider}' answered a login of kind {}, which no Git remote takes",
                other.kind()
            ))),
        }
    }
}
