//! Who asks: the gate, the provider that is asked, and the account on whose behalf.

use super::{CredentialHost, Loaded};
use crate::credential::ClusterReference;
use crate::error::{Error, ErrorKind};
use crate::journal::details;
use crate::provider::{Description, Provider, SourceKind};
use crate::request::CredentialRequest;
use crate::service_account::{Lookup, ServiceAccount, ServiceAccountName, ServiceAccounts};
use crate::subject::{Namespace, Subject, SubjectReference};
use std::sync::Arc;

impl CredentialHost {
    /// Finds the provider and checks what can be checked without reading or running anything. The gate
    /// comes first of all, so that a feature that is off does not even say which providers there are.
    pub(super) fn loaded(&self, request: &CredentialRequest) -> Result<&Loaded, Error> {
        self.check_gate(request)?;
        let loaded = self
            .inner
            .providers
            .get(request.provider())
            .ok_or_else(|| {
                let known: Vec<&str> = self.inner.providers.keys().map(String::as_str).collect();
                let error = Error::new(
                    ErrorKind::UnknownProvider,
                    format!("no provider named '{}' is loaded", request.provider()),
                );
                error.remedy(format!("loaded are: {}", known.join(", ")))
            })?;
        loaded.provider.check(request.access())?;
        self.journal.passed("provider", || {
            let description = loaded.provider.description();
            details([
                ("name", &description.name),
                ("version", &description.version),
                ("digest", &loaded.provider.digest()),
            ])
        });
        Ok(loaded)
    }

