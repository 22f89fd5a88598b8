//! Total deviation of an execution, before limits are applied.

use super::result::{Deviation, DeviationKind};
use std::collections::BTreeMap;

/// Totals of all deviations of an execution, reported or not.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct DeviationMeasure {
    /// Time of all unexpected steps plus excess of all slow steps, in microseconds.
    pub excess_us: f64,
    /// The largest of these times.
    pub largest_us: f64,
    /// Maximum of `ln(time / usual)` over the slow steps; steps with little excess are ignored.
    pub slowest_ratio: f64,
    /// Maximum over states of the number of unexpected steps.
    pub unexpected: usize,
}

/// The measure of a normal execution, compared with the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NormalMeasure {
    /// Its index in the input of [`super::align_cluster`].
    pub normal: usize,
    /// The totals of its deviations.
    pub measure: DeviationMeasure,
}

/// Minimum excess of a step, as a share of the usual total time, for its ratio to be used.
const RATIO_SHARE_MIN: f64 = 0.02;

impl DeviationMeasure {
    /// `total_us`: usual total time.
    pub(super) fn from_deviations(deviations: &[Deviation], total_us: f64) -> DeviationMeasure {
        let mut measure = DeviationMeasure::default();
        let mut unexpected: BTreeMap<crate::StateId, usize> = BTreeMap::new();
        for deviation in deviations {
            measure.excess_us += deviation.excess_us;
            measure.largest_us = measure.largest_us.max(deviation.excess_us);
            if deviation.kind == DeviationKind::Slow && deviation.excess_us > RATIO_SHARE_MIN * total_us {
                let ratio = (deviation.time_us.ln_1p() - deviation.usual_us.ln_1p()).max(0.0);
                measure.slowest_ratio = measure.slowest_ratio.max(ratio);
            }
            if deviation.kind == DeviationKind::Unexpected {
                *unexpected.entry(deviation.state).or_default() += 1;
            }
        }
        measure.unexpected = unexpected.into_values().max().unwrap_or(0);
        measure
    }
}
