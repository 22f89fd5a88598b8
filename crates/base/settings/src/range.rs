//! Ranges of settings.

use std::fmt;

/// An interval of numbers; lengths of time count in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Whether the lower end itself is outside.
    pub low_is_open: bool,
    /// Upper end; `f64::MAX` for none.
    pub high: f64,
    /// Whether the upper end itself is outside.
    pub high_is_open: bool,
}

/// `low` or more.
pub const fn at_least(low: f64) -> Range {
    within(low, f64::MAX)
}

/// From `low` to `high`, both included.
pub const fn within(low: f64, high: f64) -> Range {
    Range { low, low_is_open: false, high, high_is_open: false }
}

/// More than `low`.
pub const fn above(low: f64) -> Range {
    above_to(low, f64::MAX)
}

/// More than `low`, at most `high`.
pub const fn above_to(low: f64, high: f64) -> Range {
    Range { low, low_is_open: true, high, high_is_open: false }
}

/// More than `low` and less than `high`.
pub const fn between(low: f64, high: f64) -> Range {
    Range { low, low_is_open: true, high, high_is_open: true }
}

/// For settings that are one of several words.
pub const fn choice() -> Range {
    any()
}

/// For settings without a number, which may have every value of their type.
pub const fn any() -> Range {
    within(f64::MIN, f64::MAX)
}

impl Range {
    /// Whether a number is inside; NaN never is.
    pub fn contains(&self, number: f64) -> bool {
        let from = if self.low_is_open { number > self.low } else { number >= self.low };
        from && if self.high_is_open { number < self.high } else { number <= self.high }
    }

    /// The range in words, its ends as `number_text` writes them; empty for [`any`].
    pub fn text(self, number_text: fn(f64) -> String) -> String {
        if self == any() {
            return String::new();
        }
        let (low, high) = (number_text(self.low), number_text(self.high));
        match (self.low_is_open, self.high_is_open, self.high < f64::MAX) {
            (false, _, false) => format!("at least {low}"),
            (true, _, false) => format!("above {low}"),
            (false, false, true) => format!("{low} to {high}"),
            (true, false, true) => format!("above {low}, at most {high}"),
            (true, true, true) => format!("above {low}, below {high}"),
            (false, true, true) => format!("at least {low}, below {high}"),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|number| number.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_ends_are_inclusive_or_exclusive_as_written() {
        for (range, inside, outside, text) in [
            (at_least(1.0), vec![1.0, 1e300], vec![0.9, f64::INFINITY], "at least 1"),
            (within(0.0, 1.0), vec![0.0, 1.0], vec![-0.1, 1.1], "0 to 1"),
            (above(0.0), vec![1e-300], vec![0.0], "above 0"),
            (above_to(0.0, 0.5), vec![0.5], vec![0.0, 0.6], "above 0, at most 0.5"),
            (between(0.0, 1.0), vec![0.5], vec![0.0, 1.0], "above 0, below 1"),
        ] {
            assert_eq!(range.to_string(), text);
            assert!(inside.iter().all(|&number| range.contains(number)), "{text}");
            assert!(!outside.iter().any(|&number| range.contains(number)), "{text}");
            assert!(!range.contains(f64::NAN), "{text}");
        }
    }
}
