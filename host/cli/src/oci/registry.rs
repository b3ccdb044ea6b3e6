//! A registry, and the login that stays good while something is sent to it or fetched from it.

use super::address::Address;
use super::connection;
use super::login::{Login, Logins};
use super::refusal;
use super::relay::Relay;
use crate::arguments::Access;
use crate::failure::Failure;
use crate::progress::noted;
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt as _;
use gatepass::ErrorKind;
use oci_client::client::Client;
use oci_client::errors::OciDistributionError;
use oci_client::manifest::OciDescriptor;
use oci_client::secrets::RegistryAuth;
use oci_client::token_cache::{RegistryToken, RegistryTokenType};
use oci_client::{Reference, RegistryOperation};
use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often the source is asked during a transfer. The host answers from its cache, and has renewed a
/// credential long before its last half minute; a quarter of a minute is in time.
const LOOK: Duration = Duration::from_secs(15);
/// Tags of one answer.
const PAGE: usize = 1000;
/// A repository with more is no repository.
const MAX_TAGS: usize = 1_000_000;

/// What is done to the repository, for the scope of what its token service issues.
pub(crate) use oci_client::RegistryOperation as Operation;

/// One repository, and how to log in there.
pub(crate) struct Registry<L> {
    client: Client,
    address: Address,
    logins: L,
    operation: Operation,
    login: Mutex<Login>,
    relay: Option<Relay>,
    look: Duration,
}

/// A manifest as it came.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) bytes: Bytes,
    pub(crate) digest: String,
}

impl<L: Logins> Registry<L> {
    /// Logs in.
    pub(crate) async fn open(
        address: Address,
        access: &Access,
        logins: L,
        operation: Operation,
    ) -> Result<Self, Failure> {
        let protocol = connection::protocol(&address, access)?;
        let login = logins.login().await?;
        let (client, relay) = connection::open(protocol, &address, access, &login).await?;
        let registry = Self {
            client,
            address,
            logins,
            operation,
            login: Mutex::new(Login::Anonymous),
            relay,
            look: LOOK,
        };
        let doing = format!("log in to {}", registry.address.host());
        noted(&doing, registry.install(login)).await?;
        Ok(registry)
    }

    /// The repository and the artifact in it.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The manifest of an artifact, verified against its digest.
    pub(crate) async fn manifest(
        &self,
        reference: &Reference,
        media_types: &[&str],
    ) -> Result<Manifest, Failure> {
        let doing = format!("fetch the manifest of {}", reference.whole());
        let auth = self.auth();
        let work = self.client.pull_manifest_raw(reference, &auth, media_types);
        let (bytes, digest) = self.fresh(&doing, work).await?;
        Ok(Manifest { bytes, digest })
    }

    /// A blob, verified against its digest and its size.
    pub(crate) async fn blob(&self, descriptor: &OciDescriptor) -> Result<Bytes, Failure> {
        let (digest, host) = (&descriptor.digest, self.address.host());
        let doing = format!("fetch {digest} from {host}");
        let size = usize::try_from(descriptor.size).ok();
        let Some(size) = size.filter(|size| *size as u64 <= super::pack::MAX_PACKED) else {
            return Err(Failure::registry(
                ErrorKind::Configuration,
                format!(
                    "{digest} has {} bytes, and an artifact at most 1 GiB",
                    descriptor.size
                ),
            ));
        };
        let work = async {
            // By its digest alone: what else a manifest says of where a blob lies is not followed.
            let digest = digest.as_str();
            let mut stream = self
                .client
                .pull_blob_stream(self.address.reference(), digest)
                .await?;
            let mut data = BytesMut::new();
            while let Some(chunk) = stream.try_next().await? {
                if data.len() + chunk.len() > size {
                    return Err(longer(size));
                }
                data.extend_from_slice(&chunk);
            }
            match data.len() == size {
                true => Ok(data.freeze()),
                false => Err(longer(size)),
            }
        };
        self.fresh(&doing, work).await
    }

    /// Sends a blob, unless the registry has it.
    pub(crate) async fn push_blob(&self, data: Bytes, digest: &str) -> Result<(), Failure> {
        let doing = format!("push {digest} to {}", self.address.host());
        let reference = self.address.reference();
        let work = async {
            // A registry that does not want to say whether it has it gets it.
            if self
                .client
                .blob_exists(reference, digest)
                .await
                .unwrap_or(false)
            {
                return Ok(());
            }
            self.client
                .push_blob(reference, data, digest)
                .await
                .map(drop)
        };
        self.fresh(&doing, work).await
    }

