//! What is usual for a kind of execution, and how far one is from it.

use laggard_numeric::{mad, median};

/// Values of a feature over the members of a kind: median, and median absolute deviation as the scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Usual {
    pub(crate) median: f64,
    /// `1.4826 * median |x - median|`.
    pub(crate) mad: f64,
    pub(crate) members: usize,
}

impl Usual {
    /// Of the given values; `None` of none.
    pub(crate) fn of(values: &mut [f64]) -> Option<Usual> {
        if values.is_empty() {
            return None;
        }
        let median = median(values);
        Some(Usual { median, mad: mad(values, median), members: values.len() })
    }

    /// Deviation of a value in scale units. Where few members made the scale it leans on `pooled`, that of all kinds, and
    /// the median's own error counts too; `floor` keeps a kind that does not vary from making everything infinite.
    pub(crate) fn score(&self, value: f64, pooled: f64, floor: f64) -> f64 {
        let members = self.members as f64;
        let squares = (members * self.mad * self.mad + LEAN * pooled * pooled) / (members + LEAN);
        // Variance of a median is about pi / 2 times that of a mean.
        let scale = squares.sqrt().max(floor) * (1.0 + std::f64::consts::FRAC_PI_2 / members).sqrt();
        (value - self.median) / scale
    }
}

/// Members' worth of the pooled scale.
const LEAN: f64 = 5.0;

/// Members above which leaving one out changes nothing worth its cost.
const LEFT_OUT_MAX: usize = 400;

/// What is usual for each member of a kind in the eyes of the others; `None` where there is no other.
pub(crate) fn left_out(values: &[f64]) -> Vec<Option<Usual>> {
    if values.len() > LEFT_OUT_MAX {
        return vec![Usual::of(&mut values.to_vec()); values.len()];
    }
    let without = |at: usize| {
        let mut others = [&values[..at], &values[at + 1..]].concat();
        Usual::of(&mut others)
    };
    (0..values.len()).map(without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hand_worked() {
        let usual = Usual::of(&mut [1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
        assert_eq!((usual.median, usual.members), (3.0, 5));
        assert!((usual.mad - 1.4826).abs() < 1e-12);
        let left = left_out(&[1.0, 2.0, 9.0]);
        assert_eq!(left[2].unwrap().median, 1.5);
        assert_eq!(left_out(&[1.0]), [None]);
    }

    #[test]
    fn few_members_lean_on_the_pooled_scale() {
        let usual = Usual { median: 0.0, mad: 0.0, members: 5 };
        // Scale: sqrt((0 + 5 * 4) / 10) * sqrt(1 + pi / 10).
        let expected = 1.0 / (2.0_f64.sqrt() * (1.0 + std::f64::consts::PI / 10.0).sqrt());
        assert!((usual.score(1.0, 2.0, 0.1) - expected).abs() < 1e-12);
        assert!(usual.score(1.0, 0.0, 0.1).is_finite());
    }
}
