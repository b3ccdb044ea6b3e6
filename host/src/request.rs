//! What a caller asks for, parsed at the door: a [`CredentialRequest`] is always valid.

use crate::credential::StartingKeys;
use crate::error::Error;
use crate::subject::SubjectReference;
use crate::text::steers;
use crate::transport::Transport;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most items that a list of a request holds, and the longest text in it, in bytes. Clouds
/// accept far less; the bounds keep keys and logs small whatever a tenant writes.
const MAX_ITEMS: usize = 64;
const MAX_TEXT: usize = 8192;

/// The most further links of a chain. Each is a call of the other side before the answer; two are what
/// delegated administration needs.
pub const MAX_LINKS: usize = 4;

/// What distinguishes one access token from another at the other side. Providers see it whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessRequest {
    /// Audiences of the ServiceAccount token; empty: the provider's own.
    pub audiences: Vec<String>,
    /// OAuth scopes; empty: the provider's own.
    pub scopes: Vec<String>,
    /// Region of the token service.
    pub region: Option<String>,
    /// URL that replaces the token service's usual address.
    pub endpoint: Option<String>,
    /// Provider-specific values, which the provider's schema must name.
    pub parameters: BTreeMap<String, String>,
}

impl AccessRequest {
    pub(crate) fn checked(self) -> Result<Self, Error> {
        check_list("audience", &self.audiences)?;
        check_list("scope", &self.scopes)?;
        check_text("region", self.region.as_deref())?;
        check_text("endpoint", self.endpoint.as_deref())?;
        if self.parameters.len() > MAX_ITEMS {
            return Err(Error::configuration(format!(
                "{} parameters are more than {MAX_ITEMS}",
                self.parameters.len()
            )));
        }
        for (name, value) in &self.parameters {
            check_text("parameter name", Some(name))?;
            check_length(&format!("parameter {name}"), value)?;
        }
        Ok(self)
    }
}

/// Checks a list of a request, or what a provider answers in its place.
pub(crate) fn check_list(what: &str, items: &[String]) -> Result<(), Error> {
    if items.len() > MAX_ITEMS {
        return Err(Error::configuration(format!(
            "{} values of {what} are more than {MAX_ITEMS}",
            items.len()
        )));
    }
    for (index, item) in items.iter().enumerate() {
        check_text(what, Some(item))?;
        if items.iter().take(index).any(|earlier| earlier == item) {
            return Err(Error::configuration(format!(
                "{what} '{item}' is given twice"
            )));
        }
    }
    Ok(())
}

/// Checks that a text is not empty, printable and not too long.
pub(crate) fn check_text(what: &str, text: Option<&str>) -> Result<(), Error> {
    let Some(text) = text else { return Ok(()) };
    if text.is_empty() {
        return Err(Error::configuration(format!(
            "{what} must not be empty: leave it out"
        )));
    }
    if text.chars().any(steers) {
        return Err(Error::configuration(format!(
            "{what} {text:?} must not hold control characters or invisible ones"
        )));
    }
    check_length(what, text)
}

fn check_length(what: &str, text: &str) -> Result<(), Error> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "{what} of {} bytes is longer than {MAX_TEXT}",
        text.len()
    )))
}

/// One request for a credential: which provider, for whom, for what, over which way.
///
/// ```
/// use gatepass::CredentialRequest;
///
/// let request = CredentialRequest::builder("aws")
///     .service_account("team-a", "app")
///     .region("eu-central-1")
///     .build()?;
/// assert_eq!(request.provider(), "aws");
/// # Ok::<(), gatepass::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialRequest {
    provider: String,
    subject: SubjectReference,
    start: Option<StartingKeys>,
    access: AccessRequest,
    links: Vec<AccessRequest>,
    transport: Transport,
    token_lifetime: Duration,
}

impl CredentialRequest {
    /// Begins a request to the provider of this name, for the process itself.
    pub fn builder(provider: impl Into<String>) -> CredentialRequestBuilder {
        CredentialRequestBuilder {
            provider: provider.into(),
            subject: Ok(SubjectReference::Ambient),
            start: None,
            access: AccessRequest::default(),
            links: Vec::new(),
            proxy: None,
            ca: None,
            token_lifetime: crate::service_account::DEFAULT_TOKEN_LIFETIME,
        }
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// On whose behalf.
    #[must_use]
    pub fn subject(&self) -> &SubjectReference {
        &self.subject
    }

    /// For what.
    #[must_use]
    pub fn access(&self) -> &AccessRequest {
        &self.access
    }

    /// The further links of the chain, in their order.
    #[must_use]
    pub fn links(&self) -> &[AccessRequest] {
        &self.links
    }

    /// What the caller holds already to begin with.
    #[must_use]
    pub fn start(&self) -> Option<&StartingKeys> {
        self.start.as_ref()
    }

    /// Over which way.
    #[must_use]
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// How long the ServiceAccount token is to live.
    #[must_use]
    pub fn token_lifetime(&self) -> Duration {
        self.token_lifetime
    }

    /// The same request for something else: what a provider answers for a registry or a cluster.
    ///
    /// # Errors
    ///
    /// `Configuration`: a field breaks a rule.
    pub(crate) fn with_access(&self, access: AccessRequest) -> Result<Self, Error> {
        Ok(Self {
            access: access.checked()?,
            ..self.clone()
        })
    }

    /// The request of one further link. It has the region of the first one unless it names its own.
    pub(crate) fn link(&self, link: &AccessRequest) -> Self {
        let region = link.region.clone().or_else(|| self.access.region.clone());
        Self {
            access: AccessRequest {
                region,
                ..link.clone()
            },
            links: Vec::new(),
            start: None,
            ..self.clone()
        }
    }
}

/// Builds a [`CredentialRequest`].
#[derive(Clone, Debug)]
pub struct CredentialRequestBuilder {
    provider: String,
    subject: Result<SubjectReference, Error>,
    start: Option<StartingKeys>,
    access: AccessRequest,
    links: Vec<AccessRequest>,
    proxy: Option<String>,
    ca: Option<String>,
    token_lifetime: Duration,
}

impl CredentialRequestBuilder {
    /// Asks on behalf of this subject.
    #[must_use]
    pub fn subject(mut self, subject: SubjectReference) -> Self {
        self.subject = Ok(subject);
        self
    }

