//! Step 6: which times changed relative to the others, at any load.

use super::cost_comparison::{CostComparison, TimePair};
use laggard_numeric::median;

/// Number of standard errors of a type's proportion.
const PROPORTION_ERRORS: f64 = 4.0;

/// Types whose times changed if those of the others did by a common factor.
pub(super) struct Proportions<'a> {
    /// Each with the logarithm of its own factor.
    pub(super) changed: Vec<(&'a TimePair, f64)>,
}

impl<'a> Proportions<'a> {
    pub(super) fn new(costs: &'a CostComparison, common: f64, least: f64) -> Proportions<'a> {
        let own = |pair: &'a TimePair| (pair, pair.log_ratio - common);
        let is_changed =
            |(pair, own): &(&TimePair, f64)| own.abs() > least.max(PROPORTION_ERRORS * pair.standard_error);
        Proportions { changed: costs.times.iter().map(own).filter(is_changed).collect() }
    }

    /// The seconds of CPU by which the changed types would differ.
    pub(super) fn differences(&self, costs: &CostComparison) -> Vec<(usize, f64)> {
        let difference =
            |(pair, own): &(&TimePair, f64)| (pair.transaction, costs.difference_s(pair.transaction, *own));
        self.changed.iter().map(difference).collect()
    }

    /// By how many standard errors the CPU differs from what the changed times predict, or from no change, whichever is
    /// nearer.
    pub(super) fn misfit(&self, costs: &CostComparison) -> f64 {
        let predicted = costs.log_ratio_of(&self.differences(costs));
        (costs.cpu.log_ratio - predicted).abs() / costs.prediction_error(predicted)
    }
}

/// Possible common ratios of the times: the median; of two types, either of them.
pub(super) fn common_ratios(times: &[TimePair]) -> Vec<f64> {
    let mut ratios: Vec<f64> = times.iter().map(|pair| pair.log_ratio).collect();
    match ratios.len() {
        0 | 1 => Vec::new(),
        2 => ratios,
        _ => vec![median(&mut ratios)],
    }
}
