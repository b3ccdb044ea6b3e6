//! `gatepass demo`: everything once against a sandbox.

mod furnishing;
mod report;
mod scenario;
mod stage;

use crate::arguments::{Demo, Format, Global};
use crate::failure::Failure;
use crate::terminal;
use crate::{output, sandbox};
use report::Row;
use stage::Stage;

/// Runs the demonstration and shows what happened.
pub(crate) async fn run(global: &Global, flags: &Demo) -> Result<(), Failure> {
    let format = output::choose(global.output, &[Format::Table, Format::Json], "demo")?;
    let sandbox = sandbox::start(0).await?;
    let rows = rows(&sandbox).await?;
    sandbox.stop().await;
    match flags.json || format == Format::Json {
        true => terminal::print(&report::in_json(&rows)?)?,
        false => terminal::print(&report::in_words(&rows))?,
    }
    conclude(&rows)
}

async fn rows(sandbox: &gatepass_sandbox::Sandbox) -> Result<Vec<Row>, Failure> {
    let scenes = scenario::scenes(sandbox)?;
    let stage = Stage::set(sandbox).await?;
    let mut rows = Vec::new();
    for scene in &scenes {
        rows.push(stage.play(scene).await);
    }
    Ok(rows)
}

fn conclude(rows: &[Row]) -> Result<(), Failure> {
    let failed = rows.iter().filter(|row| !row.is_ok()).count();
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Demonstration {
            failed,
            all: rows.len(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::sample;

    #[test]
    fn one_failed_step_fails_the_whole() {
        assert!(conclude(&[sample(None)]).is_ok());
        let failure = conclude(&[sample(None), sample(Some("x"))]).unwrap_err();
        assert_eq!(failure.to_string(), "1 of 2 steps failed");
        assert_eq!(crate::exit::code(&failure), 1);
    }
}
