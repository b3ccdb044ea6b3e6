//! What a guest reaches through its imports, in the state of its one call.

use super::bindings::gatepass::provider::{egress as wire, files, log, rsa, signer, types};
use super::convert;
use super::limits::{self, Meter};
use super::linked::Conduct;
use crate::clock::Clock;
use crate::egress::send::{Reach, Sender};
use crate::egress::{EgressError, Incoming, Outgoing, Refusal};
use crate::environment::{self, Environment};
use crate::journal::{Journal, details};
use crate::secret::Secret;
use crate::signer::{RsaError, Signer, SignerError, sign_rs256};
use crate::subject::ObjectReference;
use crate::transport::Transport;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use zeroize::Zeroizing;

/// What a verb with side effects may do. A pure verb has none of it.
pub(crate) struct Powers {
    pub(crate) sender: Sender,
    pub(crate) plugin: Arc<str>,
    pub(crate) reach: Arc<Reach>,
    pub(crate) transport: Transport,
    pub(crate) token: Option<Secret>,
    pub(crate) variables: Vec<(String, Secret)>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) signing: Option<Signing>,
    /// Whether it may sign with keys that it brings.
    pub(crate) brings_keys: bool,
}

/// The state of one store.
pub(crate) struct State {
    name: Arc<str>,
    wasi: WasiCtx,
    table: ResourceTable,
    meter: Meter,
    powers: Option<Powers>,
    journal: Journal,
    requests_left: u32,
    log_lines_left: u32,
    signatures_left: u32,
    /// The first request that the grant refused: if the verb then fails, this is why.
    pub(super) refused: Option<EgressError>,
}

impl State {
    pub(super) fn new(wasi: WasiCtx, conduct: Conduct<'_>) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits::MAX_HANDLES);
        Self {
            name: Arc::clone(conduct.plugin),
            wasi,
            table,
            meter: Meter::new(conduct.limits.memory),
            requests_left: conduct.limits.egress.max_requests,
            log_lines_left: conduct.limits.log_lines,
            signatures_left: limits::MAX_SIGNATURES,
            powers: conduct.powers,
            journal: conduct.journal.clone(),
            refused: None,
        }
    }

    pub(super) fn meter(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.meter
    }

