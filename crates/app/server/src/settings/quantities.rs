//! Lengths of time and sizes, as people write them.

use laggard_model::Nanos;
use laggard_settings::{parse_length, parse_size};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time above zero: `500ms`, `30s`, `5m`, `12h`, `7d`. At most a hundred years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Length(Duration);

/// A number of bytes above zero: `4096`, `64KiB`, `512MiB`, `2GiB`, `1TiB`, or in thousands `10MB`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Size(pub u64);

const LENGTHS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
const LENGTH_MS_MAX: u64 = 100 * 366 * 86_400_000;

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
        is_allowed.then(|| Length(Duration::from_millis(milliseconds))).ok_or_else(explain)
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

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Length, D::Error> {
        deserializer.deserialize_str(Text("a length of time like 30s", str::parse))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        deserializer.deserialize_str(Text("a size like 512MiB", str::parse))
    }
}

/// Reads something that may be left out: `off`, or nothing at all.
pub(super) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    text.filter(|text| text != OFF).map(|text| text.parse().map_err(de::Error::custom)).transpose()
}

/// The word for what is left out.
pub(crate) const OFF: &str = "off";

/// Reads a value from text: what is expected, and how.
struct Text<T>(&'static str, fn(&str) -> Result<T, String>);

impl<T> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.1)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        (self.1)(&number.to_string()).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_written() {
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
