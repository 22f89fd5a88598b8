//! What normal executions deviate by among themselves, and which deviations go beyond that.

use super::result::{Deviation, DeviationKind};
use crate::State;
use laggard_numeric::{Alternative, mann_whitney};
use std::collections::{BTreeMap, BTreeSet};

/// A deviation must be so many times the second largest of the normal ones.
const BEYOND: f64 = 1.5;

/// From so many normal executions on the largest is not believed: one of them may be faulty.
const NORMALS_MANY: usize = 10;

/// So many executions are compared with the normal ones together.
const TOGETHER_MIN: usize = 3;

/// Level of that comparison, for each kind and state.
const TOGETHER_LEVEL: f64 = 0.001;

pub(super) type Group = (DeviationKind, State);

/// How much normal executions deviate, by kind and state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limits {
    groups: BTreeMap<Group, Measures>,
    /// The largest of any state.
    largest: BTreeMap<DeviationKind, f64>,
    /// The largest [`ratio`] of any slow state.
    ratio: f64,
    /// Sums of every normal execution that has any.
    sums: BTreeMap<Group, Vec<f64>>,
    normals: usize,
}

/// Measures of the deviations of one kind and state in one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Measures {
    count: f64,
    sum: f64,
    largest: f64,
}

/// What is compared: the time of what is unexpected, the excess of what is slow, the usual time of what is missing.
fn measure(deviation: &Deviation) -> f64 {
    match deviation.kind {
        DeviationKind::Unexpected => deviation.time_us,
        DeviationKind::Slow => deviation.excess_us,
        DeviationKind::Missing => deviation.usual_us,
    }
}

/// How many times as long as usual a slow step takes, as a logarithm: a short wait that takes ten times as long is less in
/// microseconds than a long one that takes twice as long, but stranger.
fn ratio(deviation: &Deviation) -> f64 {
    match deviation.kind {
        DeviationKind::Slow => deviation.time_us.ln_1p() - deviation.usual_us.ln_1p(),
        _ => 0.0,
    }
}

fn measures(deviations: &[Deviation]) -> BTreeMap<Group, Measures> {
    let mut groups: BTreeMap<Group, Measures> = BTreeMap::new();
    for deviation in deviations {
        let group = groups.entry((deviation.kind, deviation.state)).or_default();
        let measure = measure(deviation);
        group.count += 1.0;
        group.sum += measure;
        group.largest = group.largest.max(measure);
    }
    groups
}

impl Limits {
    /// From the deviations of each normal execution.
    pub(super) fn of(normals: &[Vec<Deviation>]) -> Limits {
        let all: Vec<BTreeMap<Group, Measures>> =
            normals.iter().map(|deviations| measures(deviations)).collect();
        let mut groups = BTreeMap::new();
        for &group in all.iter().flat_map(BTreeMap::keys) {
            let limit = |value: fn(&Measures) -> f64| {
                let values = all.iter().map(|measures| measures.get(&group).map_or(0.0, value));
                upper(values.collect())
            };
            groups.entry(group).or_insert_with(|| Measures {
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
            largest.insert(kind, upper(normals.iter().map(of_kind).collect()));
        }
        let mut sums: BTreeMap<Group, Vec<f64>> = BTreeMap::new();
        for (&group, measures) in all.iter().flatten() {
            sums.entry(group).or_default().push(measures.sum);
        }
        let ratio = upper(normals.iter().map(|found| found.iter().map(ratio).fold(0.0, f64::max)).collect());
        Limits { groups, largest, ratio, sums, normals: normals.len() }
    }

    /// The kinds and states of which several executions together have more than normal executions (one-sided
    /// Mann–Whitney of the sums); none of fewer than [`TOGETHER_MIN`] executions.
    pub(super) fn raised(&self, executions: &[Vec<Deviation>]) -> BTreeSet<Group> {
        let mut sums: BTreeMap<Group, Vec<f64>> = BTreeMap::new();
        if executions.len() < TOGETHER_MIN {
            return BTreeSet::new();
        }
        for (group, measures) in executions.iter().flat_map(|deviations| measures(deviations)) {
            sums.entry(group).or_default().push(measures.sum);
        }
        let is_raised = |group: &Group, mut found: Vec<f64>| {
            let mut normal = self.sums.get(group).cloned().unwrap_or_default();
            normal.resize(self.normals, 0.0);
            found.resize(executions.len(), 0.0);
            mann_whitney(&found, &normal, Alternative::Greater).p_value <= TOGETHER_LEVEL
        };
        sums.into_iter().filter_map(|(group, found)| is_raised(&group, found).then_some(group)).collect()
    }

    /// Keeps the deviations that are beyond what is normal, each for itself or all of its kind and state together, and
    /// that hold at least `excess_min_us` together; and those of a `raised` kind and state. A state that is new altogether need only hold that.
    pub(super) fn keep(
        &self,
        deviations: Vec<Deviation>,
        excess_min_us: f64,
        raised: &BTreeSet<Group>,
        is_new: impl Fn(State) -> bool,
    ) -> Vec<Deviation> {
        let found = measures(&deviations);
        let keeps = |deviation: &Deviation| {
            let group = (deviation.kind, deviation.state);
            let limit = self.groups.get(&group).copied().unwrap_or_default();
            let all = &found[&group];
            let is_beyond = all.count > BEYOND * limit.count || all.sum > BEYOND * limit.sum;
            let is_many = is_beyond && all.count > limit.count.max(1.0) && all.sum > limit.sum;
            let largest = self.largest.get(&deviation.kind).copied().unwrap_or_default();
            let is_large = measure(deviation) > (BEYOND * limit.largest).max(largest)
                || ratio(deviation) > BEYOND * self.ratio;
            (is_many || is_new(deviation.state) || raised.contains(&group)) && all.sum >= excess_min_us
                || is_large && measure(deviation) >= excess_min_us
        };
        deviations.into_iter().filter(keeps).collect()
    }
}

/// The largest value, or the second largest of many.
pub(super) fn upper(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let from_end = if values.len() >= NORMALS_MANY { 2 } else { 1 };
    values.len().checked_sub(from_end).map_or(0.0, |at| values[at])
}
