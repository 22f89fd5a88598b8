//! Lengths of time and sizes as people write them.

use laggard_model::Nanos;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

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
/// A message for the user: the error, and a valid example.
pub fn parse_length(text: &str) -> Result<Nanos, String> {
    let nanoseconds = scaled(text.trim(), LENGTH_UNITS);
    let length = nanoseconds.map(|number| Nanos::from_ns(number.round() as u64));
    length.ok_or_else(|| format!("{:?} is not a length of time; write 60s, 5m, 1h or 500ms", text.trim()))
}

/// Reads `4GiB`, `500MB`, `1.5g`, or a number of bytes.
///
/// # Errors
/// A message for the user: the error, and a valid example.
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

/// A length of time above zero: `500ms`, `30s`, `5m`, `12h`, `7d`. At most a hundred years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Length(Duration);

/// A number of bytes above zero: `4096`, `64KiB`, `512MiB`, `2GiB`, `1TiB`, or in thousands `10MB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub u64);

/// Units that lengths are written in, in milliseconds.
const LENGTHS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const LENGTH_MS_MAX: u64 = 100 * 366 * 86_400_000;

/// Units that sizes are written in, in bytes.
const SIZES: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

impl Length {
    /// So many seconds.
    pub const fn from_secs(seconds: u64) -> Length {
        Length(Duration::from_secs(seconds))
    }

    /// So many milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Length {
        Length(Duration::from_millis(milliseconds))
    }

    /// As the standard library has it.
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// In nanoseconds; a hundred years fit.
    pub fn nanos(self) -> Nanos {
        Nanos::from_ns(self.0.as_nanos() as u64)
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Length, String> {
        let explain =
            || format!("{text:?} is not a length of time above zero; write 500ms, 30s, 5m, 12h or 7d");
        let milliseconds = parse_length(text).map_err(|_| explain())?.ns() / 1_000_000;
        let is_allowed = (1..=LENGTH_MS_MAX).contains(&milliseconds);
        is_allowed.then(|| Length::from_millis(milliseconds)).ok_or_else(explain)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis() as u64;
        let (unit, unit_ms) = LENGTHS
            .iter()
            .find(|(_, unit_ms)| milliseconds.is_multiple_of(*unit_ms))
            .expect("the last unit divides every number");
        write!(f, "{}{unit}", milliseconds / unit_ms)
    }
}

impl Size {
    /// For memory; what does not fit is the most there can be.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let bytes = parse_size(text).ok().filter(|&bytes| bytes > 0);
        bytes
            .map(Size)
            .ok_or_else(|| format!("{text:?} is not a size above zero; write 4096, 64KiB, 512MiB or 2GiB"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = SIZES
            .iter()
            .find(|(_, factor)| self.0.is_multiple_of(*factor))
            .expect("the last unit divides every number");
        write!(f, "{}{unit}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
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

    #[test]
    fn durations_are_read_and_written() {
        for (text, milliseconds, shown) in [
            ("500ms", 500, "500ms"),
            ("30s", 30_000, "30s"),
            ("90 s", 90_000, "90s"),
            ("1.5s", 1_500, "1500ms"),
            ("120s", 120_000, "2m"),
            ("7d", 604_800_000, "7d"),
            ("36h", 129_600_000, "36h"),
        ] {
            let length: Length = text.parse().unwrap();
            assert_eq!(length.duration(), Duration::from_millis(milliseconds), "{text}");
            assert_eq!(length.to_string(), shown);
        }
        for bad in ["", "0s", "-1s", "5 minutes", "99999999999d", "99999999999999999999s"] {
            assert!(bad.parse::<Length>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes, shown) in [
            ("4096", 4096, "4KiB"),
            ("512MiB", 512 << 20, "512MiB"),
            ("10MB", 10_000_000, "10MB"),
            ("1 TiB", 1 << 40, "1TiB"),
            ("1001B", 1001, "1001B"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown), "{text}");
        }
        for bad in ["", "0", "-1", "5 megabytes", "99999999TiB"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }
}
