//! A child process: its log, its readiness, its end.

use std::fs::{self, File};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a peer may take until it answers; the slowest needs a few seconds on a busy machine.
const READY_LIMIT: Duration = Duration::from_secs(90);
/// Pause between two questions of whether a peer is ready.
const READY_PAUSE: Duration = Duration::from_millis(50);
/// How much of a log is quoted in an error.
const QUOTED_LINES: usize = 40;
/// Ports below the range from which Linux takes source ports (`ip_local_port_range`, from 32768 on), so
/// that no outgoing connection occupies the port between choosing and using it.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A running peer. Dropping it ends the process; its log stays if the test panics or it never got ready.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
    ready: bool,
}

impl Process {
    /// Starts `command` with both its outputs in a log of its own under `target/peers/log/`.
    ///
    /// # Errors
    /// The log cannot be created or the program cannot be started.
    pub fn spawn(target: &Path, name: &'static str, command: &mut Command) -> Result<Self> {
        let log = log_path(target, name)?;
        let output =
            File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        Ok(Self {
            name,
            child,
            log,
            ready: false,
        })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// All that the process has written so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        let bytes =
            fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits until `probe` says yes.
    ///
    /// # Errors
    /// The process ended, or 90 s passed; the error quotes the end of the log and says where it is.
    pub async fn ready<Probe, Answer>(&mut self, mut probe: Probe) -> Result<()>
    where
        Probe: FnMut() -> Answer,
        Answer: Future<Output = bool>,
    {
        let started = Instant::now();
        while !probe().await {
            if let Some(status) = self.child.try_wait()? {
                bail!(
                    "{} ended ({status}) before it was ready\n{}",
                    self.name,
                    self.quote()
                );
            }
            if started.elapsed() > READY_LIMIT {
                bail!(
                    "{} was not ready in {READY_LIMIT:?}\n{}",
                    self.name,
                    self.quote()
                );
            }
            // Another program's start can only be polled for.
            tokio::time::sleep(READY_PAUSE).await;
        }
        self.ready = true;
        Ok(())
    }

    fn quote(&self) -> String {
        let log = self.log().unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines
            .get(lines.len().saturating_sub(QUOTED_LINES)..)
            .unwrap_or_default();
        format!("{}\n(whole log: {})", last.join("\n"), self.log.display())
    }

    /// Keeps the log and says where, if somebody will want to read it; else removes it.
    fn settle_log(&self) {
        if self.ready && !std::thread::panicking() {
            fs::remove_file(&self.log).ok();
            return;
        }
        writeln!(
            std::io::stderr(),
            "log of {}: {}",
            self.name,
            self.log.display()
        )
        .ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process is gone already, which is what is wanted.
        self.child.kill().ok();
        self.child.wait().ok();
        self.settle_log();
    }
}

/// A loopback address that nobody listens on.
///
/// # Errors
/// No free port was found in a hundred tries.
pub fn free_address() -> Result<SocketAddr> {
    for attempt in 0..100_u32 {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, random_port(attempt)));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no free port in {PORTS:?}")
}

/// Whether somebody listens on `address`.
pub async fn listens(address: SocketAddr) -> bool {
    tokio::net::TcpStream::connect(address).await.is_ok()
}

/// A port of [`PORTS`], drawn from the random keys that the standard library seeds each hasher with.
fn random_port(attempt: u32) -> u16 {
    let width = u64::from(PORTS.end - PORTS.start);
    let offset = RandomState::new().hash_one(attempt) % width;
    u16::try_from(offset).map_or(PORTS.start, |offset| PORTS.start + offset)
}

fn log_path(target: &Path, name: &str) -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = target.join("peers").join("log");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Ok(folder.join(format!("{name}-{}-{number}.log", std::process::id())))
}
