//! What changed on single replicas of an operation. A fault of one replica of many moves no median over all of them.

use super::operations::{Measure, OperationPair, strata_within};
use super::stratified::{Stratum, difference_at, median_difference, stratified_test};
use laggard_numeric::{benjamini_hochberg, median};

/// Requests that call the operation on the replica, before and after, that a comparison needs.
const OBSERVATIONS_MIN: usize = 20;

/// A part of the calls moved, and not all of them by the median difference, when the moved part lies this many times as
/// far away. For equal normal distributions that overlap it is about four times.
const PART_MIN: f64 = 8.0;

/// How the time per call of an operation moved on one replica.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplicaShift {
    /// Median time per call before, nanoseconds.
    pub median_before: f64,
    /// Difference of the calls that moved, nanoseconds per call.
    pub shift_ns: f64,
    /// Share of the replica's calls that moved by it, 0..1.
    pub moved_share: f64,
    /// Two-sided p-value of the rank test.
    pub p_value: f64,
    /// The p-value after Benjamini–Hochberg over all replicas of all operations.
    pub p_adjusted: f64,
}

/// Compares each replica with itself, among requests of the same kind; `None` where it has too few of them. Each pair has
/// the observations of one operation on one replica.
pub fn compare_replicas(pairs: &[OperationPair]) -> Vec<Option<ReplicaShift>> {
    let mut shifts: Vec<Option<ReplicaShift>> = pairs.iter().map(compare).collect();
    let p: Vec<f64> = shifts.iter().flatten().map(|shift| shift.p_value).collect();
    let adjusted = benjamini_hochberg(&p);
    shifts.iter_mut().flatten().zip(adjusted).for_each(|(shift, p_adjusted)| shift.p_adjusted = p_adjusted);
    shifts
}

fn compare(pair: &OperationPair) -> Option<ReplicaShift> {
    if pair.before.len().min(pair.after.len()) < OBSERVATIONS_MIN {
        return None;
    }
    let (_, mut strata) = strata_within(pair, Measure::TimePerCall);
    let size =
        |side: fn(&Stratum) -> &Vec<u64>| strata.iter().map(|stratum| side(stratum).len()).sum::<usize>();
    if size(|stratum| &stratum.before).min(size(|stratum| &stratum.after)) < OBSERVATIONS_MIN {
        return None;
    }
    let test = stratified_test(&strata);
    let all = median_difference(&mut strata)?;
    // If a share of the calls moved beyond all others, the effect is half of the rest and all of the share.
    let share = (2.0 * test.effect - 1.0).abs();
    let middle = if test.effect > 0.5 { 1.0 - share / 2.0 } else { share / 2.0 };
    let part = difference_at(&strata, middle);
    let is_part = share < 0.5 && part.abs() >= PART_MIN * all.abs();
    let mut before: Vec<f64> =
        strata.iter().flat_map(|stratum| &stratum.before).map(|&value| value as f64).collect();
    Some(ReplicaShift {
        median_before: median(&mut before),
        shift_ns: if is_part { part } else { all },
        moved_share: if is_part { share } else { 1.0 },
        p_value: test.p_value,
        p_adjusted: 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::OperationObservation;
    use laggard_model::{Fingerprint, OperationId};

    /// Times of 200 requests between 900 and 1,100; `slower` gets the number of the request.
    fn pair(slower: impl Fn(u64) -> u64) -> OperationPair {
        let observation = |self_ns| OperationObservation {
            category: Fingerprint::from_value(1),
            entry: OperationId::from_index(0),
            self_ns,
            calls: 1,
        };
        let time = |request: u64| 900 + request * 7_919 % 200;
        OperationPair {
            operation: OperationId::from_index(7),
            before: (0..200).map(|request| observation(time(request))).collect(),
            after: (200..400).map(|request| observation(time(request) + slower(request))).collect(),
        }
    }

    #[test]
    fn the_shifted_share_and_its_shift_are_measured() {
        let pairs = [
            pair(|_| 0),
            pair(|_| 5_000),
            pair(|request| if request % 5 == 0 { 5_000 } else { 0 }),
            pair(|_| 60),
        ];
        let shifts = compare_replicas(&pairs);
        let [same, all, part, little] = [0, 1, 2, 3].map(|index: usize| shifts[index].unwrap());
        assert!(same.p_adjusted > 0.5, "{same:?}");
        assert!((all.shift_ns - 5_000.0).abs() < 30.0 && all.moved_share == 1.0, "{all:?}");
        assert!((part.shift_ns - 5_000.0).abs() < 100.0, "{part:?}");
        assert!((part.moved_share - 0.2).abs() < 0.03 && part.p_adjusted < 0.01, "{part:?}");
        assert!((little.shift_ns - 60.0).abs() < 10.0 && little.moved_share == 1.0, "{little:?}");
    }

    #[test]
    fn few_requests_are_not_compared() {
        let mut few = pair(|_| 5_000);
        few.after.truncate(OBSERVATIONS_MIN - 1);
        assert_eq!(compare_replicas(&[few]), [None]);
    }
}
