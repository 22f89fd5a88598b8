//! Which operations take longer, or are called more often, in requests of the same kind.

use super::stratified::{Shift, Stratum, median_difference, stratified_shift, stratified_test};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{benjamini_hochberg, median};
use std::collections::BTreeMap;

/// The calls of one operation by one request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OperationObservation {
    /// The request's category.
    pub category: Fingerprint,
    /// The operation the request enters at.
    pub entry: OperationId,
    /// Self time over all its calls of the operation, nanoseconds.
    pub self_ns: u64,
    /// Number of the request's calls of the operation; at least 1.
    pub calls: u32,
}

impl OperationObservation {
    /// Calls of a request of this category and entry: their self time in nanoseconds, and their number.
    pub fn new(
        category: Fingerprint,
        entry: OperationId,
        (self_ns, calls): (u64, u32),
    ) -> OperationObservation {
        OperationObservation { category, entry, self_ns, calls }
    }
}

/// Observations of one operation in both sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationPair {
    /// The operation.
    pub operation: OperationId,
    /// Observations before.
    pub before: Vec<OperationObservation>,
    /// Observations after.
    pub after: Vec<OperationObservation>,
}

/// The compared quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Self time per call: the mean over a request's calls.
    TimePerCall,
    /// Calls per request, among requests that call the operation at all.
    CallsPerRequest,
}

/// How requests are grouped for the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strata {
    /// By category.
    Category,
    /// By entry operation, where too few categories are in both sets.
    Entry,
}

/// How one operation moved in one measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperationShift {
    /// The compared quantity.
    pub measure: Measure,
    /// How requests were grouped.
    pub strata: Strata,
    /// Requests before that had a counterpart.
    pub compared_before: u64,
    /// Requests after that had a counterpart.
    pub compared_after: u64,
    /// Median before, in the unit of the measure.
    pub median_before: f64,
    /// Median after.
    pub median_after: f64,
    /// The shift, in nanoseconds per call or calls per request; `None` when nothing could be compared.
    pub shift: Option<Shift>,
    /// Median ratio of two requests of the same kind, after over before.
    pub ratio: Option<f64>,
    /// Probability that a request after exceeds one before.
    pub effect: f64,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// The p-value after Benjamini–Hochberg over all operations and measures.
    pub p_adjusted: f64,
}

/// Logarithms are rounded to multiples of this, 1e-9.
const LOG_UNIT: f64 = 1e-9;

/// The median ratio of two requests of one stratum, after over before: the Hodges–Lehmann shift of the
/// logarithms. Values below 1 count as 1.
fn ratio(strata: &[Stratum]) -> Option<f64> {
    let logs = |values: &[u64]| -> Vec<u64> {
        values.iter().map(|&value| ((value.max(1) as f64).ln() / LOG_UNIT).round() as u64).collect()
    };
    let mut strata: Vec<Stratum> = strata
        .iter()
        .map(|stratum| Stratum { before: logs(&stratum.before), after: logs(&stratum.after) })
        .collect();
    Some((median_difference(&mut strata)? * LOG_UNIT).exp())
}

/// Compares operations in time per call and in calls per request: two shifts per pair, in input order.
///
/// Requests are compared with those of the same category where at least half of the smaller set's requests
/// have a counterpart there, otherwise with those that enter at the same operation; calls per request always
/// by entry, because a category fixes most of them. Time `O(N log N)` in the observations.
pub fn compare_operations(pairs: &[OperationPair]) -> Vec<[OperationShift; 2]> {
    let compare =
        |pair: &OperationPair| [compare(pair, Measure::TimePerCall), compare(pair, Measure::CallsPerRequest)];
    let mut shifts: Vec<[OperationShift; 2]> = pairs.iter().map(compare).collect();
    let p: Vec<f64> = shifts.iter().flatten().map(|shift| shift.p_value).collect();
    let adjusted = benjamini_hochberg(&p);
    shifts.iter_mut().flatten().zip(adjusted).for_each(|(shift, p_adjusted)| shift.p_adjusted = p_adjusted);
    shifts
}

/// Strata by category if enough requests have a counterpart there, else by entry.
pub(super) fn strata_within(pair: &OperationPair, measure: Measure) -> (Strata, Vec<Stratum>) {
    let by_category = match measure {
        Measure::TimePerCall => Some(strata_of(pair, measure, Strata::Category)),
        Measure::CallsPerRequest => None,
    };
    let smaller = pair.before.len().min(pair.after.len());
    let enough = |strata: &Vec<Stratum>| {
        let [before, after] = sizes(strata);
        2 * before.min(after) >= smaller
    };
    match by_category.filter(enough) {
        Some(strata) => (Strata::Category, strata),
        None => (Strata::Entry, strata_of(pair, measure, Strata::Entry)),
    }
}

