//! Median and scale of a feature over a kind, and the deviation of a value from them.

use laggard_numeric::{mad, median};

/// Values of a feature over the members of a kind: median, and median absolute deviation as the scale.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ReferenceScale {
    pub(crate) median: f64,
    /// `1.4826 * median |x - median|`.
    pub(crate) mad: f64,
    pub(crate) members: usize,
}

impl ReferenceScale {
    /// `None` if `values` is empty.
    pub(crate) fn from_values(values: &mut [f64]) -> Option<ReferenceScale> {
        if values.is_empty() {
            return None;
        }
        let median = median(values);
        Some(ReferenceScale { median, mad: mad(values, median), members: values.len() })
    }

    /// Deviation of a value in scale units. With few members the scale is combined with `pooled`, that of all kinds,
    /// and includes the median's error; `floor` is the minimum scale, for kinds without variance.
    pub(crate) fn score(&self, value: f64, pooled: f64, floor: f64) -> f64 {
        let members = self.members as f64;
        let squares =
            (members * self.mad * self.mad + POOLED_WEIGHT * pooled * pooled) / (members + POOLED_WEIGHT);
        // Variance of a median is about pi / 2 times that of a mean.
        let scale = squares.sqrt().max(floor) * (1.0 + std::f64::consts::FRAC_PI_2 / members).sqrt();
        (value - self.median) / scale
    }
}

/// Weight of the pooled scale, in members.
const POOLED_WEIGHT: f64 = 5.0;

/// With more members than this, leave-one-out is not worth its cost.
const LEFT_OUT_MAX: usize = 400;

/// Median and scale for each member of a kind, computed from the others; `None` if there are no others.
pub(crate) fn left_out(values: &[f64]) -> Vec<Option<ReferenceScale>> {
    if values.len() > LEFT_OUT_MAX {
        return vec![ReferenceScale::from_values(&mut values.to_vec()); values.len()];
    }
    let without = |index: usize| {
        let mut others = [&values[..index], &values[index + 1..]].concat();
        ReferenceScale::from_values(&mut others)
    };
    (0..values.len()).map(without).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_scale_of_a_small_sample() {
        let scale = ReferenceScale::from_values(&mut [1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
        assert_eq!((scale.median, scale.members), (3.0, 5));
        assert!((scale.mad - 1.4826).abs() < 1e-12);
        let scales = left_out(&[1.0, 2.0, 9.0]);
        assert_eq!(scales[2].unwrap().median, 1.5);
        assert_eq!(left_out(&[1.0]), [None]);
    }

    #[test]
    fn the_pooled_scale_has_weight_for_few_members() {
        let scale = ReferenceScale { median: 0.0, mad: 0.0, members: 5 };
        // Scale: sqrt((0 + 5 * 4) / 10) * sqrt(1 + pi / 10).
        let expected = 1.0 / (2.0_f64.sqrt() * (1.0 + std::f64::consts::PI / 10.0).sqrt());
        assert!((scale.score(1.0, 2.0, 0.1) - expected).abs() < 1e-12);
        assert!(scale.score(1.0, 0.0, 0.1).is_finite());
    }
}
