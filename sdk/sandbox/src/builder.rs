//! Starting a sandbox.

use std::io;
use std::sync::Arc;

use crate::Sandbox;
use crate::aws::{Aws, AwsError};
use crate::azure::{Azure, AzureError};
use crate::clock::{Clock, SandboxClock, SystemClock};
use crate::cloud::Cloud;
use crate::demo::Scene;
use crate::foundation::Foundation;
use crate::github::GitHub;
use crate::google::{Google, GoogleError};
use crate::kubernetes::{Cluster, SetupError};
use crate::metadata::Metadata;
use crate::registry::Registry;

/// Why a sandbox, or a cluster in it, cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A loopback port cannot be bound or served.
    #[error("cannot listen on loopback")]
    Listen(#[from] io::Error),
    /// A certificate or key cannot be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
    /// A cluster's key for account tokens cannot be made.
    #[error("cannot make the key for account tokens")]
    Key(#[from] jsonwebtoken::errors::Error),
    /// The caller is not inside a tokio runtime.
    #[error("a sandbox needs a tokio runtime")]
    Runtime(#[from] tokio::runtime::TryCurrentError),
    /// An object of the scenario is refused.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A part of the scenario's AWS is wrong.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// A part of the scenario's Azure is wrong.
    #[error(transparent)]
    Azure(#[from] AzureError),
    /// A part of the scenario's Google Cloud is wrong.
    #[error(transparent)]
    Google(#[from] GoogleError),
}

/// The options of a sandbox.
#[derive(Debug)]
pub struct Builder {
    port: u16,
    clock: Arc<dyn Clock>,
    demo: bool,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            port: 0,
            clock: Arc::new(SystemClock),
            demo: false,
        }
    }

    /// The port of the cloud listener; 0, the default, takes a free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The clock under the sandbox's own; the machine's by default.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Seeds the demonstration scenario; see [`Sandbox::demo`].
    #[must_use]
    pub fn demo(mut self) -> Self {
        self.demo = true;
        self
    }

    /// Starts the listeners on the current tokio runtime. All of them are on loopback.
    ///
    /// # Errors
    ///
    /// A port that is taken, a failing random source, or no tokio runtime.
    // Asynchronous although nothing waits yet: it must run inside the runtime that will serve.
    #[expect(
        clippy::unused_async,
        reason = "callers are told by the type that a runtime is needed"
    )]
    pub async fn start(self) -> Result<Sandbox, StartError> {
        let socket = Foundation::reserve(self.port)?;
        let address = socket.local_addr()?;
        let foundation = Arc::new(Foundation::lay(SandboxClock::new(self.clock), address)?);
        let kubernetes = Cluster::start(&foundation)?;
        let metadata = Foundation::reserve(0)?;
        let metadata_address = metadata.local_addr()?;
        let aws = Arc::new(Aws::new(&foundation, metadata_address));
        let azure = Arc::new(Azure::new(&foundation, metadata_address));
        let google = Arc::new(Google::new(&foundation, metadata_address));
        let services = vec![
            aws.metadata_service(),
            azure.metadata_service(),
            google.metadata_service(),
        ];
        foundation.serve_plain(metadata, Arc::new(Metadata::new(services)))?;
        let github = Arc::new(GitHub::new(&foundation));
        let registry = Arc::new(Registry::new(
            &foundation,
            vec![Arc::clone(&aws) as Arc<_>, Arc::clone(&google) as Arc<_>],
        ));
        let cloud = Arc::new(Cloud::new(vec![
            Arc::clone(&aws) as Arc<_>,
            Arc::clone(&azure) as Arc<_>,
            Arc::clone(&google) as Arc<_>,
            Arc::clone(&github) as Arc<_>,
            Arc::clone(&registry) as Arc<_>,
        ]));
        foundation.serve_tls(socket, Arc::clone(&cloud) as Arc<_>)?;
        let workload = if self.demo {
            let scene = Scene {
                foundation: &foundation,
                management: &kubernetes,
                aws: &aws,
                azure: &azure,
                google: &google,
            };
            Some(scene.seed()?)
        } else {
            None
        };
        Ok(Sandbox {
            address,
            metadata_address,
            foundation,
            kubernetes,
            aws,
            azure,
            google,
            github,
            registry,
            cloud,
            workload,
        })
    }
}
