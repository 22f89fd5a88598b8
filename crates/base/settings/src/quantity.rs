//! Lengths of time and sizes as people write them.

use laggard_model::Nanos;

/// Units of time, in nanoseconds.
const LENGTH_UNITS: &[(&str, f64)] = &[
    ("", 1e9),
    ("s", 1e9),
    ("sec", 1e9),
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3_600e9),
    ("d", 86_400e9),
];

/// Units of size in bytes, in lower case.
const SIZE_UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kib", 1024.0),
    ("kb", 1e3),
    ("m", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("mb", 1e6),
    ("g", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("gb", 1e9),
    ("t", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("tb", 1e12),
];

/// Reads `60s`, `5m`, `1h`, `1d`, `500ms`, `250us`, `10ns`, or a number of seconds.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn parse_length(text: &str) -> Result<Nanos, String> {
    let nanoseconds = scaled(text.trim(), LENGTH_UNITS);
    let length = nanoseconds.map(|number| Nanos::from_ns(number.round() as u64));
    length.ok_or_else(|| format!("{:?} is not a length of time; write 60s, 5m, 1h or 500ms", text.trim()))
}

/// Reads `4GiB`, `500MB`, `1.5g`, or a number of bytes.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = scaled(&text.trim().to_ascii_lowercase(), SIZE_UNITS);
    bytes.map(|number| number as u64).ok_or_else(|| {
        format!("{:?} is not a size; write 4GiB, 500MB, 64KiB or a number of bytes", text.trim())
    })
}

/// A number and its unit, as a number of the smallest unit that fits into 64 bits.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, scale) = units.iter().find(|(name, _)| *name == unit.trim())?;
    let number = number.parse::<f64>().ok()? * scale;
    (number < u64::MAX as f64).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_with_their_units() {
        for (text, seconds) in [
            ("60s", 60.0),
            ("5m", 300.0),
            ("1.5h", 5400.0),
            ("500ms", 0.5),
            ("10", 10.0),
            ("90 s", 90.0),
            ("1d", 86_400.0),
            ("250us", 250e-6),
            ("7ns", 7e-9),
        ] {
            assert_eq!(parse_length(text), Ok(Nanos::from_ns((seconds * 1e9_f64).round() as u64)), "{text}");
        }
        for text in ["", "s", "5 weeks", "-1s", "1e3s", "nan", "99999999999999999999s"] {
            assert!(parse_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [
            ("4GiB", 4 << 30),
            ("500MB", 500_000_000),
            ("1.5g", 3 << 29),
            ("4096", 4096),
            ("1 TiB", 1 << 40),
            ("1001B", 1001),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "many", "-1", "5 megabytes", "99999999TiB"] {
            assert!(parse_size(text).unwrap_err().contains("is not a size"), "{text}");
        }
    }
}
