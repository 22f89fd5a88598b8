//! Lengths of time and other numbers as people type them.

use crate::FromText;
use laggard_model::{AdjustedCount, Nanos};
use laggard_samples::{LENGTH_MAX, LENGTH_MIN};

/// Reads `60s`, `5m`, `1h`, `1d`, `500ms`, `250us`, `10ns`, or a number of seconds.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn length(text: &str) -> Result<Nanos, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let nanoseconds = match unit.trim() {
        "" | "s" | "sec" => 1e9,
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return Err(format!("{text:?} is not a length of time; write 60s, 5m, 1h or 500ms")),
    };
    match number.parse::<f64>() {
        Ok(number) if (number * nanoseconds).is_finite() => {
            Ok(Nanos::from_ns((number * nanoseconds).round() as u64))
        }
        _ => Err(format!("{text:?} is not a length of time; write 60s, 5m, 1h or 500ms")),
    }
}

impl FromText for Nanos {
    fn from_text(text: &str) -> Result<Nanos, String> {
        length(text)
    }
}

/// The length of a window of samples: 1 ms to 366 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowLength(pub Nanos);

impl FromText for WindowLength {
    fn from_text(text: &str) -> Result<WindowLength, String> {
        let window = length(text)?;
        match (LENGTH_MIN..=LENGTH_MAX).contains(&window) {
            true => Ok(WindowLength(window)),
            false => Err(format!("a window of {text} is not between 1 ms and 366 days")),
        }
    }
}

/// A number from 1: without room for any suspect a report would call everything healthy.
///
/// # Errors
/// What to write instead.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// A number from 1, wherever it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtLeastOne(pub usize);

impl FromText for AtLeastOne {
    fn from_text(text: &str) -> Result<AtLeastOne, String> {
        at_least_one(text).map(AtLeastOne)
    }
}

/// A sampling probability that something can have been kept with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probability(pub f64);

impl FromText for Probability {
    fn from_text(text: &str) -> Result<Probability, String> {
        let known = text.parse().ok().filter(|&number| AdjustedCount::from_probability(number).is_some());
        known.map(Probability).ok_or_else(|| "write a number above 0 and at most 1".to_owned())
    }
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
            ("1d", 86_400.0),
            ("250us", 250e-6),
            ("7ns", 7e-9),
        ] {
            assert_eq!(length(text), Ok(Nanos::from_ns((seconds * 1e9_f64).round() as u64)), "{text}");
        }
        for text in ["", "s", "5 weeks", "-1s", "1e3s", "nan"] {
            assert!(length(text).is_err(), "{text}");
        }
        assert!(WindowLength::from_text("0").is_err());
        assert!(WindowLength::from_text("400d").is_err());
    }

    #[test]
    fn probabilities_are_above_none_and_at_most_all() {
        assert_eq!(Probability::from_text("0.25"), Ok(Probability(0.25)));
        for text in ["0", "1.1", "nan", "x"] {
            assert!(Probability::from_text(text).is_err(), "{text}");
        }
    }
}