fn compare(pair: &OperationPair, measure: Measure) -> OperationShift {
    let (kind, mut strata) = strata_within(pair, measure);
    let test = stratified_test(&strata);
    let shift = stratified_shift(&mut strata);
    let [compared_before, compared_after] = sizes(&strata).map(|size| size as u64);
    let middle = |side: fn(&Stratum) -> &Vec<u64>| {
        let mut values: Vec<f64> = strata.iter().flat_map(side).map(|&value| value as f64).collect();
        median(&mut values)
    };
    OperationShift {
        measure,
        strata: kind,
        compared_before,
        compared_after,
        median_before: middle(|stratum| &stratum.before),
        median_after: middle(|stratum| &stratum.after),
        shift,
        ratio: ratio(&strata),
        effect: test.effect,
        p_value: test.p_value,
        p_adjusted: 1.0,
    }
}

/// Strata with values of both sets, in the order of their keys.
fn strata_of(pair: &OperationPair, measure: Measure, kind: Strata) -> Vec<Stratum> {
    let key = |observation: &OperationObservation| match kind {
        Strata::Category => observation.category,
        Strata::Entry => Fingerprint::from_value(observation.entry.index() as u128),
    };
    let value = |observation: &OperationObservation| match measure {
        Measure::TimePerCall => observation.self_ns / u64::from(observation.calls.max(1)),
        Measure::CallsPerRequest => u64::from(observation.calls),
    };
    let mut strata: BTreeMap<Fingerprint, Stratum> = BTreeMap::new();
    for observation in &pair.before {
        strata.entry(key(observation)).or_default().before.push(value(observation));
    }
    for observation in &pair.after {
        strata.entry(key(observation)).or_default().after.push(value(observation));
    }
    let shared = strata.into_values().filter(|at| !at.before.is_empty() && !at.after.is_empty());
    shared.collect()
}

fn sizes(strata: &[Stratum]) -> [usize; 2] {
    let sum = |size: fn(&Stratum) -> usize| strata.iter().map(size).sum();
    [sum(|stratum| stratum.before.len()), sum(|stratum| stratum.after.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(category: u128, entry: usize, self_ns: u64, calls: u32) -> OperationObservation {
        let (category, entry) = (Fingerprint::from_value(category), OperationId::from_index(entry));
        OperationObservation { category, entry, self_ns, calls }
    }

    fn pair(before: Vec<OperationObservation>, after: Vec<OperationObservation>) -> OperationPair {
        OperationPair { operation: OperationId::from_index(7), before, after }
    }

    #[test]
    fn slower_requests_are_distinguished_from_other_requests() {
        let fast = |n: u64| (0..n).map(|i| observation(1, 0, 1_000 + i * 7 % 50, 1));
        let slow = |n: u64| (0..n).map(|i| observation(2, 0, 9_000 + i * 7 % 50, 1));
        let moved = pair(fast(60).chain(slow(20)).collect(), fast(20).chain(slow(60)).collect());
        let slower = pair(
            fast(60).collect(),
            fast(60)
                .map(|observation| OperationObservation { self_ns: observation.self_ns + 300, ..observation })
                .collect(),
        );
        let shifts = compare_operations(&[moved, slower]);
        assert_eq!(shifts[0][0].strata, Strata::Category);
        assert!(shifts[0][0].p_adjusted > 0.05, "{:?}", shifts[0][0]);
        let shift = shifts[1][0];
        assert!(shift.p_adjusted < 1e-9 && shift.shift.unwrap().estimate == 300.0);
        assert!((shift.ratio.unwrap() - 1.29).abs() < 0.01);
        assert_eq!(shifts[1][1].p_value, 1.0, "one call each");
    }

    #[test]
    fn more_calls_are_detected_while_the_time_per_call_is_unchanged() {
        let calls = |n: u32, each: u32| {
            (0..n).map(move |i| observation(1, 0, u64::from(i % 9 + 100) * 3 * u64::from(each), 3 * each))
        };
        let [time, counts] = compare_operations(&[pair(calls(40, 1).collect(), calls(40, 2).collect())])[0];
        assert_eq!((counts.median_before, counts.median_after), (3.0, 6.0));
        assert!(counts.p_adjusted < 1e-9 && time.p_adjusted > 0.9);
    }

    #[test]
    fn without_common_categories_entries_are_compared() {
        let before = (0..20).map(|i| observation(i, 0, 100 + i as u64, 1)).collect();
        let after = (100..120).map(|i| observation(i, 0, 100 + i as u64, 1)).collect();
        let [time, _] = compare_operations(&[pair(before, after)])[0];
        assert_eq!((time.strata, time.compared_before, time.compared_after), (Strata::Entry, 20, 20));
        assert!(time.p_value < 1e-6);
    }

    #[test]
    fn a_new_operation_is_not_compared() {
        let [time, calls] = compare_operations(&[pair(vec![], vec![observation(1, 0, 5, 1)])])[0];
        assert_eq!((time.shift, time.p_value, calls.shift, time.ratio), (None, 1.0, None, None));
    }
}
