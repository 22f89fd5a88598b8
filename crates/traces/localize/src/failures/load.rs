//! Whether some replicas receive an uneven share of an operation's calls.
//!
//! Replicas in question are those that are slow. The odds of their calls, to those of the other replicas, are compared with
//! the odds in the baseline: where balancing is weighted, they are uneven all the time. Without a baseline they are compared
//! with an even share, and then hardly any other replica may receive as many calls as the least loaded of them.

use crate::failures::errors::by_replica;
use crate::failures::outcomes::OutcomeTable;
use crate::failures::rates::{BlockCount, rise_of_frequent, total};
use crate::sites::Blocks;
use laggard_model::{OperationId, ReplicaId};
use std::collections::BTreeMap;

/// Some replicas receive more of an operation's calls than they should.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UnevenLoad {
    /// Calls of the operation, on the replicas that are compared.
    pub calls: u64,
    /// Calls on the replicas in question.
    pub own_calls: u64,
    /// The part of all calls that these replicas usually receive, 0..1: in the baseline, or if all received equally many.
    pub usual_share: f64,
    /// Whether the usual share is that of the baseline.
    pub is_against_baseline: bool,
    /// Of the hypothesis that the share is as usual.
    pub p_value: f64,
}

/// Factor by which the odds are at least larger than in the baseline, and up to which they drift.
const BASELINE_FACTOR_MIN: f64 = 1.5;
const BASELINE_DRIFT: f64 = 1.2;
/// The same for the calls of a replica compared with those of another, without a baseline.
const PEERS_FACTOR_MIN: f64 = 2.0;
const PEERS_DRIFT: f64 = 1.5;
/// Without a baseline, at most this part of the other replicas receives as many calls as the least loaded in question, and
/// there are at least this many others.
const AS_LOADED_MAX: f64 = 0.1;
const OTHERS_MIN: usize = 3;
/// Fewest calls on the replicas in question.
const CALLS_MIN: f64 = 20.0;

/// Calls of an operation by replica and block.
pub struct ReplicaCalls(BTreeMap<ReplicaId, Vec<BlockCount>>);

impl ReplicaCalls {
    /// Counts the calls of an operation on some replicas, in one of two tables that are compared. `replica_of` returns the replica
    /// of a call, by the caller's number of the request and the node.
    pub fn count(
        table: &OutcomeTable,
        operation: OperationId,
        replicas: impl Iterator<Item = ReplicaId>,
        compared_with: &OutcomeTable,
        replica_of: impl Fn(u32, u32) -> ReplicaId,
    ) -> ReplicaCalls {
        // Blocks of equally many requests on both sides.
        let blocks = Blocks::choose(table.rows, compared_with.rows).baseline;
        let mut calls = by_replica(table, operation, blocks, &replica_of);
        for replica in replicas {
            calls.entry(replica).or_insert_with(|| vec![BlockCount::default(); blocks]);
        }
        ReplicaCalls(calls)
    }

    fn of(&self, replica: ReplicaId) -> f64 {
        self.0.get(&replica).map_or(0.0, |blocks| total(blocks).exposure)
    }

    /// Calls by block: on the replicas in question as events, on others as exposure.
    fn odds(&self, others: &[ReplicaId], own: &[ReplicaId]) -> Vec<BlockCount> {
        let [events, exposure] = [own, others].map(|replicas| self.sum(replicas));
        let pair = |(events, exposure): (f64, f64)| BlockCount { events, exposure };
        events.into_iter().zip(exposure).map(pair).collect()
    }

    fn sum(&self, replicas: &[ReplicaId]) -> Vec<f64> {
        let mut sums = vec![0.0; self.0.values().next().map_or(0, Vec::len)];
        for blocks in replicas.iter().filter_map(|replica| self.0.get(replica)) {
            sums.iter_mut().zip(blocks).for_each(|(sum, block)| *sum += block.exposure);
        }
        sums
    }
}

/// The load of replicas, if it is uneven at a level of significance.
pub fn uneven_load(
    baseline: Option<&ReplicaCalls>,
    window: &ReplicaCalls,
    replicas: &[ReplicaId],
    level: f64,
) -> Option<UnevenLoad> {
    let others: Vec<ReplicaId> =
        window.0.keys().copied().filter(|replica| !replicas.contains(replica)).collect();
    let is_known = |baseline: &ReplicaCalls| replicas.iter().all(|replica| baseline.0.contains_key(replica));
    let load = match baseline {
        Some(baseline) if is_known(baseline) => against_baseline(baseline, window, replicas, &others),
        Some(_) => None,
        None => {
            // Not every replica need serve every operation.
            let called = others.iter().copied().filter(|&other| window.of(other) > 0.0).collect::<Vec<_>>();
            against_peers(window, replicas, &called)
        }
    };
    load.filter(|load| load.p_value <= level)
}

