//! Stands in for the host in a provider's tests, without wasm.

use crate::{
    Clock, Credential, Egress, Environment, Error, ErrorCode, Exchange, Facts, Level, Log,
    Material, ObjectReference, Provider, Request, RsaSigner, Secret, ServiceAccount, Signer,
    SigningAuthority, Source, Subject, X509, egress,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

/// The time at which a scripted host stands: 2026-01-01T00:00:00Z.
pub const NOW: Duration = Duration::from_secs(1_767_225_600);

/// The request that is expected, where the test fixes it beforehand, and its answer.
type Step = (
    Option<egress::Request>,
    Result<egress::Response, egress::Error>,
);

/// A host that expects a fixed list of requests, in order, and answers each as told; one more is
/// refused as not granted, and one that differs fails the test. Its clock stands still, its
/// environment is what the test puts there, and it has a signer only where the test gives it one.
#[derive(Debug)]
pub struct ScriptedHost {
    script: RefCell<VecDeque<Step>>,
    sent: RefCell<Vec<egress::Request>>,
    now: Cell<SystemTime>,
    variables: BTreeMap<String, String>,
    files: BTreeMap<String, Result<Vec<u8>, ErrorKind>>,
    log: RefCell<Vec<(Level, String)>>,
    authority: Result<SigningAuthority, Error>,
    refusal: Option<Error>,
    signed: RefCell<Vec<String>>,
    issued: RefCell<Vec<(String, SystemTime)>>,
    rsa_key: Option<Secret>,
    rsa_signed: RefCell<Vec<Vec<u8>>>,
}

impl Default for ScriptedHost {
    fn default() -> Self {
        Self::new()
    }
}

impl ScriptedHost {
    /// A host that expects nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            script: RefCell::default(),
            sent: RefCell::default(),
            now: Cell::new(SystemTime::UNIX_EPOCH + NOW),
            variables: BTreeMap::new(),
            files: BTreeMap::new(),
            log: RefCell::default(),
            authority: Err(Error::denied("the scripted host has no signer")),
            refusal: None,
            signed: RefCell::default(),
            issued: RefCell::default(),
            rsa_key: None,
            rsa_signed: RefCell::default(),
        }
    }

    /// Gives the host a signer for this trust domain. It signs whatever it is asked to: what that
    /// was, the test looks up in [`signed`](Self::signed) and [`issued`](Self::issued). Tokens are
    /// `scripted-jwt-1` and so on, certificates `scripted-certificate-1` with the key
    /// `scripted-key-1`.
    #[must_use]
    pub fn signer(mut self, trust_domain: &str, issuer: Option<&str>) -> Self {
        self.authority = Ok(SigningAuthority {
            trust_domain: trust_domain.into(),
            issuer: issuer.map(str::to_owned),
        });
        self
    }

    /// Lets the signer refuse all that it is asked to sign.
    #[must_use]
    pub fn signer_refuses(mut self, error: Error) -> Self {
        self.refusal = Some(error);
        self
    }

    /// Takes this text for an RSA key, and no other. What it signs, the test looks up in
    /// [`rsa_signed`](Self::rsa_signed); signatures are `scripted-rs256-1` and so on.
    #[must_use]
    pub fn rsa_key(mut self, private_key: &str) -> Self {
        self.rsa_key = Some(private_key.into());
        self
    }

    /// Expects a request, after those already expected, and answers it.
    #[must_use]
    pub fn expect(self, request: egress::Request, response: egress::Response) -> Self {
        self.script
            .borrow_mut()
            .push_back((Some(request), Ok(response)));
        self
    }

    /// Answers the next request after those already expected, whatever it is; the test looks at
    /// it in [`sent`](Self::sent).
    #[must_use]
    pub fn answer(self, response: egress::Response) -> Self {
        self.script.borrow_mut().push_back((None, Ok(response)));
        self
    }

    /// Expects a request to which no answer comes.
    #[must_use]
    pub fn expect_failure(self, request: egress::Request, error: egress::Error) -> Self {
        self.script
            .borrow_mut()
            .push_back((Some(request), Err(error)));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Puts a file there.
    #[must_use]
    pub fn file(mut self, path: &str, content: &[u8]) -> Self {
        self.files.insert(path.into(), Ok(content.to_vec()));
        self
    }

    /// Puts a file there that cannot be read.
    #[must_use]
    pub fn unreadable(mut self, path: &str, kind: ErrorKind) -> Self {
        self.files.insert(path.into(), Err(kind));
        self
    }

    /// The time it is.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.now.get()
    }

    /// Moves the clock.
    pub fn advance(&self, by: Duration) {
        self.now.set(self.now.get() + by);
    }

    /// The requests that were sent, in their order.
    #[must_use]
    pub fn sent(&self) -> Vec<egress::Request> {
        self.sent.borrow().clone()
    }

    /// The lines that were logged.
    #[must_use]
    pub fn logged(&self) -> Vec<(Level, String)> {
        self.log.borrow().clone()
    }

    /// The claims of the tokens that were signed, in their order.
    #[must_use]
    pub fn signed(&self) -> Vec<String> {
        self.signed.borrow().clone()
    }

    /// The SPIFFE IDs of the certificates that were issued, and the expiry that was asked for.
    #[must_use]
    pub fn issued(&self) -> Vec<(String, SystemTime)> {
        self.issued.borrow().clone()
    }

    /// The messages that were signed with an RSA key, in their order.
    #[must_use]
    pub fn rsa_signed(&self) -> Vec<Vec<u8>> {
        self.rsa_signed.borrow().clone()
    }

    /// The signer, if it is there and willing.
    fn willing(&self) -> Result<(), Error> {
        self.authority.as_ref().map_err(Clone::clone)?;
        self.refusal.clone().map_or(Ok(()), Err)
    }

    /// Ends the test.
    ///
    /// # Panics
    ///
    /// If a request that was expected did not come.
    pub fn finish(self) {
        let left = self.script.borrow().len();
        assert_eq!(left, 0, "{left} expected requests did not come");
    }
}

