//! Times as people type them.

use laggard_model::Timestamp;

/// Reads RFC 3339, a civil date and time (UTC), or a Unix time whose unit follows from its size.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    if let Ok(number) = text.parse::<f64>() {
        return from_unix(number).ok_or_else(|| explain(text));
    }
    let instant = text.parse::<jiff::Timestamp>().or_else(|_| {
        let civil = text.parse::<jiff::civil::DateTime>();
        civil.and_then(|civil| civil.to_zoned(jiff::tz::TimeZone::UTC)).map(|zoned| zoned.timestamp())
    });
    let nanoseconds = instant.ok().and_then(|instant| i64::try_from(instant.as_nanosecond()).ok());
    nanoseconds.map(Timestamp::from_unix_ns).ok_or_else(|| explain(text))
}

fn explain(text: &str) -> String {
    format!(
        "{text:?} is not a time; write 2026-01-12T09:10:00Z, \"2026-01-12 09:10\" (UTC) or a Unix time in s, ms, µs or ns"
    )
}

/// Seconds up to 10^11 (the year 5138), then milliseconds, microseconds, nanoseconds.
fn from_unix(number: f64) -> Option<Timestamp> {
    let scale = match number.abs() {
        size if size < 1e11 => 1e9,
        size if size < 1e14 => 1e6,
        size if size < 1e17 => 1e3,
        _ => 1.0,
    };
    let nanoseconds = number * scale;
    (nanoseconds.abs() < 9.2e18).then_some(Timestamp::from_unix_ns(nanoseconds as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_one_instant_is_the_same() {
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
    fn nonsense_is_explained() {
        for text in ["", "yesterday", "nan", "1e300", "2026-13-01"] {
            assert!(parse(text).unwrap_err().contains("is not a time"), "{text}");
        }
    }
}
