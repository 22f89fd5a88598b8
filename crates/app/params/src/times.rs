//! Times as people type them.

use laggard_model::Timestamp;

/// Reads RFC 3339, a civil date and time (UTC), or a Unix time whose unit follows from its size.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    if let Ok(number) = text.parse::<i64>() {
        return from_whole_unix(number).ok_or_else(|| explain(text));
    }
    if let Ok(number) = text.parse::<f64>() {
        return from_unix(number).ok_or_else(|| explain(text));
    }
    let instant = text.parse::<jiff::Timestamp>().or_else(|_| {
        let civil = text.parse::<jiff::civil::DateTime>();
        civil
            .and_then(|civil| civil.to_zoned_datetime(jiff::tz::TimeZone::UTC))
            .map(|zoned| zoned.timestamp())
    });
    let nanoseconds = instant.ok().and_then(|instant| i64::try_from(instant.as_nanosecond()).ok());
    nanoseconds.map(Timestamp::from_unix_ns).ok_or_else(|| explain(text))
}

fn explain(text: &str) -> String {
    format!(
        "{text:?} is not a time; write 2026-01-12T09:10:00Z, \"2026-01-12 09:10\" (UTC) or a Unix time in s, ms, µs or ns"
    )
}

/// Nanoseconds in the unit of a Unix time of this size: seconds up to 10^11 (the year 5138), then
/// milliseconds, microseconds, nanoseconds.
fn unit_ns(size: f64) -> i64 {
    match size {
        size if size < 1e11 => 1_000_000_000,
        size if size < 1e14 => 1_000_000,
        size if size < 1e17 => 1_000,
        _ => 1,
    }
}

fn from_unix(number: f64) -> Option<Timestamp> {
    let nanoseconds = number * unit_ns(number.abs()) as f64;
    (nanoseconds.abs() < 9.2e18).then_some(Timestamp::from_unix_ns(nanoseconds as i64))
}

/// Exact, where a floating-point number of today's nanoseconds would be off by up to 128.
fn from_whole_unix(number: i64) -> Option<Timestamp> {
    number.checked_mul(unit_ns(number.unsigned_abs() as f64)).map(Timestamp::from_unix_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_instant_is_equal() {
        for text in [
            "2026-01-12T09:00:00Z",
            "2026-01-12T10:00:00+01:00",
            "2026-01-12 09:00",
            "1768208400",
            "1768208400000",
            "1768208400000000",
            "1768208400000000000",
        ] {
            assert_eq!(parse(text).unwrap().unix_ns(), 1_768_208_400_000_000_000, "{text}");
        }
    }

    #[test]
    fn nanoseconds_are_exact() {
        assert_eq!(parse("1768208400000000001").unwrap().unix_ns(), 1_768_208_400_000_000_001);
        assert_eq!(parse("-1").unwrap().unix_ns(), -1_000_000_000);
        assert_eq!(parse("1.5").unwrap().unix_ns(), 1_500_000_000);
    }

    #[test]
    fn invalid_times_are_explained() {
        for text in ["", "yesterday", "nan", "1e300", "2026-13-01"] {
            assert!(parse(text).unwrap_err().contains("is not a time"), "{text}");
        }
    }
}