impl Egress for ScriptedHost {
    fn send(&self, request: egress::Request) -> Result<egress::Response, egress::Error> {
        let number = self.sent.borrow().len();
        self.sent.borrow_mut().push(request.clone());
        let step = self.script.borrow_mut().pop_front();
        let url = request.url().to_owned();
        let Some((expected, answer)) = step else {
            return Err(refused(&url));
        };
        if let Some(expected) = expected {
            assert_eq!(
                Plain(&request),
                Plain(&expected),
                "request {number} to {url}"
            );
        }
        answer
    }
}

fn refused(url: &str) -> egress::Error {
    egress::Error {
        code: egress::ErrorCode::NotGranted,
        message: format!("the script expects no request to {url}"),
    }
}

/// A request that shows its headers and body when an assertion fails.
#[derive(PartialEq)]
struct Plain<'a>(&'a egress::Request);

impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{} {}", self.0.method(), self.0.url())?;
        for (name, value) in self.0.headers() {
            writeln!(formatter, "{name}: {}", text(value))?;
        }
        writeln!(formatter, "\n{}", text(self.0.body()))
    }
}

/// The value of a request's header, with `{subject-token}` where the token goes.
#[must_use]
pub fn header(request: &egress::Request, name: &str) -> Option<String> {
    let mut headers = request.headers().iter();
    headers
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| text(value))
}

/// A request's body, with `{subject-token}` where the token goes.
#[must_use]
pub fn body(request: &egress::Request) -> String {
    text(request.body())
}

fn text(segments: &[egress::Segment]) -> String {
    segments
        .iter()
        .map(|segment| match segment {
            egress::Segment::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            egress::Segment::SubjectToken => "{subject-token}".into(),
        })
        .collect()
}

impl Clock for ScriptedHost {
    fn now(&self) -> SystemTime {
        self.now.get()
    }
}

impl Signer for ScriptedHost {
    fn authority(&self) -> Result<SigningAuthority, Error> {
        self.authority.clone()
    }

    fn sign_jwt(&self, claims: &str) -> Result<String, Error> {
        self.willing()?;
        let mut signed = self.signed.borrow_mut();
        signed.push(claims.into());
        Ok(format!("scripted-jwt-{}", signed.len()))
    }

