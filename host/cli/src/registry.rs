//! `gatepass registry`.

use crate::answer::Wanted;
use crate::arguments::{Format, Global, Registry};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::DockerConfig,
    Format::DockerCredential,
    Format::Token,
];

/// What the flags ask for.
pub(crate) fn wanted(flags: &Registry) -> Result<Wanted, Failure> {
    Ok(Wanted::Registry(flags.repository.parse()?))
}

/// Gets a login to a registry and prints it.
pub(crate) async fn run(global: &Global, flags: &Registry) -> Result<(), Failure> {
    let format = output::choose(global.output, FORMATS, "registry")?;
    let wanted = wanted(flags)?;
    let session = Session::open(global, &flags.request, &wanted, None).await?;
    let answer = session.ask(&wanted).await?;
    output::print(format, &answer.issue(session.flags.provider()))
}
