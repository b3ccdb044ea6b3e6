//! The key under which a credential is cached: every input of its making, one line each.
//!
//! The lines and their order are those of
//! [RFC-0010](https://github.com/fluxcd/flux2/tree/main/rfcs/0010-multi-tenant-workload-identity),
//! followed by ours: the plugin's digest, the account's UID, the object, facts and parameters. Every value is escaped,
//! so that no value can look like a further line or a further item of a list; the key is the
//! SHA-256 of the lines. Two requests share a key only if every input is the same.

use crate::credential::{ClusterReference, StartingKeys};
use crate::provider::{ChosenBy, Facts, GitTarget, RegistryTarget, SourceKind};
use crate::request::CredentialRequest;
use crate::secret::hex;
use crate::subject::Subject;
use crate::transport::Transport;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// SHA-256 of [`KeyLines`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CacheKey([u8; 32]);

impl fmt::Display for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CacheKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// One input of a key.
#[derive(Clone)]
struct Line {
    name: Cow<'static, str>,
    /// Escaped.
    value: String,
    /// What people see in its place, where the value is secret or long.
    shown: Option<String>,
}

/// The inputs of a key, in order. `Display` gives the lines without secrets.
#[derive(Clone, Default)]
pub struct KeyLines(Vec<Line>);

impl KeyLines {
    /// The lines of an access token.
    #[must_use]
    pub fn access(
        request: &CredentialRequest,
        digest: &str,
        subject: &Subject,
        identity: &str,
        audiences: &[String],
        facts: &Facts,
    ) -> Self {
        let mut lines = Self::default();
        lines.add("provider", request.provider());
        if let Subject::ServiceAccount(account) = subject {
            lines.add("providerIdentity", identity);
            lines.add("serviceAccountName", account.name.name());
            lines.add("serviceAccountNamespace", account.name.namespace());
            lines.list("serviceAccountTokenAudiences", audiences);
        }
        let access = request.access();
        lines.list("scopes", &access.scopes);
        lines.option("stsRegion", access.region.as_deref());
        lines.option("stsEndpoint", access.endpoint.as_deref());
        lines.transport(request.transport());
        lines.add("pluginDigest", digest);
        lines.subject(subject, identity);
        lines.list("requestAudiences", &access.audiences);
        lines.add(
            "tokenLifetime",
            &request.token_lifetime().as_secs().to_string(),
        );
        lines.facts(facts);
        for (name, value) in &access.parameters {
            lines.named("parameter", name, value);
        }
        lines
    }

    /// The lines of a further link of a chain, made with the credential of `earlier`.
    #[must_use]
    pub fn link(
        earlier: CacheKey,
        request: &CredentialRequest,
        digest: &str,
        subject: &Subject,
        identity: &str,
        facts: &Facts,
    ) -> Self {
        let mut lines = Self::access(request, digest, subject, identity, &[], facts);
        lines.add("source", &earlier.to_string());
        lines
    }

    /// The same for a credential that the host signs with this key.
    #[must_use]
    pub(crate) fn signed_by(mut self, key: &str) -> Self {
        self.add("signingKey", key);
        self
    }

    /// The line of keys that the caller holds. What is shown of it is not theirs.
    pub(crate) fn start(keys: &StartingKeys) -> Self {
        let mut lines = Self::default();
        lines.push(
            "startingKeys".into(),
            keys.fingerprint(),
            Some("[given by the caller]".into()),
        );
        lines
    }

    /// The lines of what the pure verbs answer for a subject. They hold all that `access` holds beside
    /// the answer itself, the version of the account, and what the exchange starts from.
    #[must_use]
    pub fn resolution(
        request: &CredentialRequest,
        digest: &str,
        subject: &Subject,
        chosen_by: ChosenBy,
        source: SourceKind,
    ) -> Self {
        let mut lines = Self::access(request, digest, subject, "", &[], &None);
        if let Subject::ServiceAccount(account) = subject {
            lines.add("resourceVersion", &account.resource_version);
        }
        lines.add("chosenBy", chosen_by.as_str());
        lines.add("sourceKind", source.as_str());
        lines
    }

    /// The lines of a registry login, made with the access token of `access`.
    #[must_use]
    pub fn registry(
        access: CacheKey,
        target: &RegistryTarget,
        request: &CredentialRequest,
        facts: &Facts,
    ) -> Self {
        let mut lines = Self::default();
        lines.add("accessTokenCacheKey", &access.to_string());
        lines.add("artifactRepositoryCacheKey", &target.cache_input);
        lines.add("registryHost", &target.host);
        lines.request(request);
        lines.facts(facts);
        lines
    }

