//! How results are written. Each format is a pure function of an [`Issue`].

mod aws_credential_process;
mod docker;
mod env;
pub(crate) mod exec_credential;
pub(crate) mod git_credential;
mod json;
pub(crate) mod kubeconfig;
pub(crate) mod table;
pub(crate) mod time;

pub(crate) use json::text as json_text;

use crate::answer::{Issue, Place};
use crate::arguments::Format;
use crate::failure::Failure;
use crate::terminal;
use gatepass::{Material, Secret};
use std::time::SystemTime;

/// The format to use, checked before anything is asked of anybody. The first is the default.
pub(crate) fn choose(
    asked: Option<Format>,
    fitting: &[Format],
    command: &str,
) -> Result<Format, Failure> {
    let default = fitting.first().copied().unwrap_or(Format::Table);
    let format = asked.unwrap_or(default);
    if fitting.contains(&format) {
        return Ok(format);
    }
    Err(Failure::usage(format!(
        "`gatepass {command}` has no output {}",
        format.name()
    ))
    .fix(format!("choose one of {}", names(fitting))))
}

fn names(formats: &[Format]) -> String {
    let names: Vec<String> = formats.iter().map(|format| format.name()).collect();
    names.join(", ")
}

/// Prints a credential.
pub(crate) fn print(format: Format, issue: &Issue<'_>) -> Result<(), Failure> {
    if format == Format::Table {
        let hint = format!(
            "note: the secret itself is printed by -o {}\n",
            names(&with_secret(issue))
        );
        terminal::print(&table::render(issue, SystemTime::now()))?;
        terminal::talk(&hint);
        return Ok(());
    }
    release(&render(format, issue)?)
}

/// Lets a secret out: the one place where it leaves.
pub(crate) fn release(text: &Secret) -> Result<(), Failure> {
    terminal::print(text.expose())
}

fn render(format: Format, issue: &Issue<'_>) -> Result<Secret, Failure> {
    let unfit = || unfit(format, issue);
    match (format, issue.place) {
        (Format::Json, _) => json::render(issue),
        (Format::Token, _) => token(issue.material).ok_or_else(unfit),
        (Format::Env, Place::Anywhere) => env::render(issue).ok_or_else(unfit),
        (Format::AwsCredentialProcess, Place::Anywhere) => {
            aws_credential_process::render(issue).ok_or_else(unfit)
        }
        (Format::ExecCredential, Place::Cluster { .. } | Place::Workload { .. }) => {
            exec_credential::render(issue).ok_or_else(unfit)
        }
        (Format::GitCredential, Place::Remote { .. }) => {
            git_credential::render(issue).ok_or_else(unfit)
        }
        (Format::DockerConfig, Place::Registry { host }) => {
            docker::config(host, issue.material).ok_or_else(unfit)
        }
        (Format::DockerCredential, Place::Registry { host }) => {
            docker::credential(host, issue.material).ok_or_else(unfit)
        }
        _ => Err(unfit()),
    }
}

/// The bearer token alone.
fn token(material: &Material) -> Option<Secret> {
    match material {
        Material::Bearer(token) => Some(Secret::from(format!("{}\n", token.expose()))),
        _ => None,
    }
}

/// The formats that print the secret of this credential.
fn with_secret(issue: &Issue<'_>) -> Vec<Format> {
    let material = match (issue.place, issue.material) {
        (Place::Anywhere, Material::Aws(_)) => &[Format::Env, Format::AwsCredentialProcess][..],
        (Place::Registry { .. }, Material::Basic(_)) => {
            &[Format::DockerConfig, Format::DockerCredential]
        }
        (Place::Registry { .. }, Material::Bearer(_)) => &[Format::DockerConfig, Format::Token],
        (Place::Remote { .. }, Material::Basic(_)) => &[Format::GitCredential],
        (Place::Remote { .. }, Material::Bearer(_)) => &[Format::GitCredential, Format::Token],
        (Place::Cluster { .. } | Place::Workload { .. }, Material::Bearer(_)) => {
            &[Format::ExecCredential, Format::Token]
        }
        (Place::Cluster { .. } | Place::Workload { .. }, Material::X509(_)) => {
            &[Format::ExecCredential]
        }
        (_, Material::Bearer(_)) => &[Format::Token],
        _ => &[],
    };
    [&[Format::Json], material].concat()
}

fn unfit(format: Format, issue: &Issue<'_>) -> Failure {
    let kind = issue.material.kind();
    Failure::usage(format!(
        "-o {} does not fit a credential of kind {kind}",
        format.name()
    ))
    .fix(format!("choose one of {}", names(&with_secret(issue))))
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;
    use clap::ValueEnum;

    #[test]
    fn an_output_of_another_command_is_a_usage_error_that_names_those_that_fit() {
        let failure = choose(
            Some(Format::DockerConfig),
            &[Format::Table, Format::Env],
            "token",
        )
        .unwrap_err();
        assert_eq!(exit::code(&failure), 2);
        assert_eq!(
            failure.advice().as_deref(),
            Some("choose one of table, env")
        );
        assert_eq!(choose(None, &[Format::Env], "token").unwrap(), Format::Env);
    }

    #[test]
    fn what_an_error_offers_is_what_works() {
        for material in sample::materials() {
            for place in sample::places() {
                let issue = sample::issue(&material, place);
                let offered = with_secret(&issue);
                for format in Format::value_variants() {
                    let works = render(*format, &issue).is_ok();
                    // A kubeconfig has further inputs and is rendered on its own.
                    if !matches!(format, Format::Kubeconfig | Format::Table) {
                        assert_eq!(
                            works,
                            offered.contains(format),
                            "{format:?} {material:?} {place:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn an_unfit_output_says_nothing_of_the_secret() {
        for material in sample::materials() {
            let issue = sample::issue(&material, Place::Anywhere);
            if let Err(failure) = render(Format::DockerConfig, &issue) {
                assert!(!failure.report().contains("canary"), "{failure:?}");
                assert_eq!(exit::code(&failure), 2);
            }
        }
    }

    #[test]
    fn a_raw_token_is_one_line() {
        let material = Material::Bearer("canary.jwt.sig".into());
        let printed = render(Format::Token, &sample::issue(&material, Place::Anywhere)).unwrap();
        assert_eq!(printed.expose(), "canary.jwt.sig\n");
    }
}