    /// Puts a manifest under a tag.
    pub(crate) async fn push_manifest(
        &self,
        reference: &Reference,
        bytes: Bytes,
        media_type: &str,
    ) -> Result<(), Failure> {
        let doing = format!("push the manifest of {}", reference.whole());
        let kind = media_type.parse().map_err(|error| {
            Failure::configuration(format!("{media_type:?} is no media type")).because(error)
        })?;
        let work = self.client.push_manifest_raw(reference, bytes, kind);
        self.fresh(&doing, work).await.map(drop)
    }

    /// All tags, sorted.
    pub(crate) async fn tags(&self) -> Result<Vec<String>, Failure> {
        let mut tags: Vec<String> = Vec::new();
        let doing = format!("list the tags of {}", self.address.repository());
        loop {
            let last = tags.last().map(String::as_str);
            let auth = self.auth();
            let reference = self.address.reference();
            let work = self.client.list_tags(reference, &auth, Some(PAGE), last);
            let page = self.fresh(&doing, work).await?.tags;
            let known = tags.len();
            let is_last = page.len() < PAGE;
            tags.extend(page);
            tags.sort();
            tags.dedup();
            // Registries that know no pages answer all of them, again and again.
            if is_last || tags.len() == known || tags.len() > MAX_TAGS {
                return Ok(tags);
            }
        }
    }

    /// Awaits work with the registry, and keeps the login good meanwhile.
    async fn fresh<T>(
        &self,
        doing: &str,
        work: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<T, Failure> {
        let failed = RefCell::new(None);
        let renewing = self.renew_for_ever(&failed);
        let both = async {
            tokio::select! {
                done = work => done,
                never = renewing => match never {},
            }
        };
        noted(doing, both).await.map_err(|error| {
            // Why the login is not good any more says more than that it is not.
            let of_login = refusal::is_of_login(&error);
            match failed.take().filter(|_| of_login) {
                Some(failure) => failure,
                None => refusal::explain(error, doing, self.address.host(), &self.current()),
            }
        })
    }

    async fn renew_for_ever(&self, failed: &RefCell<Option<Failure>>) -> Infallible {
        if !self.logins.renews() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(self.look).await;
            let renewed = self.renew().await.err();
            failed.replace(renewed);
        }
    }

    async fn renew(&self) -> Result<(), Failure> {
        let login = self.logins.login().await?;
        match login == self.current() {
            true => Ok(()),
            false => self.install(login).await,
        }
    }

    /// Gives the client a login. It looks its tokens up for each request, and so for each chunk of a blob.
    async fn install(&self, login: Login) -> Result<(), Failure> {
        let reference = self.address.reference();
        if let (Some(relay), Login::Certificate(certificate)) = (&self.relay, &login) {
            relay.renew(certificate)?;
        }
        match &login {
            Login::Bearer(token) => {
                check(token.expose())?;
                for operation in [RegistryOperation::Pull, RegistryOperation::Push] {
                    let token = RegistryToken::Token {
                        token: token.expose().to_owned(),
                    };
                    let token = RegistryTokenType::Bearer(token);
                    self.client.tokens.insert(reference, operation, token).await;
                }
                let registry = reference.resolve_registry();
                self.client
                    .store_auth_if_needed(registry, &auth(&login))
                    .await;
            }
            Login::Anonymous | Login::Basic { .. } | Login::Certificate(_) => {
                let doing = format!("log in to {}", self.address.host());
                let host = self.address.host();
                let issued = self
                    .client
                    .auth(reference, &auth(&login), self.operation)
                    .await
                    .map_err(|error| refusal::explain(error, &doing, host, &login))?;
                check(&issued.unwrap_or_default())?;
            }
        }
        *self.lock() = login;
        Ok(())
    }

    fn auth(&self) -> RegistryAuth {
        auth(&self.lock())
    }