    /// Asks on behalf of this ServiceAccount.
    #[must_use]
    pub fn service_account(mut self, namespace: &str, name: &str) -> Self {
        self.subject = crate::service_account::ServiceAccountName::new(namespace, name)
            .map(SubjectReference::ServiceAccount);
        self
    }

    /// Asks on behalf of an object in this namespace that names no ServiceAccount.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.subject = crate::subject::Namespace::new(namespace).map(SubjectReference::Namespace);
        self
    }

    /// Sets the audiences of the ServiceAccount token.
    #[must_use]
    pub fn audiences<T: Into<String>>(mut self, audiences: impl IntoIterator<Item = T>) -> Self {
        self.access.audiences = audiences.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the OAuth scopes.
    #[must_use]
    pub fn scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.access.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the region of the token service.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.access.region = Some(region.into());
        self
    }

    /// Replaces the address of the token service.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.access.endpoint = Some(endpoint.into());
        self
    }

    /// Sets a provider-specific parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.access.parameters.insert(name.into(), value.into());
        self
    }

    /// Adds a link to the chain: what comes out of the request so far is exchanged once more, for what
    /// this link asks for. At most [`MAX_LINKS`].
    #[must_use]
    pub fn link(mut self, link: AccessRequest) -> Self {
        self.links.push(link);
        self
    }

    /// Begins a chain with keys that the caller holds, in place of the subject's own; needs a link.
    #[must_use]
    pub fn start_with(mut self, keys: StartingKeys) -> Self {
        self.start = Some(keys);
        self
    }

    /// Sends the provider's requests through a proxy.
    #[must_use]
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Some(url.into());
        self
    }

    /// Trusts further certificate authorities, in PEM.
    #[must_use]
    pub fn ca(mut self, pem: impl Into<String>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    /// Sets how long the ServiceAccount token lives: 10 minutes to 24 hours, one hour if not set.
    /// The API server may shorten it.
    #[must_use]
    pub fn token_lifetime(mut self, lifetime: Duration) -> Self {
        self.token_lifetime = lifetime;
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    ///
    /// `Configuration`, naming the field, its value unless it is secret, and the rule.
    pub fn build(self) -> Result<CredentialRequest, Error> {
        check_text("provider", Some(&self.provider))?;
        check_lifetime(self.token_lifetime)?;
        let transport = Transport {
            proxy: self.proxy.as_deref().map(str::parse).transpose()?,
            ca: self.ca.as_deref().map(str::parse).transpose()?,
        };
        check_links(&self.links, self.start.is_some())?;
        if self.start.is_some() {
            check_unused(&self.access)?;
        }
        let subject = self.subject?;
        subject.check()?;
        let links = self.links.into_iter().map(AccessRequest::checked);
        Ok(CredentialRequest {
            provider: self.provider,
            subject,
            start: self.start,
            access: self.access.checked()?,
            links: links.collect::<Result<_, Error>>()?,
            transport,
            token_lifetime: self.token_lifetime,
        })
    }
}

fn check_links(links: &[AccessRequest], started: bool) -> Result<(), Error> {
    if links.len() > MAX_LINKS {
        return Err(Error::configuration(format!(
            "a chain of {} links is longer than {MAX_LINKS}",
            links.len()
        )));
    }
    if started && links.is_empty() {
        return Err(Error::configuration(
            "keys to start with need a link that they are exchanged for",
        ));
    }
    match links.iter().find(|link| !link.audiences.is_empty()) {
        None => Ok(()),
        Some(_) => Err(Error::configuration(
            "a link of a chain has no audiences: its exchange starts from no ServiceAccount token",
        )),
    }
}

/// With keys to start with there is no first exchange, and so nothing that would heed these.
fn check_unused(access: &AccessRequest) -> Result<(), Error> {
    let unused = [
        ("audiences", !access.audiences.is_empty()),
        ("scopes", !access.scopes.is_empty()),
        ("an endpoint", access.endpoint.is_some()),
        ("parameters", !access.parameters.is_empty()),
    ];
    match unused.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((what, _)) => Err(Error::configuration(format!(
            "{what} have no effect where a chain starts with keys: give them to a link"
        ))),
    }
}

fn check_lifetime(lifetime: Duration) -> Result<(), Error> {
    use crate::service_account::{MAX_TOKEN_LIFETIME, MIN_TOKEN_LIFETIME};
    if (MIN_TOKEN_LIFETIME..=MAX_TOKEN_LIFETIME).contains(&lifetime) {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "token lifetime of {} s must be {} s to {} s",
        lifetime.as_secs(),
        MIN_TOKEN_LIFETIME.as_secs(),
        MAX_TOKEN_LIFETIME.as_secs()
    )))
}

#[cfg(test)]
mod tests;