    fn issue_x509(&self, spiffe_id: &str, expires_at: SystemTime) -> Result<Credential, Error> {
        self.willing()?;
        let mut issued = self.issued.borrow_mut();
        issued.push((spiffe_id.into(), expires_at));
        let x509 = X509 {
            certificate_chain: format!("scripted-certificate-{}", issued.len()),
            private_key: format!("scripted-key-{}", issued.len()).into(),
        };
        Ok(Credential::new(Material::X509(x509), expires_at))
    }
}

impl RsaSigner for ScriptedHost {
    fn sign_rs256(&self, private_key: &Secret, message: &[u8]) -> Result<Vec<u8>, Error> {
        if self.rsa_key.as_ref() != Some(private_key) {
            let unknown = "the private key is not the one of the scripted host";
            return Err(Error::invalid_configuration(unknown));
        }
        let mut signed = self.rsa_signed.borrow_mut();
        signed.push(message.to_vec());
        Ok(format!("scripted-rs256-{}", signed.len()).into_bytes())
    }
}

impl Environment for ScriptedHost {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn file(&self, path: &str) -> std::io::Result<Vec<u8>> {
        let file = self.files.get(path).cloned();
        Ok(file.unwrap_or(Err(ErrorKind::NotFound))?)
    }
}

impl Log for ScriptedHost {
    fn log(&self, level: Level, message: &str) {
        self.log.borrow_mut().push((level, message.into()));
    }
}

/// A ServiceAccount with these annotations.
#[must_use]
pub fn service_account(namespace: &str, name: &str, annotations: &[(&str, &str)]) -> Subject {
    Subject::ServiceAccount(ServiceAccount {
        namespace: namespace.into(),
        name: name.into(),
        uid: "0f8f3e7a-7b3c-4f0e-9a55-6f2f0f1d7c11".into(),
        annotations: annotations
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
    })
}

/// An object that is its own identity.
#[must_use]
pub fn object(resource: &str, namespace: &str, name: &str) -> Subject {
    Subject::Object(ObjectReference {
        api_version: "source.example/v1".into(),
        kind: "Artifact".into(),
        resource: resource.into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: "7d1f1f0a-3c1e-4b57-8a53-2f6f0c6f4e11".into(),
    })
}

/// Runs `identity` and `exchange` with the subject token as source, as the host does.
///
/// # Errors
///
/// What the provider answers.
pub fn exchange(
    provider: &dyn Provider,
    subject: Subject,
    request: Request,
    host: &ScriptedHost,
) -> Result<Credential, Error> {
    exchange_from(provider, subject, Source::SubjectToken, request, host)
}

/// Runs `identity` and `exchange` with this source, and before them `discover` if facts are needed,
/// as the host does.
///
/// # Errors
///
/// What the provider answers.
pub fn exchange_from(
    provider: &dyn Provider,
    subject: Subject,
    source: Source,
    request: Request,
    host: &ScriptedHost,
) -> Result<Credential, Error> {
    let mut facts: Facts = None;
    let mut identity = provider.identity(&subject, &facts, &request);
    if matches!(&identity, Err(error) if error.code() == ErrorCode::NeedsFacts) {
        facts = Some(provider.discover(host)?);
        identity = provider.identity(&subject, &facts, &request);
    }
    let exchange = Exchange {
        subject,
        identity: identity?,
        facts,
        source,
        request,
    };
    provider.exchange(&exchange, host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_can_be_looked_at() {
        let host = ScriptedHost::new().answer(egress::Response::new(204, b""));
        let request = egress::Request::post("https://a.example/")
            .form_token("assertion")
            .bearer_subject_token()
            .build();
        assert_eq!(host.send(request.clone()).unwrap().status(), 204);
        assert_eq!(host.sent(), [request]);
        let sent = host.sent();
        assert_eq!(body(&sent[0]), "assertion={subject-token}");
        let authorization = header(&sent[0], "Authorization");
        assert_eq!(authorization.as_deref(), Some("Bearer {subject-token}"));
        assert_eq!(header(&sent[0], "accept"), None);
        host.finish();
    }
}