    fn current(&self) -> Login {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Login> {
        // One value is never half-written, so a poisoned lock is still good.
        self.login.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client takes it for granted that a token fits into a header.
fn check(token: &str) -> Result<(), Failure> {
    match token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(Failure::configuration(
            "the token of the login holds characters that no token has",
        )),
    }
}

fn auth(login: &Login) -> RegistryAuth {
    match login {
        Login::Anonymous | Login::Certificate(_) => RegistryAuth::Anonymous,
        Login::Basic { username, password } => {
            RegistryAuth::Basic(username.clone(), password.expose().to_owned())
        }
        Login::Bearer(token) => RegistryAuth::Bearer(token.expose().to_owned()),
    }
}

fn longer(size: usize) -> OciDistributionError {
    let message = format!("the blob has not the {size} bytes that its manifest says");
    OciDistributionError::SpecViolationError(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatepass_tests::http::{Answer, Request, Server};
    use std::sync::Arc;
    use tokio::sync::Notify;

    /// A source whose login changes, and a registry that takes the newest alone.
    #[derive(Debug, Default)]
    struct Turn {
        /// The chunks that came so far; the first one changes the login.
        chunks: Mutex<usize>,
        renewed: Notify,
    }

    impl Turn {
        fn chunks(&self) -> usize {
            *self.chunks.lock().unwrap()
        }

        async fn answer(&self, request: Request) -> Answer {
            let expected = if self.chunks() == 0 { "one" } else { "two" };
            if request.header("authorization") != Some(&format!("Bearer {expected}")) {
                return Answer::new(401, "");
            }
            let upload = "/v2/a/blobs/uploads/1";
            match request.method.as_str() {
                "HEAD" => Answer::new(404, ""),
                "POST" => Answer::new(202, "").with("location", upload),
                "PATCH" => {
                    *self.chunks.lock().unwrap() += 1;
                    // In the middle of the upload, until somebody has asked for the new login.
                    if self.chunks() == 1 {
                        self.renewed.notified().await;
                    }
                    Answer::new(202, "").with("location", upload)
                }
                _ => Answer::new(201, "").with("location", "/v2/a/blobs/x"),
            }
        }
    }

    /// The login of a [`Turn`], or why there is none any more.
    #[derive(Debug)]
    struct Turning {
        turn: Arc<Turn>,
        ends: bool,
    }

    impl Logins for Turning {
        async fn login(&self) -> Result<Login, Failure> {
            match (self.turn.chunks(), self.ends) {
                (0, _) => Ok(Login::Bearer("one".into())),
                (_, ends) => {
                    self.turn.renewed.notify_one();
                    match ends {
                        true => Err(Failure::configuration("the account is gone")),
                        false => Ok(Login::Bearer("two".into())),
                    }
                }
            }
        }

        fn renews(&self) -> bool {
            true
        }
    }

    /// Pushes two chunks, between which the login changes or ends.
    async fn push(ends: bool) -> (Result<(), Failure>, usize) {
        let turn = Arc::new(Turn::default());
        let answering = Arc::clone(&turn);
        let server = Server::start(move |request| {
            let turn = Arc::clone(&answering);
            async move { turn.answer(request).await }
        })
        .await
        .unwrap();
        let address = Address::to_push(&format!("{}/a:v1", server.address())).unwrap();
        let access = Access {
            plain_http: true,
            ..Access::default()
        };
        let logins = Turning {
            turn: Arc::clone(&turn),
            ends,
        };
        let mut registry = Registry::open(address, &access, logins, Operation::Push)
            .await
            .unwrap();
        registry.look = Duration::from_millis(1);
        let data = Bytes::from(vec![1; 5 << 20]);
        let digest = super::super::pack::sha256(&data);
        (registry.push_blob(data, &digest).await, turn.chunks())
    }

    #[tokio::test]
    async fn a_login_that_changes_within_a_blob_is_used_for_its_next_chunk() {
        let (pushed, chunks) = push(false).await;
        pushed.unwrap();
        assert_eq!(chunks, 2);
    }

    #[tokio::test]
    async fn a_login_that_cannot_be_renewed_says_why_the_registry_refuses() {
        let (pushed, chunks) = push(true).await;
        assert_eq!(pushed.unwrap_err().to_string(), "the account is gone");
        assert_eq!(chunks, 1);
    }

    #[test]
    fn a_token_that_fits_into_no_header_is_refused() {
        for (token, expected) in [
            ("a.b-c_d", true),
            ("a b", false),
            ("a\r\nb", false),
            ("ä", false),
        ] {
            assert_eq!(check(token).is_ok(), expected, "{token:?}");
        }
    }
}
