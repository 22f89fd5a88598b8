//! Whether some replicas are slower than the others all the time: slow calls come in bursts, so that a burst that meets
//! one replica is no difference between replicas.

use crate::sites::long_calls::UsualTimes;
use crate::sites::table::{Site, SiteTable};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::binomial_upper_tail;

/// The window is cut into this many parts with equally many requests.
const PARTS: usize = 16;
/// Parts in which both the culprits and the others have calls, at least.
const COMPARED_PARTS_MIN: usize = 6;
/// Jackknife standard errors between the rates of slow calls. The culprits were selected as the slowest of all replicas of
/// many operations.
const ERRORS_MIN: f64 = 5.0;
/// Level of the exact test of few slow calls.
const FEW_LEVEL: f64 = 1e-4;
/// Rate of slow calls on the culprits over the rate on the others.
const RATE_MIN: f64 = 2.0;

/// Calls of an operation in one part of the window.
#[derive(Clone, Copy, Default)]
struct PartCounts {
    calls: f64,
    slow: f64,
    other_calls: f64,
    other_slow: f64,
}

impl PartCounts {
    fn minus(self, other: PartCounts) -> PartCounts {
        PartCounts {
            calls: self.calls - other.calls,
            slow: self.slow - other.slow,
            other_calls: self.other_calls - other.other_calls,
            other_slow: self.other_slow - other.other_slow,
        }
    }

    fn difference(self) -> f64 {
        self.slow / self.calls.max(1.0) - self.other_slow / self.other_calls.max(1.0)
    }
}

/// Whether calls of an operation are slow more often on some replicas than on its others throughout the window: slow is
/// beyond `factor` times the usual time of such requests. The standard error is a jackknife over parts of the window; few slow
/// calls are tested exactly.
pub fn are_steadily_slower(
    window: &SiteTable,
    operation: OperationId,
    culprits: &[ReplicaId],
    factor: f64,
) -> bool {
    let concerns = |site: &Site| match *site {
        Site::Operation(own) | Site::Chain(own) => own == operation,
        Site::Link { caller, .. } => caller == operation,
    };
    let usual = UsualTimes::of(window, &concerns);
    let mut parts = [PartCounts::default(); PARTS];
    for row in window.by_site().filter(|(site, _)| concerns(site)).flat_map(|(_, rows)| rows) {
        let part = &mut parts[row.request as usize * PARTS / window.requests.len()];
        let slow = if usual.is_beyond(window, row, factor) { 1.0 } else { 0.0 };
        if window.sets[row.set as usize].iter().any(|replica| culprits.contains(replica)) {
            part.calls += 1.0;
            part.slow += slow;
        } else {
            part.other_calls += 1.0;
            part.other_slow += slow;
        }
    }
    let parts: Vec<PartCounts> =
        parts.into_iter().filter(|part| part.calls > 0.0 && part.other_calls > 0.0).collect();
    if parts.len() < COMPARED_PARTS_MIN {
        return false;
    }
    let all = parts.iter().fold(PartCounts::default(), |all, part| PartCounts {
        calls: all.calls + part.calls,
        slow: all.slow + part.slow,
        other_calls: all.other_calls + part.other_calls,
        other_slow: all.other_slow + part.other_slow,
    });
    let n = parts.len() as f64;
    let spread: f64 =
        parts.iter().map(|part| (all.minus(*part).difference() - all.difference()).powi(2)).sum();
    // Rates vary at least as much as those of independent calls.
    let rate = (all.slow + all.other_slow) / (all.calls + all.other_calls);
    let independent = rate * (1.0 - rate) * (1.0 / all.calls + 1.0 / all.other_calls);
    let error = f64::max(spread * (n - 1.0) / n, independent).sqrt();
    // Of few slow calls, those of one part may be one burst: given how many parts have any, so many of the culprits are
    // binomial.
    let bursts = |slow: fn(&PartCounts) -> f64| parts.iter().filter(|part| slow(part) > 0.0).count() as u64;
    let (own, other) = (bursts(|part| part.slow), bursts(|part| part.other_slow));
    let few = binomial_upper_tail(own + other, all.calls / (all.calls + all.other_calls), own);
    all.slow / all.calls >= RATE_MIN * all.other_slow / all.other_calls
        && (all.difference() >= ERRORS_MIN * error || few <= FEW_LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::table::SiteRequest;
    use crate::sites::table_builder::{SiteTableBuilder, Spent};
    use laggard_model::{AttributeSetId, Fingerprint, Timestamp, TraceId};
    use std::num::NonZeroUsize;

    /// 1,600 calls on four replicas in turn: 1 ms, or 5 ms where `slow` says so of a request.
    fn table(slow: impl Fn(u32) -> bool) -> (SiteTable, OperationId, ReplicaId) {
        let operation = OperationId::from_index(0);
        let mut builder = SiteTableBuilder::default();
        for number in 0..1_600_u32 {
            let request = SiteRequest {
                start: Timestamp::from_unix_ns(i64::from(number) * 1_000_000),
                trace: TraceId::from_value(u128::from(number) + 1),
                latency_ns: 1e6,
                category: 0,
                weight: 1.0,
                attributes: AttributeSetId::default(),
                number,
            };
            builder.request(Fingerprint::from_value(1), request);
            let replica = ReplicaId::from_index(number as usize % 4);
            let time_ns = if slow(number) { 5e6 } else { 1e6 };
            builder.spend(Spent {
                site: Site::Operation(operation),
                replicas: &[replica],
                time_ns,
                path_ns: time_ns,
            });
        }
        (builder.finish(NonZeroUsize::MIN), operation, ReplicaId::from_index(1))
    }

    #[test]
    fn a_replica_with_more_slow_calls_in_every_part_is_steadily_slower() {
        let (table, operation, culprit) = table(|number| number % 4 == 1 && number % 3 == 0);
        assert!(are_steadily_slower(&table, operation, &[culprit], 2.0));
        assert!(!are_steadily_slower(&table, operation, &[ReplicaId::from_index(2)], 2.0));
    }

    #[test]
    fn a_burst_on_one_replica_is_not_a_steady_difference() {
        let burst = |number: u32| number % 4 == 1 && (200..350).contains(&number);
        let (table, operation, culprit) = table(burst);
        assert!(!are_steadily_slower(&table, operation, &[culprit], 2.0));
    }

    #[test]
    fn replicas_with_equally_many_slow_calls_do_not_differ() {
        let (table, operation, culprit) = table(|number| number % 10 < 2);
        assert!(!are_steadily_slower(&table, operation, &[culprit], 2.0));
        assert!(!are_steadily_slower(&table, operation, &[], 2.0));
    }
}
