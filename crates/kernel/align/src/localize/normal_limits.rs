//! Limits from the deviations of normal executions among themselves, and the deviations that exceed them.

use super::result::{Deviation, DeviationKind};
use crate::StateId;
use laggard_numeric::{Alternative, mann_whitney};
use std::collections::{BTreeMap, BTreeSet};

/// A deviation must exceed the second largest normal one by this factor.
const BEYOND: f64 = 1.5;

/// From this number of normal executions on, the largest deviation is ignored: one of them may be faulty.
const NORMALS_MANY: usize = 10;

/// Minimum number of executions for a pooled comparison.
const POOLED_MIN: usize = 3;

/// Significance level of the pooled comparison, for each kind and state.
const POOLED_LEVEL: f64 = 0.001;

pub(super) type DeviationGroup = (DeviationKind, StateId);

/// Deviations of normal executions, by kind of deviation and state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NormalLimits {
    groups: BTreeMap<DeviationGroup, DeviationTotals>,
    /// The largest of any state.
    largest: BTreeMap<DeviationKind, f64>,
    /// The largest [`ratio`] of any slow state.
    ratio: f64,
    /// Sums of every normal execution that has any.
    sums: BTreeMap<DeviationGroup, Vec<f64>>,
    normals: usize,
}

/// Totals of the deviations of one kind and state in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct DeviationTotals {
    count: f64,
    sum: f64,
    largest: f64,
}

/// The compared quantity: the time of an unexpected step, the excess of a slow one, the usual time of a missing one.
fn measure(deviation: &Deviation) -> f64 {
    match deviation.kind {
        DeviationKind::Unexpected => deviation.time_us,
        DeviationKind::Slow => deviation.excess_us,
        DeviationKind::Missing => deviation.usual_us,
    }
}

/// Logarithm of a slow step's time over its usual time. A short wait that takes ten times as long is a smaller excess
/// than a long one that takes twice as long, but a larger anomaly.
fn ratio(deviation: &Deviation) -> f64 {
    match deviation.kind {
        DeviationKind::Slow => deviation.time_us.ln_1p() - deviation.usual_us.ln_1p(),
        _ => 0.0,
    }
}

fn measures(deviations: &[Deviation]) -> BTreeMap<DeviationGroup, DeviationTotals> {
    let mut groups: BTreeMap<DeviationGroup, DeviationTotals> = BTreeMap::new();
    for deviation in deviations {
        let group = groups.entry((deviation.kind, deviation.state)).or_default();
        let measure = measure(deviation);
        group.count += 1.0;
        group.sum += measure;
        group.largest = group.largest.max(measure);
    }
    groups
}

impl NormalLimits {
    /// Computes the limits from the deviations of each normal execution.
    pub(super) fn from_deviations(normals: &[Vec<Deviation>]) -> NormalLimits {
        let all: Vec<BTreeMap<DeviationGroup, DeviationTotals>> =
            normals.iter().map(|deviations| measures(deviations)).collect();
        let mut groups = BTreeMap::new();
        for &group in all.iter().flat_map(BTreeMap::keys) {
            let limit = |value: fn(&DeviationTotals) -> f64| {
                let values = all.iter().map(|measures| measures.get(&group).map_or(0.0, value));
                robust_maximum(values.collect())
            };
            groups.entry(group).or_insert_with(|| DeviationTotals {
                count: limit(|measures| measures.count),
                sum: limit(|measures| measures.sum),
                largest: limit(|measures| measures.largest),
            });
        }
        let mut largest = BTreeMap::new();
        for kind in [DeviationKind::Unexpected, DeviationKind::Missing, DeviationKind::Slow] {
            let of_kind = |deviations: &Vec<Deviation>| {
                deviations.iter().filter(|deviation| deviation.kind == kind).map(measure).fold(0.0, f64::max)
            };
            largest.insert(kind, robust_maximum(normals.iter().map(of_kind).collect()));
        }
        let mut sums: BTreeMap<DeviationGroup, Vec<f64>> = BTreeMap::new();
        for (&group, measures) in all.iter().flatten() {
            sums.entry(group).or_default().push(measures.sum);
        }
        let ratio = robust_maximum(
            normals.iter().map(|measured| measured.iter().map(ratio).fold(0.0, f64::max)).collect(),
        );
        NormalLimits { groups, largest, ratio, sums, normals: normals.len() }
    }

    /// The kinds and states in which several executions, pooled, have more than normal executions (one-sided
    /// Mann–Whitney of the sums); none of fewer than [`POOLED_MIN`] executions.
    pub(super) fn raised(&self, executions: &[Vec<Deviation>]) -> BTreeSet<DeviationGroup> {
        let mut sums: BTreeMap<DeviationGroup, Vec<f64>> = BTreeMap::new();
        if executions.len() < POOLED_MIN {
            return BTreeSet::new();
        }
        for (group, measures) in executions.iter().flat_map(|deviations| measures(deviations)) {
            sums.entry(group).or_default().push(measures.sum);
        }
        let is_raised = |group: &DeviationGroup, mut measured: Vec<f64>| {
            let mut normal = self.sums.get(group).cloned().unwrap_or_default();
            normal.resize(self.normals, 0.0);
            measured.resize(executions.len(), 0.0);
            mann_whitney(&measured, &normal, Alternative::Greater).p_value <= POOLED_LEVEL
        };
        sums.into_iter()
            .filter_map(|(group, measured)| is_raised(&group, measured).then_some(group))
            .collect()
    }

    /// Retains deviations that exceed the normal limits, individually or summed over their kind and state, and whose
    /// sum is at least `excess_min_us`; also those of a `raised` kind and state. For a state that never occurs in
    /// normal executions the minimum sum suffices.
    pub(super) fn retain_abnormal(
        &self,
        deviations: Vec<Deviation>,
        excess_min_us: f64,
        raised: &BTreeSet<DeviationGroup>,
        is_new: impl Fn(StateId) -> bool,
    ) -> Vec<Deviation> {
        let measured = measures(&deviations);
        let is_abnormal = |deviation: &Deviation| {
            let group = (deviation.kind, deviation.state);
            let limit = self.groups.get(&group).copied().unwrap_or_default();
            let all = &measured[&group];
            let is_beyond = all.count > BEYOND * limit.count || all.sum > BEYOND * limit.sum;
            let is_many = is_beyond && all.count > limit.count.max(1.0) && all.sum > limit.sum;
            let largest = self.largest.get(&deviation.kind).copied().unwrap_or_default();
            let is_large = measure(deviation) > (BEYOND * limit.largest).max(largest)
                || ratio(deviation) > BEYOND * self.ratio;
            (is_many || is_new(deviation.state) || raised.contains(&group)) && all.sum >= excess_min_us
                || is_large && measure(deviation) >= excess_min_us
        };
        deviations.into_iter().filter(is_abnormal).collect()
    }
}

/// The largest value, or the second largest of many.
pub(super) fn robust_maximum(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let from_end = if values.len() >= NORMALS_MANY { 2 } else { 1 };
    values.len().checked_sub(from_end).map_or(0.0, |index| values[index])
}