    fn check_gate(&self, request: &CredentialRequest) -> Result<(), Error> {
        let tenancy = &self.inner.tenancy;
        let open = tenancy.object_level;
        self.journal.passed("gate", || {
            let default = tenancy.default_account.as_deref().unwrap_or("none");
            details([
                ("ObjectLevelWorkloadIdentity", &open),
                ("default service account", &default),
            ])
        });
        match request.subject() {
            SubjectReference::ServiceAccount(name) if !open => {
                Err(closed(format_args!("service account '{name}'")))
            }
            SubjectReference::Object(object) if !open => {
                Err(closed(Subject::Object(object.clone())))
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn subject(
        &self,
        request: &CredentialRequest,
        provider: &dyn Provider,
    ) -> Result<Subject, Error> {
        let (tenancy, description) = (&self.inner.tenancy, provider.description());
        match (request.subject(), &tenancy.default_account) {
            (SubjectReference::ServiceAccount(name), _) => {
                self.account(name, false, description).await
            }
            (SubjectReference::Namespace(namespace), Some(default)) => {
                let name = ServiceAccountName::new(namespace.as_str(), default)?;
                self.account(&name, true, description).await
            }
            (SubjectReference::Ambient, Some(default)) => Err(nobody(default)),
            (SubjectReference::Ambient, None) => self.itself(description).await,
            (SubjectReference::Namespace(namespace), None) => {
                check_own(request, namespace, description)?;
                Ok(Subject::Ambient)
            }
            (SubjectReference::Object(object), _) => Ok(Subject::Object(object.clone())),
        }
    }

    /// This process. Where a provider knows no environment but exchanges tokens, it is by the account
    /// that the process itself runs under.
    async fn itself(&self, description: &Description) -> Result<Subject, Error> {
        let starts = |kind| description.sources.contains(&kind);
        if starts(SourceKind::Ambient) || !starts(SourceKind::SubjectToken) {
            return Ok(Subject::Ambient);
        }
        let accounts = self.accounts()?;
        let ask = || accounts.own_account();
        let own = async { self.retrying("own account", ask).await };
        let own = self.inner.own_account.get_or_try_init(|| own).await?;
        self.account(own, false, description).await
    }

    async fn account(
        &self,
        name: &ServiceAccountName,
        defaulted: bool,
        description: &Description,
    ) -> Result<Subject, Error> {
        let accounts = self.accounts()?;
        let found = self
            .retrying("account", || accounts.service_account(name))
            .await?;
        match found {
            Lookup::Found(account) => {
                let account = readable(account, description);
                self.journal
                    .passed("account", || account_details(&account, defaulted));
                Ok(Subject::ServiceAccount(account))
            }
            Lookup::Absent if defaulted => Err(lockdown(name)),
            Lookup::Absent => Err(Error::new(
                ErrorKind::ServiceAccount,
                format!("service account '{name}' does not exist"),
            )),
        }
    }

    pub(super) fn accounts(&self) -> Result<&Arc<dyn ServiceAccounts>, Error> {
        self.inner.accounts.as_ref().ok_or_else(|| {
            Error::new(
                ErrorKind::ServiceAccount,
                "this host is not connected to a Kubernetes API server",
            )
            .remedy("give it a kubeconfig, or run it in a pod")
        })
    }
}

/// The account as the provider may read it: with the annotations that its description names, and no
/// others, so that all that it reads is in the key.
fn readable(account: Arc<ServiceAccount>, description: &Description) -> Arc<ServiceAccount> {
    let named = |key: &String| {
        description
            .annotations
            .iter()
            .any(|annotation| annotation.key == *key)
    };
    if account.annotations.keys().all(named) {
        return account;
    }
    let mut account = Arc::unwrap_or_clone(account);
    account.annotations.retain(|key, _| named(key));
    Arc::new(account)
}

/// What an object that names no account may have of this process's own identity: what the provider finds
/// by itself. Whoever wrote the object must not choose who is sent a token of this process, nor who can
/// read along.
fn check_own(
    request: &CredentialRequest,
    namespace: &Namespace,
    description: &Description,
) -> Result<(), Error> {
    let refuse = |what: &str| {
        let error = Error::configuration(format!(
            "an object in namespace '{}' that names no service account may not {what}: it would act with the host's own identity",
            namespace.as_str()
        ));
        Err(error.remedy("name a service account, or have the operator set a default one"))
    };
    if !description.sources.contains(&SourceKind::Ambient) {
        return refuse("use a provider that hands out tokens of service accounts");
    }
    match request.transport().ca {
        Some(_) => refuse("bring certificate authorities"),
        None => Ok(()),
    }
}

/// The same for a cluster, whose address the object gives: the host's own token would go there.
pub(super) fn check_own_cluster(
    request: &CredentialRequest,
    subject: &Subject,
    cluster: &ClusterReference,
) -> Result<(), Error> {
    match (request.subject(), subject, &cluster.address) {
        (SubjectReference::Namespace(namespace), Subject::Ambient, Some(_)) => {
            let error = Error::configuration(format!(
                "an object in namespace '{}' that names no service account may not give the address of a cluster: it would get a token of the host's own identity",
                namespace.as_str()
            ));
            Err(error.remedy("name a service account, or the cluster by its name in the cloud"))
        }
        _ => Ok(()),
    }
}

fn closed(subject: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Gate,
        format!(
            "cannot use {subject}: the ObjectLevelWorkloadIdentity feature gate is not enabled"
        ),
    )
    .remedy("ask the operator for --feature-gates=ObjectLevelWorkloadIdentity=true")
}

/// RFC-0010's words for the lockdown.
fn lockdown(name: &ServiceAccountName) -> Error {
    Error::new(
        ErrorKind::Lockdown,
        format!(
            "failed to get service account '{name}': the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help"
        ),
    )
}

/// With a default account enforced, nobody gets the host's own identity by naming nobody.
fn nobody(default: &str) -> Error {
    Error::new(
        ErrorKind::Lockdown,
        format!("this host enforces service account '{default}', and the request names neither an account nor a namespace"),
    )
    .remedy("name the object's namespace")
}

fn account_details(account: &ServiceAccount, defaulted: bool) -> Vec<(String, String)> {
    let mut shown = details([
        ("service account", &account.name),
        ("defaulted", &defaulted),
        ("uid", &account.uid),
        ("resource version", &account.resource_version),
    ]);
    let annotation =
        |(key, value): (&String, &String)| (format!("annotation {key}"), value.clone());
    shown.extend(account.annotations.iter().map(annotation));
    shown
}
