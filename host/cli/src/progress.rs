//! A line on standard error for what takes more than a second.

use crate::terminal;
use std::time::Duration;

/// When people begin to wonder.
const PATIENCE: Duration = Duration::from_secs(1);

/// Awaits `work`, and says what is being waited for if somebody watches and it takes long.
pub(crate) async fn noted<T>(what: &str, work: impl Future<Output = T>) -> T {
    match terminal::is_watched() {
        true => telling(work, || terminal::talk(&format!("{what}…\n"))).await,
        false => work.await,
    }
}

async fn telling<T>(work: impl Future<Output = T>, tell: impl FnOnce()) -> T {
    let mut work = std::pin::pin!(work);
    match tokio::time::timeout(PATIENCE, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            tell();
            work.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test(start_paused = true)]
    async fn only_what_takes_longer_than_a_second_is_told() {
        for (takes, expected) in [(999, false), (1001, true)] {
            let told = Cell::new(false);
            let work = tokio::time::sleep(Duration::from_millis(takes));
            telling(work, || told.set(true)).await;
            assert_eq!(told.get(), expected, "{takes} ms");
        }
    }
}
