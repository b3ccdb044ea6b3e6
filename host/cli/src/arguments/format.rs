//! The ways in which a result is written.

use clap::ValueEnum;

/// A way to write a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, without secrets
    Table,
    /// Everything, secrets too
    Json,
    /// `export` lines for a shell
    Env,
    /// For `credential_process` of the AWS tools
    AwsCredentialProcess,
    /// For `users[].user.exec` of a kubeconfig
    ExecCredential,
    /// For `~/.docker/config.json`
    DockerConfig,
    /// What a Docker credential helper prints
    DockerCredential,
    /// What `git credential` reads
    GitCredential,
    /// A kubeconfig
    Kubeconfig,
    /// The bearer token alone
    Token,
}

impl Format {
    /// The format as it is written after `-o`.
    pub(crate) fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }
}
