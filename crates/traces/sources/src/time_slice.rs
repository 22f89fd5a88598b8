//! Slices of time.

use laggard_model::{Nanos, Timestamp};
use std::fmt;

/// A slice of time: from its start up to, but not including, its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSlice {
    /// Its start.
    pub since: Timestamp,
    /// Its end.
    pub until: Timestamp,
}

impl TimeSlice {
    /// Its length; zero if it ends before it starts.
    pub fn length(self) -> Nanos {
        self.until.since(self.since).non_negative().unwrap_or_default()
    }

    /// Whether an instant is in it.
    pub fn contains(self, time: Timestamp) -> bool {
        self.since <= time && time < self.until
    }

    /// Its two halves.
    pub(crate) fn halves(self) -> [TimeSlice; 2] {
        let middle = self.since.plus(Nanos::from_ns(self.length().ns() / 2));
        [TimeSlice { until: middle, ..self }, TimeSlice { since: middle, ..self }]
    }

    /// The first and the last instant in whole units, the slice rounded to the outside: both are inclusive.
    pub(crate) fn in_units(self, unit: Nanos) -> [i64; 2] {
        let unit = i64::try_from(unit.ns()).unwrap_or(i64::MAX).max(1);
        let last = self.until.minus(Nanos::from_ns(1));
        [self.since.unix_ns().div_euclid(unit), last.unix_ns().div_euclid(unit)]
    }
}

impl fmt::Display for TimeSlice {
    /// Both ends in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", utc(self.since), utc(self.until))
    }
}

/// A time in UTC, to the millisecond.
pub(crate) fn utc(time: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(time.unix_ns().div_euclid(1_000_000)) {
        Ok(instant) => instant.to_string(),
        Err(_) => format!("{} ns", time.unix_ns()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(since: i64, until: i64) -> TimeSlice {
        TimeSlice { since: Timestamp::from_unix_ns(since), until: Timestamp::from_unix_ns(until) }
    }

    #[test]
    fn halves_are_disjoint_and_cover_the_slice() {
        assert_eq!(slice(10, 21).halves(), [slice(10, 15), slice(15, 21)]);
        assert!(slice(10, 15).contains(Timestamp::from_unix_ns(10)));
        assert!(!slice(10, 15).contains(Timestamp::from_unix_ns(15)));
    }

    #[test]
    fn queries_cover_the_slice() {
        let ms = Nanos::from_ms(1);
        assert_eq!(slice(1_999_999, 4_000_000).in_units(ms), [1, 3]);
        assert_eq!(slice(1_999_999, 4_000_001).in_units(ms), [1, 4]);
        assert_eq!(slice(-1, 1).in_units(ms), [-1, 0]);
    }

    #[test]
    fn times_are_shown_in_utc() {
        let text = slice(1_768_208_400_000_000_000, 1_768_208_460_500_000_000).to_string();
        assert_eq!(text, "2026-01-12T09:00:00Z to 2026-01-12T09:01:00.5Z");
    }
}
