//! Which operations take longer, or are called more often, in requests of the same kind.

use super::stratified::{Shift, Stratum, stratified_shift, stratified_test};
use laggard_model::{Fingerprint, OperationId};
use laggard_numeric::{benjamini_hochberg, median};
use std::collections::BTreeMap;

/// One request that calls an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OperationObservation {
    /// The request's category.
    pub category: Fingerprint,
    /// The operation the request enters at.
    pub entry: OperationId,
    /// Self time over all its calls of the operation, nanoseconds.
    pub self_ns: u64,
    /// Its calls of the operation; at least 1.
    pub calls: u32,
}

/// Observations of one operation in both sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationPair {
    /// The operation.
    pub operation: OperationId,
    /// Before.
    pub before: Vec<OperationObservation>,
    /// After.
    pub after: Vec<OperationObservation>,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Self time per call, a request's mean.
    TimePerCall,
    /// Calls per request that calls it at all.
    CallsPerRequest,
}

/// Requests that are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strata {
    /// Those of one category.
    Category,
    /// Those of one entry operation: too few categories are in both sets.
    Entry,
}

/// How one operation moved in one measure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperationShift {
    /// What was compared.
    pub measure: Measure,
    /// Which requests were compared.
    pub strata: Strata,
    /// Requests that had a counterpart, before and after.
    pub compared_before: u64,
    /// After.
    pub compared_after: u64,
    /// Median of what was compared, before.
    pub median_before: f64,
    /// Median of what was compared, after.
    pub median_after: f64,
    /// The shift, in nanoseconds per call or calls per request; `None` without anything to compare.
    pub shift: Option<Shift>,
    /// Median ratio of two requests of the same kind, after over before.
    pub ratio: Option<f64>,
    /// Chance that a request after exceeds one before.
    pub effect: f64,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// The same after Benjamini–Hochberg over all operations and measures.
    pub p_adjusted: f64,
}

/// Logarithms are compared as whole multiples of this, 1e-9.
const LOG_UNIT: f64 = 1e-9;

/// The median ratio of two requests of one stratum, after over before: the Hodges–Lehmann shift of the
/// logarithms. Values below 1 count as 1.
fn ratio(strata: &[Stratum]) -> Option<f64> {
    let logs = |values: &[u64]| -> Vec<u64> {
        values.iter().map(|&value| ((value.max(1) as f64).ln() / LOG_UNIT).round() as u64).collect()
    };
    let mut strata: Vec<Stratum> =
        strata.iter().map(|at| Stratum { before: logs(&at.before), after: logs(&at.after) }).collect();
    Some((stratified_shift(&mut strata)?.estimate * LOG_UNIT).exp())
}

/// Compares operations, each in time per call and in calls per request: two shifts a pair, in the order given.
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

