//! Times and numbers as people write them.

use std::fmt;

/// A time in nanoseconds, written with three digits at most: `950 ns`, `9.8 ms`, `12 ms`, `1.25 s`.
pub(crate) struct Time(pub(crate) u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        // Rounded first, so that 999.96 µs becomes 1 ms and not 1000 µs.
        let (value, unit) = match ns {
            ns if ns < 999.5 => (ns, "ns"),
            ns if ns < 999.5e3 => (ns / 1e3, "µs"),
            ns if ns < 999.5e6 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        let decimals = match value {
            value if value >= 9.995 => 0,
            _ if unit == "ns" => 0,
            value if unit != "s" && value >= 0.995 => 1,
            _ => 2,
        };
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} {unit}")
    }
}

/// How often: `once`, `twice`, `14 times`.
pub(crate) struct Times(pub(crate) u64);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("once"),
            2 => f.write_str("twice"),
            count => write!(f, "{count} times"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_digits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_250, "1.2 µs"),
            (9_990, "10 µs"),
            (9_800_000, "9.8 ms"),
            (12_040_000, "12 ms"),
            (999_600, "1 ms"),
            (1_000_000, "1 ms"),
            (3_050_000, "3 ms"),
            (1_254_000_000, "1.25 s"),
            (61_000_000_000, "61 s"),
        ] {
            assert_eq!(Time(ns).to_string(), text, "{ns}");
        }
    }

    #[test]
    fn numbers_of_times() {
        let texts = [1, 2, 14].map(|count| Times(count).to_string());
        assert_eq!(texts, ["once", "twice", "14 times"]);
    }
}
