//! Times of samples: in a stated unit, or in the unit that the text shows.

use crate::time_text::{TimeFormat, TimeUnit};
use laggard_model::Timestamp;

/// How a table writes its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeNotation {
    /// In the unit of the column's name.
    Stated(TimeFormat),
    /// RFC 3339 text or the like; a number's unit is settled by the first one.
    Free(Option<TimeUnit>),
}

impl Default for TimeNotation {
    fn default() -> TimeNotation {
        TimeNotation::Free(None)
    }
}

impl TimeNotation {
    pub(super) fn parse(&mut self, text: &str) -> Option<Timestamp> {
        let ns = match self {
            TimeNotation::Stated(format) => format.parse_ns(text)?,
            TimeNotation::Free(unit) => match unit.or_else(|| unit_of(text)) {
                Some(found) if text.parse::<f64>().is_ok() => {
                    let ns = TimeFormat::Decimal(found).parse_ns(text)?;
                    *unit = Some(found);
                    ns
                }
                _ => TimeFormat::Rfc3339.parse_ns(text).or_else(|| go_time_ns(text))?,
            },
        };
        Some(Timestamp::from_unix_ns(ns))
    }

    /// The expected form, for the example of a malformed record.
    pub(super) const fn expectation(self) -> &'static str {
        match self {
            TimeNotation::Stated(format) => format.expectation(),
            TimeNotation::Free(_) => "neither a time nor a number of seconds, ms, µs or ns since 1970",
        }
    }
}

/// The unit of a number of time since 1970, by its size: seconds reach the year 5138 with what is less than
/// a millisecond count of 1973, and so on. Small numbers count seconds since some start.
fn unit_of(text: &str) -> Option<TimeUnit> {
    let size = text.parse::<f64>().ok()?.abs();
    Some(match size {
        _ if size < 1e11 => TimeUnit::Seconds,
        _ if size < 1e14 => TimeUnit::Milliseconds,
        _ if size < 1e17 => TimeUnit::Microseconds,
        _ => TimeUnit::Nanoseconds,
    })
}

/// Go's own format: `2022-08-22 03:51:19.607158889 +0000 UTC m=+0.113112869`.
fn go_time_ns(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace();
    let (date, clock, offset) = (words.next()?, words.next()?, words.next()?);
    let (hours, minutes) = (offset.get(..3)?, offset.get(3..5)?);
    if offset.len() != 5 {
        return None;
    }
    TimeFormat::Rfc3339.parse_ns(&format!("{date}T{clock}{hours}:{minutes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> Vec<Option<i64>> {
        let mut reading = TimeNotation::default();
        texts.iter().map(|text| reading.parse(text).map(Timestamp::unix_ns)).collect()
    }

    #[test]
    fn units_follow_from_the_first_number() {
        let second = 1_370_001_533_000_000_000;
        for text in ["1370001533", "1370001533000", "1370001533000000", "1370001533000000000"] {
            assert_eq!(read(&[text]), [Some(second)], "{text}");
        }
        assert_eq!(
            read(&["0", "60", "3600000000"]),
            [Some(0), Some(60_000_000_000), Some(3_600_000_000_000_000_000)]
        );
        assert_eq!(read(&["1370001533000", "5"]), [Some(second), Some(5_000_000)]);
    }

    #[test]
    fn texts_of_time() {
        let expected = Some(1_661_140_279_607_158_889);
        assert_eq!(read(&["2022-08-22T03:51:19.607158889Z"]), [expected]);
        assert_eq!(read(&["2022-08-22 03:51:19.607158889 +0000 UTC m=+0.113112869"]), [expected]);
        assert_eq!(read(&["2022-08-22 05:51:19.607158889 +0200 CEST"]), [expected]);
        assert_eq!(
            read(&["", "noon", "2022-08-22 03:51:19 x", "2022-08-22 03:51:19 +é0 UTC", "nan"]),
            [None; 5]
        );
    }
}
