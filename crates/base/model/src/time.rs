//! Times are integers with their unit and origin in the type.

use std::fmt;

/// An instant: nanoseconds since the Unix epoch, on the clock of the host that recorded it.
///
/// Clocks of different hosts disagree. A difference of two timestamps means something only when both
/// come from the same clock; code that compares across clocks must bound the skew and say so.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Timestamp(i64);

/// A duration in nanoseconds, never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Nanos(u64);

/// A signed difference of two instants in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct SignedNanos(i64);

impl Timestamp {
    /// The earliest representable instant.
    pub const MIN: Timestamp = Timestamp(i64::MIN);
    /// The latest representable instant.
    pub const MAX: Timestamp = Timestamp(i64::MAX);

    /// The instant `ns` nanoseconds after the Unix epoch.
    pub const fn from_unix_ns(ns: i64) -> Timestamp {
        Timestamp(ns)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn unix_ns(self) -> i64 {
        self.0
    }

    /// `self - earlier`, saturating at the ends of the range.
    pub const fn since(self, earlier: Timestamp) -> SignedNanos {
        SignedNanos(self.0.saturating_sub(earlier.0))
    }

    /// This instant plus a length of time, saturating at [`Timestamp::MAX`].
    pub const fn plus(self, length: Nanos) -> Timestamp {
        Timestamp(self.0.saturating_add_unsigned(length.0))
    }

    /// This instant minus a length of time, saturating at [`Timestamp::MIN`].
    pub const fn minus(self, length: Nanos) -> Timestamp {
        Timestamp(self.0.saturating_sub_unsigned(length.0))
    }
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// A length of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Nanos {
        Nanos(ns)
    }

    /// A length of `us` microseconds, saturating.
    pub const fn from_us(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// A length of `ms` milliseconds, saturating.
    pub const fn from_ms(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// A length of `s` seconds, saturating.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s.saturating_mul(1_000_000_000))
    }

    /// The value in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// Milliseconds, rounded by floating point.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, saturating.
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// The difference, zero when `other` is longer.
    pub const fn minus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl SignedNanos {
    /// A difference of `ns` nanoseconds.
    pub const fn from_ns(ns: i64) -> SignedNanos {
        SignedNanos(ns)
    }

    /// The value in nanoseconds.
    pub const fn ns(self) -> i64 {
        self.0
    }

    /// The length when it is not negative.
    ///
    /// ```
    /// use laggard_model::{Nanos, SignedNanos};
    /// assert_eq!(SignedNanos::from_ns(5).non_negative(), Some(Nanos::from_ns(5)));
    /// assert_eq!(SignedNanos::from_ns(-1).non_negative(), None);
    /// ```
    pub const fn non_negative(self) -> Option<Nanos> {
        if self.0 < 0 { None } else { Some(Nanos(self.0 as u64)) }
    }

    /// The length without its sign.
    pub const fn magnitude(self) -> Nanos {
        Nanos(self.0.unsigned_abs())
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the unit a person would choose: `870 ns`, `12.4 µs`, `3.05 ms`, `1.20 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (ns / 1e3, "µs"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        match value {
            v if v < 9.995 => write!(f, "{v:.2} {unit}"),
            v if v < 99.95 => write!(f, "{v:.1} {unit}"),
            v => write!(f, "{v:.0} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate_instead_of_wrapping() {
        assert_eq!(Timestamp::MAX.since(Timestamp::MIN).ns(), i64::MAX);
        assert_eq!(Timestamp::MAX.plus(Nanos::from_ns(u64::MAX)), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.minus(Nanos::from_ns(1)), Timestamp::MIN);
    }

    #[test]
    fn durations_print_with_three_digits() {
        for (ns, text) in [
            (870, "870 ns"),
            (12_400, "12.4 µs"),
            (3_050_000, "3.05 ms"),
            (1_200_000_000, "1.20 s"),
            (999_999, "1000 µs"),
        ] {
            assert_eq!(Nanos::from_ns(ns).to_string(), text);
        }
    }
}
