//! `gatepass git`: a login to a Git remote, for people or as a credential helper of git.

mod credential_helper;

use crate::answer::Wanted;
use crate::arguments::{Format, Git, Global};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::GitCredential,
    Format::Token,
];

/// What the flags ask for.
pub(crate) fn wanted(flags: &Git) -> Result<Wanted, Failure> {
    match &flags.url {
        Some(url) => Ok(Wanted::Git(url.parse()?)),
        None => Err(Failure::usage(
            "--credential-helper learns the remote from git; here it must be named by its URL",
        )),
    }
}

/// Gets a login to a remote and prints it.
pub(crate) async fn run(global: &Global, flags: &Git) -> Result<(), Failure> {
    if let Some(operation) = &flags.credential_helper {
        return credential_helper::run(global, flags, operation).await;
    }
    let format = output::choose(global.output, FORMATS, "git")?;
    let wanted = wanted(flags)?;
    let session = Session::open(global, &flags.request, &wanted, None).await?;
    let answer = session.ask(&wanted).await?;
    output::print(format, &answer.issue(session.flags.provider()))
}
