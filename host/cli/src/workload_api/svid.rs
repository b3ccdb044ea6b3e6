//! What the Workload API issued, as outputs see it.

use crate::answer::{Issue, Place};
use gatepass::Material;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name under which outputs show where it came from.
const PROVIDER: &str = "spiffe";

/// An identity document: a token, or a certificate with its key.
#[derive(Clone, Debug)]
pub(super) struct Svid {
    /// The SPIFFE ID.
    pub(super) identity: String,
    /// The secret.
    pub(super) material: Material,
    /// Its end, which lies ahead.
    pub(super) expires_at: SystemTime,
    /// What else may be shown.
    pub(super) attributes: Vec<(String, String)>,
}

impl Svid {
    /// As outputs see it.
    pub(super) fn issue<'a>(&'a self, socket: &'a str) -> Issue<'a> {
        Issue {
            provider: PROVIDER,
            identity: &self.identity,
            is_cached: false,
            material: &self.material,
            expires_at: self.expires_at,
            attributes: &self.attributes,
            place: Place::Workload { socket },
        }
    }
}

/// The end of a document, in seconds since 1970, if it lies ahead.
pub(super) fn end(seconds: i64, now: SystemTime) -> Result<SystemTime, &'static str> {
    let since = u64::try_from(seconds).map_err(|_| "it ended before 1970")?;
    let end = UNIX_EPOCH
        .checked_add(Duration::from_secs(since))
        .ok_or("its end is beyond all time")?;
    match end > now {
        true => Ok(end),
        false => Err("it has expired already; compare the clocks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_lies_ahead() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        assert_eq!(end(1_001, now), Ok(UNIX_EPOCH + Duration::from_secs(1_001)));
        for seconds in [i64::MIN, -1, 0, 999, 1_000] {
            assert!(end(seconds, now).is_err(), "{seconds}");
        }
    }
}