    /// The lines of a login to a Git remote, made with the access token of `access`.
    #[must_use]
    pub fn git(
        access: CacheKey,
        target: &GitTarget,
        request: &CredentialRequest,
        facts: &Facts,
    ) -> Self {
        let mut lines = Self::default();
        lines.add("accessTokenCacheKey", &access.to_string());
        lines.add("gitRepositoryCacheKey", &target.cache_input);
        lines.request(request);
        lines.facts(facts);
        lines
    }

    /// The lines of access to a cluster, made with these access tokens, of which there is at least one:
    /// provider, account and transport are inputs of theirs.
    #[must_use]
    pub fn cluster(
        access: &[CacheKey],
        cluster: &ClusterReference,
        request: &CredentialRequest,
        facts: &Facts,
    ) -> Self {
        let mut lines = Self::default();
        for (index, key) in access.iter().enumerate() {
            let name = format!("accessToken{}CacheKey", index + 1);
            lines.push(Cow::Owned(name), key.to_string(), None);
        }
        lines.option("cluster", cluster.name.as_deref());
        lines.option("address", cluster.address.as_deref());
        if let Some(ca) = &cluster.ca {
            lines.push(
                "clusterCAData".into(),
                escape(ca.pem()),
                Some(format!("{ca:?}")),
            );
        }
        lines.request(request);
        lines.facts(facts);
        lines
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> CacheKey {
        let mut digest = Sha256::new();
        for (index, line) in self.0.iter().enumerate() {
            if index > 0 {
                digest.update(b"\n");
            }
            digest.update(line.name.as_bytes());
            digest.update(b"=");
            digest.update(line.value.as_bytes());
        }
        CacheKey(digest.finalize().into())
    }

    /// The subject as the provider sees it: an account's annotations are those that it may read.
    fn subject(&mut self, subject: &Subject, identity: &str) {
        match subject {
            Subject::Ambient => self.add("identity", identity),
            Subject::ServiceAccount(account) => {
                self.add("serviceAccountUID", &account.uid);
                for (name, value) in &account.annotations {
                    self.named("annotation", name, value);
                }
            }
            Subject::Object(object) => {
                self.add("identity", identity);
                let parts = [
                    &object.api_version,
                    &object.kind,
                    &object.resource,
                    &object.namespace,
                    &object.name,
                    &object.uid,
                ];
                self.list("object", parts);
            }
        }
    }

    fn facts(&mut self, facts: &Facts) {
        for (name, value) in facts.iter().flat_map(|facts| facts.iter()) {
            self.named("fact", name, value);
        }
    }

    fn transport(&mut self, transport: &Transport) {
        if let Some(proxy) = &transport.proxy {
            let value = escape(proxy.expose().as_str());
            self.push("proxyURL".into(), value, Some(proxy.to_string()));
        }
        if let Some(ca) = &transport.ca {
            self.push("caData".into(), escape(ca.pem()), Some(format!("{ca:?}")));
        }
    }

    /// What the caller asked for before the provider derived the access tokens from it.
    fn request(&mut self, request: &CredentialRequest) {
        let access = request.access();
        self.list("requestAudiences", &access.audiences);
        self.list("requestScopes", &access.scopes);
        self.option("requestRegion", access.region.as_deref());
        self.option("requestEndpoint", access.endpoint.as_deref());
        for (name, value) in &access.parameters {
            self.named("requestParameter", name, value);
        }
    }

    fn add(&mut self, name: &'static str, value: &str) {
        self.push(Cow::Borrowed(name), escape(value), None);
    }

    fn option(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// A list without items is no line. An item that is empty is written `\e`, so that it differs
    /// from no item.
    fn list<T: AsRef<str>>(&mut self, name: &'static str, items: impl IntoIterator<Item = T>) {
        let items: Vec<String> = items
            .into_iter()
            .map(|item| escape_item(item.as_ref()))
            .collect();
        if !items.is_empty() {
            self.push(Cow::Borrowed(name), items.join(","), None);
        }
    }

    fn named(&mut self, prefix: &str, name: &str, value: &str) {
        let name = format!("{prefix}.{}", escape(name).replace('=', "\\q"));
        self.push(Cow::Owned(name), escape(value), None);
    }

    fn push(&mut self, name: Cow<'static, str>, value: String, shown: Option<String>) {
        self.0.push(Line { name, value, shown });
    }
}

impl fmt::Display for KeyLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            let value = line.shown.as_ref().unwrap_or(&line.value);
            write!(formatter, "{}={value}", line.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for KeyLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// A value never holds the newline that ends a line: it is written `\n`, and the backslash `\\`.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n")
}

/// An item of a list never holds the comma that ends it.
fn escape_item(item: &str) -> String {
    if item.is_empty() {
        return "\\e".into();
    }
    escape(item).replace(',', "\\,")
}

#[cfg(test)]
mod tests;
