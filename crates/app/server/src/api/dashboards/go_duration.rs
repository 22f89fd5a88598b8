//! Durations as Go writes them: `1h30m`, `1.5ms`, `100us`.

use laggard_model::Nanos;

/// Units in nanoseconds, longer names first.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12)];

/// Reads a duration; `None` if it is not one, or longer than 584 years.
pub(super) fn parse(text: &str) -> Option<Nanos> {
    let (mut rest, mut ns) = (text, 0.0);
    if text == "0" {
        return Some(Nanos::ZERO);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, factor) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        ns += value * factor;
    }
    (!text.is_empty() && ns <= u64::MAX as f64).then_some(Nanos::from_ns(ns.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_or_several_units() {
        let ns = |text: &str| parse(text).map(Nanos::ns);
        for (text, expected) in [
            ("1h30m", 5_400_000_000_000),
            ("1.5ms", 1_500_000),
            ("100us", 100_000),
            ("2µs", 2_000),
            ("7ns", 7),
            ("1m0.5s", 60_500_000_000),
            ("0", 0),
        ] {
            assert_eq!(ns(text), Some(expected), "{text}");
        }
        for text in ["", "5", "ms", "1x", "-1s", "1.2.3s", "1s2", "9999999999h"] {
            assert_eq!(ns(text), None, "{text}");
        }
    }
}
