//! Times and lengths of time, as they are written.

use std::time::{Duration, SystemTime};

/// RFC 3339 in UTC, to the second.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    jiff::Timestamp::try_from(time).map_or_else(
        |_| "beyond all calendars".into(),
        |time| format!("{time:.0}"),
    )
}

/// The time left until `end`, in its largest two units; `0s` if there is none.
pub(crate) fn left(now: SystemTime, end: SystemTime) -> String {
    short(end.duration_since(now).unwrap_or_default())
}

/// A length of time in its largest two units.
pub(crate) fn short(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        for (seconds, expected) in [
            (0, "0s"),
            (59, "59s"),
            (61, "1m01s"),
            (3599, "59m59s"),
            (3660, "1h01m"),
            (90_000, "25h00m"),
        ] {
            assert_eq!(short(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn what_is_over_has_nothing_left() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10);
        assert_eq!(left(now, SystemTime::UNIX_EPOCH), "0s");
        assert_eq!(rfc3339(now), "1970-01-01T00:00:10Z");
    }
}