    pub(super) fn is_memory_exceeded(&self) -> bool {
        self.meter.exceeded
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl wire::Host for State {
    async fn send(&mut self, request: wire::Request) -> Result<wire::Response, wire::Error> {
        let outgoing = convert::outgoing(request);
        let shown = shown(&outgoing);
        let answer = self.send_within_budget(outgoing).await;
        self.note(&shown, &answer);
        match answer {
            Ok(incoming) => Ok(wire::Response {
                status: incoming.status,
                headers: incoming.headers,
                body: incoming.body.to_vec(),
            }),
            Err(error) => Err(wire::Error {
                code: convert::refusal(error.refusal),
                message: error.message,
            }),
        }
    }
}

impl State {
    async fn send_within_budget(&mut self, outgoing: Outgoing) -> Result<Incoming, EgressError> {
        let Some(powers) = &self.powers else {
            return Err(EgressError::not_granted("a pure verb sends nothing"));
        };
        let Some(left) = self.requests_left.checked_sub(1) else {
            return Err(EgressError::new(
                Refusal::BudgetExceeded,
                "the call has used up its number of requests",
            ));
        };
        self.requests_left = left;
        let Powers {
            sender,
            plugin,
            reach,
            transport,
            token,
            ..
        } = powers;
        sender
            .send(plugin, reach, transport, token.as_ref(), outgoing)
            .await
    }

    fn note(&mut self, shown: &str, answer: &Result<Incoming, EgressError>) {
        match answer {
            Ok(incoming) => self.journal.passed("egress", || {
                details([("request", &shown), ("status", &incoming.status)])
            }),
            Err(error) => {
                tracing::debug!(plugin = %self.name, request = %shown, %error, "egress refused or failed");
                self.journal.refused("egress", || {
                    details([("request", &shown), ("refusal", &error)])
                });
                if error.refusal == Refusal::NotGranted && self.refused.is_none() {
                    self.refused = Some(error.clone());
                }
            }
        }
    }
}

/// Method, scheme, host and port of a request, whatever else its URL holds.
fn shown(outgoing: &Outgoing) -> String {
    let origin = url::Url::parse(&outgoing.url).map(|url| url.origin().ascii_serialization());
    let method: String = outgoing
        .method
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(10)
        .collect();
    format!("{method} {}", origin.as_deref().unwrap_or("[no URL]"))
}

impl signer::Host for State {
    fn authority(&mut self) -> Result<signer::SigningAuthority, signer::Error> {
        let signer = &self.signing()?.signer;
        Ok(signer::SigningAuthority {
            trust_domain: signer.trust_domain().as_str().to_owned(),
            issuer: signer.issuer().map(|issuer| issuer.as_str().to_owned()),
        })
    }

    fn sign_jwt(&mut self, claims: String) -> Result<String, signer::Error> {
        let signing = self.signing()?;
        let signed = signing.signer.sign_jwt_for(
            signing.object()?,
            &signing.audiences,
            &claims,
            signing.clock.wall(),
        );
        let told = self.told("sign JWT", signed);
        told.map(|token| token.expose().to_owned())
    }

    fn issue_x509(
        &mut self,
        spiffe_id: String,
        expires_at: u64,
    ) -> Result<signer::IssuedX509, signer::Error> {
        let signing = self.signing()?;
        let expires_at = convert::time(expires_at).ok_or_else(|| signer::Error {
            code: signer::ErrorCode::Refused,
            message: "the certificate's end is beyond all calendars".into(),
        })?;
        let (object, now) = (signing.object()?, signing.clock.wall());
        let issued = signing
            .signer
            .issue_x509(object, &spiffe_id, expires_at, now);
        self.told("issue X.509", issued).map(convert::issued_x509)
    }
}

impl State {
    fn signing(&self) -> Result<&Signing, signer::Error> {
        let signing = self
            .powers
            .as_ref()
            .and_then(|powers| powers.signing.as_ref());
        signing.ok_or_else(|| signer::Error {
            code: signer::ErrorCode::NotGranted,
            message: "no signer is configured in this host, or granted to this plugin in this call"
                .into(),
        })
    }

    /// Writes what was signed into the journal, and what was refused.
    fn told<T>(
        &self,
        what: &'static str,
        signed: Result<T, SignerError>,
    ) -> Result<T, signer::Error> {
        match signed {
            Ok(signed) => {
                self.journal.passed("signer", || details([("did", &what)]));
                Ok(signed)
            }
            Err(error) => {
                self.journal.refused("signer", || {
                    details([("did not", &what), ("because", &error)])
                });
                Err(convert::signer_error(error))
            }
        }
    }
}

/// In whose name the host signs in one call, and for whom.
pub(crate) struct Signing {
    pub(crate) signer: Arc<Signer>,
    /// `None` where a call may ask in whose name, and no more.
    pub(crate) object: Option<ObjectReference>,
    pub(crate) audiences: Vec<String>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Signing {
    fn object(&self) -> Result<&ObjectReference, signer::Error> {
        self.object.as_ref().ok_or_else(|| signer::Error {
            code: signer::ErrorCode::NotGranted,
            message: "this verb signs nothing".into(),
        })
    }
}

impl rsa::Host for State {
    async fn sign_rs256(
        &mut self,
        private_key: String,
        message: Vec<u8>,
    ) -> Result<Vec<u8>, rsa::Error> {
        let answer = self
            .sign_with(Zeroizing::new(private_key), Zeroizing::new(message))
            .await;
        match &answer {
            Ok(_) => self
                .journal
                .passed("rsa", || details([("did", &"sign RS256")])),
            Err(error) => self.journal.refused("rsa", || {
                details([("did not", &"sign RS256"), ("because", &error.message)])
            }),
        }
        answer
    }
}

impl State {
    async fn sign_with(
        &mut self,
        private_key: Zeroizing<String>,
        message: Zeroizing<Vec<u8>>,
    ) -> Result<Vec<u8>, rsa::Error> {
        let not_granted = |message: &str| rsa::Error {
            code: rsa::ErrorCode::NotGranted,
            message: message.into(),
        };
        if !self
            .powers
            .as_ref()
            .is_some_and(|powers| powers.brings_keys)
        {
            return Err(not_granted(
                "an ambient exchange alone signs with keys that a plugin brings",
            ));
        }
        let Some(left) = self.signatures_left.checked_sub(1) else {
            return Err(not_granted("the call has used up its number of signatures"));
        };
        self.signatures_left = left;
        // The largest keys take milliseconds, in which other guests are not to wait.
        let signed = tokio::task::spawn_blocking(move || sign_rs256(&private_key, &message)).await;
        signed
            .unwrap_or(Err(RsaError::UNUSABLE))
            .map_err(convert::rsa_error)
    }
}

impl files::Host for State {
    async fn read(&mut self, path: String) -> Result<Vec<u8>, files::Error> {
        let shown = convert::line(&path);
        let answer = self.read_granted(PathBuf::from(path)).await;
        match &answer {
            Ok(content) => self.journal.passed("file", || {
                details([("path", &shown), ("bytes", &content.len())])
            }),
            Err(error) => self.journal.refused("file", || {
                details([("path", &shown), ("refusal", &error.message)])
            }),
        }
        answer
    }
}

impl State {
    async fn read_granted(&mut self, path: PathBuf) -> Result<Vec<u8>, files::Error> {
        let powers = self.powers.as_ref();
        let granted = powers.filter(|powers| is_granted(&powers.files, &path));
        let Some(powers) = granted else {
            return Err(files::Error {
                code: files::ErrorCode::NotGranted,
                message: "the file is not granted to this plugin in this call".into(),
            });
        };
        let environment = Arc::clone(&powers.environment);
        // A file system may hang; the call's own timeout then ends it.
        let read = tokio::task::spawn_blocking(move || environment.file(&path)).await;
        let content = read.map_err(io::Error::other).and_then(|content| content);
        content.map_err(|error| unread(&error))
    }
}

/// One file has one name, so that a granted path is not a way to others.
fn is_granted(files: &[PathBuf], path: &Path) -> bool {
    environment::is_plain(path) && files.iter().any(|file| file == path)
}

/// The system's own words name no content.
fn unread(error: &io::Error) -> files::Error {
    let code = match error.kind() {
        io::ErrorKind::NotFound => files::ErrorCode::NotFound,
        io::ErrorKind::FileTooLarge => files::ErrorCode::TooLarge,
        _ => files::ErrorCode::Unreadable,
    };
    let message = error.to_string();
    files::Error { code, message }
}

impl log::Host for State {
    fn write(&mut self, level: log::Level, message: String) {
        let Some(left) = self.log_lines_left.checked_sub(1) else {
            return;
        };
        self.log_lines_left = left;
        let message = convert::line(&message);
        let plugin = &*self.name;
        if level != log::Level::Debug {
            self.journal.passed("log", || details([("says", &message)]));
        }
        match level {
            log::Level::Debug => tracing::debug!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Info => tracing::info!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Warn => tracing::warn!(target: "gatepass::guest", plugin, "{message}"),
            log::Level::Error => tracing::error!(target: "gatepass::guest", plugin, "{message}"),
        }
    }
}

impl types::Host for State {}
