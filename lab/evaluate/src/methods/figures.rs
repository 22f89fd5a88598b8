//! Small statistics that the re-implemented methods share.

/// Mean and standard deviation of a population.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) count: u64,
    pub(crate) mean: f64,
    sum_of_squares: f64,
}

impl Spread {
    /// Adds one more value (Welford's update, stable for any size of values).
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.sum_of_squares += before * (value - self.mean);
    }

    /// Standard deviation; 0 for fewer than two values.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.sum_of_squares / self.count as f64).sqrt() }
    }
}

/// Nearest-rank quantile of values in any order; `None` without values.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let rank = (share * values.len() as f64).ceil() as usize;
    let index = rank.clamp(1, values.len()) - 1;
    Some(*values.select_nth_unstable_by(index, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_by_hand() {
        let mut spread = Spread::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| spread.add(value));
        assert_eq!((spread.count, spread.mean), (8, 5.0));
        assert!((spread.deviation() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_by_hand() {
        let mut values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&mut values, 0.5), Some(2.0));
        assert_eq!(quantile(&mut values, 0.95), Some(4.0));
        assert_eq!(quantile(&mut values, 0.0), Some(1.0));
        assert_eq!(quantile(&mut [], 0.5), None);
    }
}