fn compare(pair: &OperationPair, measure: Measure) -> OperationShift {
    let by_category = match measure {
        Measure::TimePerCall => Some(strata_of(pair, measure, Strata::Category)),
        Measure::CallsPerRequest => None,
    };
    let smaller = pair.before.len().min(pair.after.len());
    let enough = |strata: &Vec<Stratum>| {
        let [before, after] = sizes(strata);
        2 * before.min(after) >= smaller
    };
    let (kind, mut strata) = match by_category.filter(enough) {
        Some(strata) => (Strata::Category, strata),
        None => (Strata::Entry, strata_of(pair, measure, Strata::Entry)),
    };
    let test = stratified_test(&strata);
    let shift = stratified_shift(&mut strata);
    let [compared_before, compared_after] = sizes(&strata).map(|size| size as u64);
    let middle = |of: fn(&Stratum) -> &Vec<u64>| {
        let mut values: Vec<f64> = strata.iter().flat_map(of).map(|&value| value as f64).collect();
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
    let key = |seen: &OperationObservation| match kind {
        Strata::Category => seen.category,
        Strata::Entry => Fingerprint::from_value(seen.entry.index() as u128),
    };
    let value = |seen: &OperationObservation| match measure {
        Measure::TimePerCall => seen.self_ns / u64::from(seen.calls.max(1)),
        Measure::CallsPerRequest => u64::from(seen.calls),
    };
    let mut strata: BTreeMap<Fingerprint, Stratum> = BTreeMap::new();
    for seen in &pair.before {
        strata.entry(key(seen)).or_default().before.push(value(seen));
    }
    for seen in &pair.after {
        strata.entry(key(seen)).or_default().after.push(value(seen));
    }
    let shared = strata.into_values().filter(|at| !at.before.is_empty() && !at.after.is_empty());
    shared.collect()
}

fn sizes(strata: &[Stratum]) -> [usize; 2] {
    let sum = |of: fn(&Stratum) -> usize| strata.iter().map(of).sum();
    [sum(|stratum| stratum.before.len()), sum(|stratum| stratum.after.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(category: u128, entry: usize, self_ns: u64, calls: u32) -> OperationObservation {
        let (category, entry) = (Fingerprint::from_value(category), OperationId::from_index(entry));
        OperationObservation { category, entry, self_ns, calls }
    }

    fn pair(before: Vec<OperationObservation>, after: Vec<OperationObservation>) -> OperationPair {
        OperationPair { operation: OperationId::from_index(7), before, after }
    }

    #[test]
    fn the_same_requests_slower_are_told_from_other_requests() {
        let fast = |n: u64| (0..n).map(|i| seen(1, 0, 1_000 + i * 7 % 50, 1));
        let slow = |n: u64| (0..n).map(|i| seen(2, 0, 9_000 + i * 7 % 50, 1));
        let moved = pair(fast(60).chain(slow(20)).collect(), fast(20).chain(slow(60)).collect());
        let slower = pair(
            fast(60).collect(),
            fast(60).map(|at| OperationObservation { self_ns: at.self_ns + 300, ..at }).collect(),
        );
        let found = compare_operations(&[moved, slower]);
        assert_eq!(found[0][0].strata, Strata::Category);
        assert!(found[0][0].p_adjusted > 0.05, "{:?}", found[0][0]);
        let shift = found[1][0];
        assert!(shift.p_adjusted < 1e-9 && shift.shift.unwrap().estimate == 300.0);
        assert!((shift.ratio.unwrap() - 1.29).abs() < 0.01);
        assert_eq!(found[1][1].p_value, 1.0, "one call each");
    }

    #[test]
    fn more_calls_are_found_and_the_time_of_each_stays() {
        let calls = |n: u32, each: u32| {
            (0..n).map(move |i| seen(1, 0, u64::from(i % 9 + 100) * 3 * u64::from(each), 3 * each))
        };
        let [time, counts] = compare_operations(&[pair(calls(40, 1).collect(), calls(40, 2).collect())])[0];
        assert_eq!((counts.median_before, counts.median_after), (3.0, 6.0));
        assert!(counts.p_adjusted < 1e-9 && time.p_adjusted > 0.9);
    }

    #[test]
    fn without_common_categories_entries_are_compared() {
        let before = (0..20).map(|i| seen(i, 0, 100 + i as u64, 1)).collect();
        let after = (100..120).map(|i| seen(i, 0, 100 + i as u64, 1)).collect();
        let [time, _] = compare_operations(&[pair(before, after)])[0];
        assert_eq!((time.strata, time.compared_before, time.compared_after), (Strata::Entry, 20, 20));
        assert!(time.p_value < 1e-6);
    }

    #[test]
    fn a_new_operation_has_nothing_to_be_compared_with() {
        let [time, calls] = compare_operations(&[pair(vec![], vec![seen(1, 0, 5, 1)])])[0];
        assert_eq!((time.shift, time.p_value, calls.shift, time.ratio), (None, 1.0, None, None));
    }
}
