//! The command line, as it is parsed.

mod format;
mod global;
mod link;
mod oci;
mod request;
mod workload_api;

pub(crate) use format::Format;
pub(crate) use global::Global;
pub(crate) use link::Link;
pub(crate) use oci::{Access, Creds, Diff, List, Oci, Pull, Push, Tag};
pub(crate) use request::{Git, Kubeconfig, Registry, Request, Token};
pub(crate) use workload_api::{Endpoint, JwtSvid, WorkloadApi, X509Svid};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gatepass demo
  gatepass token aws -n team-a --service-account app --region eu-central-1
  eval \"$(gatepass token aws --service-account team-a/app --region eu-central-1 -o env)\"
  gatepass registry aws 123456789012.dkr.ecr.eu-central-1.amazonaws.com/app --service-account team-a/app
  gatepass kubeconfig aws --cluster arn:aws:eks:eu-central-1:123456789012:cluster/prod \\
      --service-account team-a/app > prod.yaml
  gatepass oci push oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/app:v1 ./manifests \\
      --provider aws --sa-name team-a/app
  gatepass kubeconfig --config-map prod -n team-a > prod.yaml
  git config credential.helper \
      '!gatepass git aws --service-account team-a/app --credential-helper'
  gatepass token aws --service-account team-a/app --region eu-central-1 \
      --link role-arn=arn:aws:iam::210987654321:role/deploy
  gatepass issuer jwks --spiffe-trust-domain example.org --spiffe-secret-name signing > keys
  gatepass explain token aws --service-account team-a/app
  gatepass explain --trust token aws --service-account team-a/app > trust.json

Exit codes: gatepass help exit-codes";

/// Hands a workload the short-lived credential it is entitled to, and nothing else.
#[derive(Debug, Parser)]
#[command(name = "gatepass", version, about, after_help = EXAMPLES, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Get an access token: keys, a bearer token
    Token(Token),
    /// Get a login to a container registry
    Registry(Registry),
    /// Get a login to a Git remote, or be a credential helper of git
    Git(Git),
    /// Get access to a Kubernetes cluster, by default as a kubeconfig that renews itself
    Kubeconfig(Kubeconfig),
    /// Do what token, registry, git or kubeconfig does, and show every decision instead of the
    /// credential
    Explain(Explain),
    /// Push, pull, list, tag and compare artifacts in a registry, with any of these credentials
    #[command(subcommand)]
    Oci(Oci),
    /// Get the identity that an agent on this machine attests, by the SPIFFE Workload API
    #[command(subcommand)]
    WorkloadApi(WorkloadApi),
    /// Print what others read to check what is signed for objects (SPIFFE)
    #[command(subcommand)]
    Issuer(Issuer),
    /// Look at providers
    #[command(subcommand)]
    Plugin(Plugin),
    /// Run a Kubernetes API and a cloud on this machine, to try everything against
    Sandbox(Sandbox),
    /// Run everything once against a sandbox, and show what happened
    Demo(Demo),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print what each exit code means
    #[command(long_about = format!("Print what each exit code means:\n\n{}", crate::exit::table()))]
    ExitCodes,
}

/// Flags of `gatepass explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Print what the other side's administrator applies, so that it trusts the account
    #[arg(long, global = true)]
    pub(crate) trust: bool,
    /// Who signs the account's tokens, for --trust [default: the API server is asked]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: Explained,
}

/// Which command to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum Explained {
    /// Explain `gatepass token`
    Token(Token),
    /// Explain `gatepass registry`
    Registry(Registry),
    /// Explain `gatepass git`
    Git(Git),
    /// Explain `gatepass kubeconfig`
    Kubeconfig(Kubeconfig),
}

/// What to look at.
#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// Show what a plugin is, does and would like to be granted
    Inspect {
        /// A component's file, or the name of a bundled plugin
        #[arg(value_name = "FILE|NAME")]
        plugin: PathBuf,
    },
    /// List the plugins inside this program
    List,
}

/// A document of who signs for objects.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Issuer {
    /// The discovery document, to be served at ISSUER/.well-known/openid-configuration
    Discovery,
    /// The key set that OpenID Connect relying parties read, to be served at ISSUER/keys
    Jwks,
    /// The SPIFFE bundle of the trust domain
    Bundle,
}

/// Flags of `gatepass sandbox`.
#[derive(Debug, Args)]
pub(crate) struct Sandbox {
    /// Port of the cloud; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Where to write its kubeconfig and configuration; a fresh temporary folder if not set
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Flags of `gatepass demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Print JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn lists_repeat_and_take_commas() {
        let arguments =
            parse("gatepass token generic --audience a,b --audience c -p x=1 -p y=2=3").unwrap();
        let Command::Token(token) = arguments.command else {
            panic!("another command")
        };
        assert_eq!(token.request.audience, ["a", "b", "c"]);
        let pairs =
            [("x", "1"), ("y", "2=3")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(token.request.parameter, pairs);
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for line in ["gatepass -o json token aws", "gatepass token aws -o json"] {
            assert_eq!(
                parse(line).unwrap().global.output,
                Some(Format::Json),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_refused_by_name() {
        let cases = [
            ("gatepass token", "PROVIDER"),
            ("gatepass token aws --frobnicate", "--frobnicate"),
            ("gatepass token aws -o yaml", "yaml"),
            ("gatepass token aws -p x", "NAME=VALUE"),
            ("gatepass token aws -p =x", "NAME=VALUE"),
            ("gatepass token aws --token-lifetime soon", "soon"),
            (
                "gatepass token aws --feature-gates ObjectLevelWorkloadIdentity",
                "NAME=true",
            ),
            ("gatepass token aws --token-cache-max-size -1", "-1"),
            ("gatepass registry aws", "REPOSITORY"),
            ("gatepass git aws", "URL"),
            (
                "gatepass git aws https://a.example/x --credential-helper get",
                "--credential-helper",
            ),
            ("gatepass git aws --credential-helper", "OPERATION"),
            ("gatepass token aws --link role-arn", "NAME=VALUE"),
            ("gatepass token aws --start-with-aws-keys", "--link"),
            (
                "gatepass token aws --object configmaps.v1/a/b --service-account a/b",
                "--object",
            ),
            ("gatepass explain", "token"),
        ];
        for (line, named) in cases {
            let message = parse(line).map(|_| ()).unwrap_err().to_string();
            assert!(message.contains(named), "{line}: {message}");
        }
    }
}
