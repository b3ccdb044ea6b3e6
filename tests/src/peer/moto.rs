//! moto: an imitation of AWS services with state, for the shapes of their answers.
//!
//! It never looks at a web identity token, a role's trust or a duration, and it checks signatures only after
//! [`Moto::require_signatures`]. Its ECR tokens expired in 2015, which makes them a test of their own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use tempfile::TempDir;

use super::certificate::Authority;
use super::process::{Process, free_address};
use super::source::{Source, run};

/// What to install when the environment cannot be made.
const PYTHON: &str = "Python 3.11 or newer with its `venv` module and pip";

/// Installs the versions pinned in `tests/peers/moto/requirements.txt` into a virtual environment, once.
///
/// Returns the path of `moto_server`.
///
/// # Errors
/// Python or its `venv` module is not installed, or a package cannot be fetched.
pub fn ensure_built(target: &Path) -> Result<PathBuf> {
    let source = Source {
        name: "moto",
        inputs: vec!["requirements.txt".into()],
        recipe: "venv --clear; pip install --no-deps".to_owned(),
        duration: "half a minute, once",
    };
    let output = source.ensure(target, |output| {
        run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(output),
            PYTHON,
        )?;
        let mut install = Command::new(output.join("bin").join("python"));
        install
            // The list is complete; with `--no-deps`, nothing outside it is ever chosen by the day of the build.
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--requirement",
            ])
            .arg(Source::folder("moto").join("requirements.txt"));
        run(&mut install, PYTHON)
    })?;
    Ok(output.join("bin").join("moto_server"))
}

/// A running server.
#[derive(Debug)]
pub struct Moto {
    // The process drops before the folder it reads from.
    process: Process,
    _folder: TempDir,
    address: SocketAddr,
    client: reqwest::Client,
}

/// Installs if needed and starts the server with a certificate for `names`, 127.0.0.1 and localhost.
///
/// # Errors
/// The installation fails, or the process does not get ready.
pub async fn start(target: &Path, authority: &Authority, names: &[&str]) -> Result<Moto> {
    let program = ensure_built(target)?;
    let folder = tempfile::tempdir()?;
    let files = authority
        .issue(&[names, &["127.0.0.1", "localhost"]].concat())?
        .write(folder.path())?;
    let address = free_address()?;
    let mut command = Command::new(program);
    command
        .args([
            "--host",
            &address.ip().to_string(),
            "--port",
            &address.port().to_string(),
        ])
        .arg("--ssl-cert")
        .arg(files.certificate)
        .arg("--ssl-key")
        .arg(files.key);
    let client = authority.client()?;
    let mut process = Process::spawn(target, "moto", &mut command)?;
    let url = format!("https://{address}/moto-api/data.json");
    process
        .ready(|| {
            let request = client.get(&url);
            async {
                request
                    .send()
                    .await
                    .is_ok_and(|answer| answer.status().is_success())
            }
        })
        .await?;
    Ok(Moto {
        process,
        _folder: folder,
        address,
        client,
    })
}

impl Moto {
    /// Where it listens: what a connect-to table maps a service's name to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Makes it check the signature and session token of every request from now on.
    ///
    /// It wrongly refuses signed EKS GETs then; use it for `POST /` services.
    ///
    /// # Errors
    /// The server does not answer, or not with success.
    pub async fn require_signatures(&self) -> Result<()> {
        self.control("reset-auth", "0").await
    }

    /// Forgets everything that was created; signatures stay required if they were.
    ///
    /// # Errors
    /// The server does not answer, or not with success.
    pub async fn reset(&self) -> Result<()> {
        self.control("reset", "").await
    }

    /// All that it has written so far: one line per request.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }

    async fn control(&self, verb: &str, body: &'static str) -> Result<()> {
        let url = format!("{}/moto-api/{verb}", self.url());
        let status = self.client.post(url).body(body).send().await?.status();
        if !status.is_success() {
            bail!("moto answered {status} to {verb}");
        }
        Ok(())
    }
}
