//! A sandbox, the files that point at it, and the program.

use gatepass_sandbox::Sandbox;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program, without what this process's environment says.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatepass"));
    command
        .env_clear()
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null());
    command
}

/// Runs the program with the words of a line.
pub(crate) fn run(line: &str) -> Ran {
    Ran::of(program().args(line.split_whitespace()))
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        let Output {
            status,
            stdout,
            stderr,
        } = command.output().unwrap();
        Self {
            code: status.code(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Standard output of a program that did what it was asked.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Fails unless the program failed with this code and said these words, and no data.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {}", self.stderr);
        }
    }
}

/// A sandbox and the files that point at it.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::demo().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let world = Self { sandbox, folder };
        world.write(
            "kubeconfig",
            &world.sandbox.kubernetes().kubeconfig("admin"),
        );
        world.write("ca.pem", world.sandbox.ca_pem());
        world.write(
            "gatepass.yaml",
            &world.configuration("[{bundled: aws}, {bundled: generic}]"),
        );
        world
    }

    /// A host configuration with these plugins.
    pub(crate) fn configuration(&self, plugins: &str) -> String {
        let authority = self.sandbox.ca_pem().replace('\n', "\n    ");
        format!(
            "apiVersion: gatepass/v1alpha1\nkind: HostConfiguration\nnetwork:\n  systemAuthorities: false\n  connectTo: {{'*:443': '{}'}}\n  ca: |\n    {authority}\nplugins: {plugins}\n",
            self.sandbox.address()
        )
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The program with the words of a line, pointed at the sandbox.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = program();
        command.args(line.split_whitespace());
        command.arg("--config").arg(self.path("gatepass.yaml"));
        command.arg("--kubeconfig").arg(self.path("kubeconfig"));
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::of(&mut self.command(line))
    }

    /// Runs it with another host configuration.
    pub(crate) fn run_with(&self, config: &Path, line: &str) -> Ran {
        let mut command = program();
        command.args(line.split_whitespace());
        command.arg("--config").arg(config);
        command.arg("--kubeconfig").arg(self.path("kubeconfig"));
        Ran::of(&mut command)
    }

    /// How often the sandbox was asked for this AWS action.
    pub(crate) fn asked(&self, action: &str) -> usize {
        let requests = self.sandbox.requests();
        requests
            .iter()
            .filter(|request| request.action.as_deref() == Some(action))
            .count()
    }
}

pub(crate) const ECR_ACCOUNT: &str = "--service-account tenant-a/tenant-a-ecr-sa";
pub(crate) const EKS_ACCOUNT: &str = "--service-account tenant-a/tenant-a-eks-sa";
pub(crate) const EKS: &str = "arn:aws:eks:us-east-1:123456789012:cluster/demo";
pub(crate) const ECR_ROLE: &str = "arn:aws:iam::123456789012:role/tenant-a-ecr";
