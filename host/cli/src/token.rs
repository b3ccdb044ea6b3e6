//! `gatepass token`.

use crate::answer::Wanted;
use crate::arguments::{Format, Global, Token};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::Env,
    Format::AwsCredentialProcess,
    Format::Token,
];

/// Gets an access token and prints it.
pub(crate) async fn run(global: &Global, flags: &Token) -> Result<(), Failure> {
    let format = output::choose(global.output, FORMATS, "token")?;
    let session = Session::open(global, &flags.request, &Wanted::Token, None).await?;
    let answer = session.ask(&Wanted::Token).await?;
    output::print(format, &answer.issue(session.flags.provider()))
}
