//! Lengths of time and other numbers with a range of their own.

use crate::FromText;
use laggard_model::{AdjustedCount, Nanos};
use laggard_samples::{LENGTH_MAX, LENGTH_MIN};
use laggard_settings::parse_length;

impl FromText for Nanos {
    fn from_text(text: &str) -> Result<Nanos, String> {
        parse_length(text)
    }
}

/// The length of a window of samples: 1 ms to 366 days.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowLength(pub Nanos);

impl FromText for WindowLength {
    fn from_text(text: &str) -> Result<WindowLength, String> {
        let window = parse_length(text)?;
        match (LENGTH_MIN..=LENGTH_MAX).contains(&window) {
            true => Ok(WindowLength(window)),
            false => Err(format!("a window of {text} is not between 1 ms and 366 days")),
        }
    }
}

/// Reads a number from 1: with zero suspects a report would call everything healthy.
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

/// A sampling probability: above 0, at most 1.
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
    fn windows_have_a_range() {
        assert_eq!(WindowLength::from_text("1.5h"), Ok(WindowLength(Nanos::from_secs(5400))));
        assert!(WindowLength::from_text("0").is_err());
        assert!(WindowLength::from_text("400d").is_err());
    }

    #[test]
    fn probabilities_are_above_0_and_at_most_1() {
        assert_eq!(Probability::from_text("0.25"), Ok(Probability(0.25)));
        for text in ["0", "1.1", "nan", "x"] {
            assert!(Probability::from_text(text).is_err(), "{text}");
        }
    }
}
