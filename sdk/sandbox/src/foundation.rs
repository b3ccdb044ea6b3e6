//! What every service of one sandbox stands on: authority, clock, faults, journal and the tasks.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::authority::Authority;
use crate::builder::StartError;
use crate::clock::SandboxClock;
use crate::dialer::Dialer;
use crate::fault::Faults;
use crate::guarded::Guarded;
use crate::journal::Journal;
use crate::listener::{self, Encryption, Front, Site};

#[derive(Debug)]
pub(crate) struct Foundation {
    pub(crate) authority: Arc<Authority>,
    pub(crate) clock: Arc<SandboxClock>,
    pub(crate) dialer: Dialer,
    pub(crate) faults: Arc<Faults>,
    pub(crate) journal: Arc<Journal>,
    runtime: Handle,
    tasks: Guarded<Vec<JoinHandle<()>>>,
}

impl Foundation {
    /// Lays it out on the current tokio runtime; names that are dialled lead to `cloud`.
    pub(crate) fn lay(clock: SandboxClock, cloud: SocketAddr) -> Result<Self, StartError> {
        let authority = Arc::new(Authority::create()?);
        Ok(Self {
            dialer: Dialer::new(authority.client()?, cloud),
            authority,
            clock: Arc::new(clock),
            faults: Arc::new(Faults::default()),
            journal: Arc::new(Journal::default()),
            runtime: Handle::try_current()?,
            tasks: Guarded::default(),
        })
    }

    /// Binds a free loopback port, before it is known what will be served there.
    pub(crate) fn reserve(port: u16) -> Result<std::net::TcpListener, StartError> {
        let socket = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Serves a site over TLS, from now until the sandbox stops.
    pub(crate) fn serve_tls(
        &self,
        socket: std::net::TcpListener,
        site: Arc<dyn Site>,
    ) -> Result<(), StartError> {
        let tls = Encryption::Tls(self.authority.server()?.into());
        self.serve(socket, site, tls)
    }

    /// Serves a site as plain HTTP, as metadata services are.
    pub(crate) fn serve_plain(
        &self,
        socket: std::net::TcpListener,
        site: Arc<dyn Site>,
    ) -> Result<(), StartError> {
        self.serve(socket, site, Encryption::None)
    }

    fn serve(
        &self,
        socket: std::net::TcpListener,
        site: Arc<dyn Site>,
        encryption: Encryption,
    ) -> Result<(), StartError> {
        let front = Front {
            site,
            faults: Arc::clone(&self.faults),
            journal: Arc::clone(&self.journal),
        };
        let _entered = self.runtime.enter();
        let socket = tokio::net::TcpListener::from_std(socket)?;
        let task = self
            .runtime
            .spawn(listener::accept(socket, encryption, Arc::new(front)));
        self.tasks.with(|tasks| tasks.push(task));
        Ok(())
    }

    /// Ends every listener and connection.
    pub(crate) fn end(&self) -> Vec<JoinHandle<()>> {
        let tasks = self.tasks.with(std::mem::take);
        tasks.iter().for_each(JoinHandle::abort);
        tasks
    }
}
