//! Moments: a time, or relative to now.

use crate::times;
use laggard_model::{Nanos, Timestamp};
use laggard_settings::parse_length;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A time.
    At(Timestamp),
    /// This long before now.
    BeforeNow(Nanos),
}

impl Moment {
    /// The time that is meant.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Moment::At(time) => time,
            Moment::BeforeNow(length) => now.minus(length),
        }
    }

    /// Reads a moment as programs write it: digits are nanoseconds since the Unix epoch, whatever their number.
    ///
    /// # Errors
    /// What is wrong, and what to write instead.
    pub fn parse_exact(text: &str) -> Result<Moment, String> {
        match text.parse::<i64>() {
            Ok(ns) => Ok(Moment::At(Timestamp::from_unix_ns(ns))),
            Err(_) => text.parse(),
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    /// Reads a moment as people type it: as [`times::parse`] does, `now`, and `-15m`.
    fn from_str(text: &str) -> Result<Moment, String> {
        if text.eq_ignore_ascii_case("now") {
            return Ok(Moment::BeforeNow(Nanos::from_ns(0)));
        }
        let before = text.strip_prefix('-').filter(|rest| rest.ends_with(|last: char| last.is_alphabetic()));
        if let Some(before) = before {
            return parse_length(before).map(Moment::BeforeNow);
        }
        times::parse(text).map(Moment::At).map_err(|error| format!("{error}, or relative to now: -15m"))
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Moment::At(time) => serializer.serialize_i64(time.unix_ns()),
            Moment::BeforeNow(length) => serializer.collect_str(&format_args!("-{}ns", length.ns())),
        }
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        deserializer.deserialize_any(MomentVisitor)
    }
}

struct MomentVisitor;

impl Visitor<'_> for MomentVisitor {
    type Value = Moment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RFC 3339 text, a number of nanoseconds since the Unix epoch, or a text like -15m")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Moment, E> {
        Moment::parse_exact(text).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, ns: i64) -> Result<Moment, E> {
        Ok(Moment::At(Timestamp::from_unix_ns(ns)))
    }

    fn visit_u64<E: de::Error>(self, ns: u64) -> Result<Moment, E> {
        i64::try_from(ns)
            .map_err(|_| E::custom("a time beyond the year 2262"))
            .and_then(|ns| self.visit_i64(ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_absolute_or_relative_to_now() {
        let now = Timestamp::from_unix_ns(1_768_208_400_000_000_000);
        let ns = |text: &str| text.parse::<Moment>().map(|moment| moment.at(now).unix_ns());
        assert_eq!(ns("-15m"), Ok(1_768_207_500_000_000_000));
        assert_eq!(ns("now"), Ok(1_768_208_400_000_000_000));
        assert_eq!(ns("2026-01-12T09:00:00Z"), Ok(1_768_208_400_000_000_000));
        assert_eq!(ns("-1"), Ok(-1_000_000_000), "a Unix time in seconds");
        assert!(ns("-15 weeks").is_err() && ns("-").is_err() && ns("-ms").is_err() && ns("soon").is_err());
    }

    #[test]
    fn integers_are_unix_nanoseconds() {
        let read = |json: &str| serde_json::from_str::<Moment>(json).map(|moment| moment.at(Timestamp::MIN));
        for json in ["12", "\"12\""] {
            assert_eq!(read(json).unwrap(), Timestamp::from_unix_ns(12), "{json}");
        }
        assert!(read("18446744073709551615").is_err() && read("true").is_err() && read("1.5").is_err());
        for moment in [Moment::At(Timestamp::from_unix_ns(-5)), Moment::BeforeNow(Nanos::from_ms(1500))] {
            let text = serde_json::to_string(&moment).unwrap();
            assert_eq!(serde_json::from_str::<Moment>(&text).unwrap(), moment);
        }
    }
}
