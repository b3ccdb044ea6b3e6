//! multistore-sts: a security token service that verifies web identity tokens for real.
//!
//! It fetches the issuer's discovery document and key set over HTTPS and checks signature, `iss`, `aud`,
//! `sub` and `exp`. It takes RS256 only, does not trim the token, and ignores the session name, policies and
//! tags, so it proves nothing about those.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::certificate::Authority;
use super::process::{Process, free_address, listens};
use super::source::{Source, run};

/// The files below `tests/peers/sts/` that make the program.
const INPUTS: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    "src/main.rs",
    "src/endpoint.rs",
    "src/roles.rs",
    "src/tls.rs",
];

/// Builds the service once.
///
/// Returns the program's path.
///
/// # Errors
/// Cargo is not installed, a crate cannot be fetched, or the build fails.
pub fn ensure_built(target: &Path) -> Result<PathBuf> {
    let source = Source {
        name: "sts",
        inputs: INPUTS.iter().map(PathBuf::from).collect(),
        recipe: "cargo build --locked".to_owned(),
        duration: "one to three minutes on two cores, once",
    };
    let output = source.ensure(target, |output| {
        let mut command = Command::new("cargo");
        command
            .args(["build", "--locked", "--target-dir"])
            .arg(output)
            .current_dir(Source::folder("sts"));
        run(&mut command, "Rust as `rust-toolchain.toml` names it")
    })?;
    Ok(output.join("debug").join("gatepass-peer-sts"))
}

/// A role and whom it trusts.
#[derive(Debug, Clone)]
pub struct Role {
    /// The `RoleArn` that is asked for.
    pub arn: String,
    /// Issuers, byte for byte as in `iss`. Empty trusts none.
    pub issuers: Vec<String>,
    /// Audiences, of which the token must name one. Empty accepts none.
    pub audiences: Vec<String>,
    /// Patterns for `sub`, with `*` for any characters. Empty accepts none.
    pub subjects: Vec<String>,
    /// The longest session; a request for more gets this much. Seconds are what counts; at least 900.
    pub maximum_session: Duration,
}

impl Role {
    fn to_json(&self) -> Value {
        json!({
            "role_id": self.arn,
            "name": self.arn,
            "trusted_oidc_issuers": self.issuers,
            "required_audiences": self.audiences,
            "subject_conditions": self.subjects,
            "max_session_duration_secs": self.maximum_session.as_secs(),
        })
    }
}

/// A running service.
#[derive(Debug)]
pub struct Sts {
    // The process drops before the folder it reads from.
    process: Process,
    _folder: TempDir,
    address: SocketAddr,
}

/// Builds if needed and starts the service.
///
/// Its certificate is valid for `names` (such as `sts.eu-west-1.amazonaws.com`), 127.0.0.1 and localhost;
/// it trusts `issuer_ca_pem`, and nothing else, when it fetches keys.
///
/// # Errors
/// The build fails, or the process does not get ready.
pub async fn start(
    target: &Path,
    authority: &Authority,
    names: &[&str],
    issuer_ca_pem: &str,
    roles: &[Role],
) -> Result<Sts> {
    let program = ensure_built(target)?;
    let folder = tempfile::tempdir()?;
    let files = authority
        .issue(&[names, &["127.0.0.1", "localhost"]].concat())?
        .write(folder.path())?;
    let issuer_ca = folder.path().join("issuer-ca.pem");
    std::fs::write(&issuer_ca, issuer_ca_pem).context("cannot write the issuer's authority")?;
    let role_file = folder.path().join("roles.json");
    let roles: Value = roles.iter().map(Role::to_json).collect();
    std::fs::write(&role_file, roles.to_string()).context("cannot write the roles")?;
    let address = free_address()?;
    let mut command = Command::new(program);
    command
        .args(["--listen", &address.to_string(), "--roles"])
        .arg(role_file)
        .arg("--issuer-ca")
        .arg(issuer_ca)
        .arg("--certificate")
        .arg(files.certificate)
        .arg("--key")
        .arg(files.key);
    let mut process = Process::spawn(target, "sts", &mut command)?;
    process.ready(|| listens(address)).await?;
    Ok(Sts {
        process,
        _folder: folder,
        address,
    })
}

impl Sts {
    /// Where it listens: what a connect-to table maps a name such as `sts.amazonaws.com` to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// All that it has written so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }
}