fn against_baseline(
    baseline: &ReplicaCalls,
    window: &ReplicaCalls,
    replicas: &[ReplicaId],
    others: &[ReplicaId],
) -> Option<UnevenLoad> {
    // Replicas that are new or gone change the share of all others.
    let both: Vec<ReplicaId> =
        others.iter().copied().filter(|replica| baseline.0.contains_key(replica)).collect();
    let (before, now) = (baseline.odds(&both, replicas), window.odds(&both, replicas));
    let (earlier, later) = (total(&before), total(&now));
    let is_more = later.events >= CALLS_MIN
        && earlier.exposure > 0.0
        && later.events * earlier.exposure >= BASELINE_FACTOR_MIN * earlier.events * later.exposure;
    is_more.then(|| UnevenLoad {
        calls: (later.events + later.exposure) as u64,
        own_calls: later.events as u64,
        usual_share: earlier.events / (earlier.events + earlier.exposure),
        is_against_baseline: true,
        p_value: rise_of_frequent(&before, &now, now.len(), BASELINE_DRIFT),
    })
}

fn against_peers(window: &ReplicaCalls, replicas: &[ReplicaId], others: &[ReplicaId]) -> Option<UnevenLoad> {
    let least = replicas.iter().map(|&replica| window.of(replica)).fold(f64::INFINITY, f64::min);
    let as_loaded = others.iter().filter(|&&replica| window.of(replica) >= least).count();
    if others.len() < OTHERS_MIN || as_loaded as f64 > AS_LOADED_MAX * others.len() as f64 {
        return None;
    }
    let counts = |compared: &[ReplicaId]| -> Vec<BlockCount> {
        let exposure = compared.len() as f64;
        window.sum(compared).into_iter().map(|events| BlockCount { events, exposure }).collect()
    };
    let (theirs, usual) = (counts(replicas), counts(others));
    let (own, other) = (total(&theirs), total(&usual));
    let is_more = own.events >= CALLS_MIN
        && own.events * other.exposure >= PEERS_FACTOR_MIN * other.events * own.exposure;
    is_more.then(|| UnevenLoad {
        calls: (own.events + other.events) as u64,
        own_calls: own.events as u64,
        usual_share: replicas.len() as f64 / (replicas.len() + others.len()) as f64,
        is_against_baseline: false,
        p_value: rise_of_frequent(&usual, &theirs, usual.len(), PEERS_DRIFT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: usize = 16;

    fn replicas(indices: std::ops::Range<usize>) -> Vec<ReplicaId> {
        indices.map(ReplicaId::from_index).collect()
    }

    /// Calls per block by replica.
    fn calls(per_block: &[f64]) -> ReplicaCalls {
        let blocks = |&calls: &f64| vec![BlockCount { events: 0.0, exposure: calls }; BLOCKS];
        ReplicaCalls(replicas(0..per_block.len()).into_iter().zip(per_block.iter().map(blocks)).collect())
    }

    #[test]
    fn two_of_ten_replicas_get_half_of_the_calls() {
        let mut uneven = vec![2.0; 10];
        uneven[..2].fill(8.0);
        let load = uneven_load(None, &calls(&uneven), &replicas(0..2), 0.01).expect("uneven");
        assert_eq!((load.calls, load.own_calls, load.usual_share), (32 * BLOCKS as u64, 256, 0.2));
        assert!(!load.is_against_baseline && load.p_value < 1e-9);
        let even = calls(&[2.0; 10]);
        let load = uneven_load(Some(&even), &calls(&uneven), &replicas(0..2), 0.01).expect("uneven");
        assert_eq!((load.own_calls, load.usual_share, load.is_against_baseline), (256, 0.2, true));
    }

    #[test]
    fn weighted_load_balancing_is_no_cause() {
        let mut weighted = vec![2.0; 10];
        weighted[..5].fill(8.0);
        let now = calls(&weighted);
        assert_eq!(uneven_load(None, &now, &replicas(0..2), 0.01), None, "others have as many");
        assert_eq!(uneven_load(Some(&now), &now, &replicas(0..5), 0.01), None, "as in the baseline");
        assert_eq!(uneven_load(None, &calls(&[8.0, 2.0]), &replicas(0..1), 0.01), None, "too few others");
    }

    #[test]
    fn new_and_stopped_replicas_are_no_cause() {
        let before = calls(&[4.0; 10]);
        let now = calls(&[13.0, 13.0, 13.0]);
        assert_eq!(uneven_load(Some(&before), &now, &replicas(0..1), 0.01), None, "seven were stopped");
        assert_eq!(uneven_load(Some(&calls(&[4.0])), &calls(&[1.0, 9.0]), &replicas(1..2), 0.01), None);
    }

    #[test]
    fn one_burst_of_calls_is_no_uneven_load() {
        let mut burst = calls(&[1.0; 10]);
        let blocks = burst.0.get_mut(&ReplicaId::from_index(0)).expect("a replica");
        blocks.iter_mut().for_each(|block| block.exposure = 0.0);
        blocks[7].exposure = 60.0;
        assert_eq!(uneven_load(None, &burst, &replicas(0..1), 0.01), None);
    }
}
