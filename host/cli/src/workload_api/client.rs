//! A client of the Workload API that is patient: an agent learns of a workload moments after its start.

use super::refusal;
use super::socket::Socket;
use crate::failure::Failure;
use crate::progress::noted;
use spiffe::{JwtSvid, SpiffeId, WorkloadApiClient, WorkloadApiError, X509Context};
use std::time::Duration;
use tokio::time::Instant;

/// Before the second attempt; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// SPIRE's agent asks for its entries every five seconds: more patience between attempts wins nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A Workload API. It is dialled for each question, so that an agent may restart in between.
#[derive(Clone, Debug)]
pub(super) struct Client {
    socket: Socket,
    patience: Duration,
}

impl Client {
    /// A client that gives up after a while.
    pub(super) fn new(socket: Socket, patience: Duration) -> Self {
        Self { socket, patience }
    }

    /// Where it is.
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A token for these audiences.
    pub(super) async fn jwt(
        &self,
        audiences: &[String],
        id: Option<&SpiffeId>,
    ) -> Result<JwtSvid, Failure> {
        self.ask(async |client| client.fetch_jwt_svid(audiences, id).await)
            .await
    }

    /// All certificates of this workload, and whom it trusts.
    pub(super) async fn x509(&self) -> Result<X509Context, Failure> {
        self.ask(async |client| client.fetch_x509_context().await)
            .await
    }

    async fn ask<T>(
        &self,
        question: impl AsyncFn(&WorkloadApiClient) -> Result<T, WorkloadApiError>,
    ) -> Result<T, Failure> {
        self.socket.check()?;
        let attempt = async || {
            let client = WorkloadApiClient::connect(self.socket.endpoint()).await?;
            question(&client).await
        };
        let doing = format!("ask the Workload API at {}", self.socket);
        let asked = noted(&doing, patient(self.patience, attempt)).await;
        asked.map_err(|error| match error {
            Some(error) => refusal::explain(&error, &self.socket),
            None => refusal::silent(&self.socket),
        })
    }
}

/// Asks until there is an answer, an error that stays, or no patience left. `None`: nobody said a thing.
async fn patient<T>(
    patience: Duration,
    attempt: impl AsyncFn() -> Result<T, WorkloadApiError>,
) -> Result<T, Option<WorkloadApiError>> {
    let end = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    let mut last = None;
    loop {
        match tokio::time::timeout_at(end, attempt()).await {
            Ok(Ok(answer)) => return Ok(answer),
            // Where the time ends in a pause, there is no use in waiting for that.
            Ok(Err(error)) if !refusal::is_passing(&error) || Instant::now() + pause >= end => {
                return Err(Some(error));
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => return Err(last),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spiffe::transport::{GrpcStatusCode, TransportError};
    use std::cell::Cell;

    fn invalid() -> WorkloadApiError {
        TransportError::status(GrpcStatusCode::InvalidArgument, "").into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_workload_that_is_not_known_yet_is_asked_for_again() {
        let attempts = Cell::new(0);
        let begun = Instant::now();
        let answer = patient(Duration::from_secs(10), async || {
            attempts.set(attempts.get() + 1);
            match attempts.get() {
                4 => Ok("svid"),
                _ => Err(WorkloadApiError::NoIdentityIssued),
            }
        });
        assert_eq!(answer.await.unwrap(), "svid");
        assert_eq!(begun.elapsed(), Duration::from_millis(100 + 200 + 400));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_error_is_told_when_patience_ends() {
        for (patience, expected) in [(50, 1), (150, 2), (1_000, 4), (10_000, 9)] {
            let attempts = Cell::new(0);
            let answer: Result<(), _> = patient(Duration::from_millis(patience), async || {
                attempts.set(attempts.get() + 1);
                Err(WorkloadApiError::NoIdentityIssued)
            })
            .await;
            let error = answer.unwrap_err();
            assert!(matches!(error, Some(WorkloadApiError::NoIdentityIssued)));
            assert_eq!(attempts.get(), expected, "{patience} ms");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wrong_question_is_asked_once_and_silence_ends() {
        let attempts = Cell::new(0);
        let wrong: Result<(), _> = patient(Duration::from_secs(10), async || {
            attempts.set(attempts.get() + 1);
            Err(invalid())
        })
        .await;
        assert!(
            wrong
                .unwrap_err()
                .is_some_and(|error| error.is_invalid_argument())
        );
        assert_eq!(attempts.get(), 1);
        let begun = Instant::now();
        let silence: Result<(), _> = patient(Duration::from_secs(3), async || {
            std::future::pending().await
        })
        .await;
        assert!(silence.unwrap_err().is_none());
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
    }
}
