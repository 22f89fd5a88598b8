//! Bounds on the clock difference of two hosts, from the calls between them.

use laggard_model::{Nanos, ReplicaId};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bounds on `callee clock − caller clock` for one ordered pair of replicas. A synchronous callee runs
/// inside its caller, so every call narrows the interval: with caller interval `[ps, pe]` and callee
/// interval `[cs, ce]`, each on its own clock, the difference lies in `[ce − pe, cs − ps]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockBounds {
    /// Largest lower bound, in nanoseconds.
    pub low_ns: i64,
    /// Smallest upper bound, in nanoseconds. Below `low_ns` when the clocks drifted or stepped, and when callees end their
    /// spans late.
    pub high_ns: i64,
    /// Calls that contributed.
    pub calls: u64,
}

impl ClockBounds {
    /// Whether equal clocks are consistent with every call seen.
    pub fn agree(&self) -> bool {
        self.proven_skew() == Nanos::ZERO
    }

    /// The skew that the calls prove, 0 when equal clocks are possible.
    ///
    /// Servers end their spans after the response is sent, some milliseconds after (Node). That a callee starts before its
    /// caller can only be the clocks; that it ends after it is, where the bounds exclude each other, no proof.
    pub fn proven_skew(&self) -> Nanos {
        let low_ns = if self.low_ns <= self.high_ns { self.low_ns } else { 0 };
        Nanos::from_ns(low_ns.max(-self.high_ns).max(0).unsigned_abs())
    }

    /// The largest skew the calls leave possible.
    pub fn possible_skew(&self) -> Nanos {
        Nanos::from_ns(self.low_ns.unsigned_abs().max(self.high_ns.unsigned_abs()))
    }
}

/// Bounds for every pair of replicas that called each other; mergeable.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClockAgreement {
    pairs: HashMap<(ReplicaId, ReplicaId), ClockBounds, BuildHasherDefault<PairHasher>>,
    /// Calls not recorded because there were more pairs than [`ClockAgreement::PAIRS_MAX`].
    pub calls_beyond_limit: u64,
}

impl ClockAgreement {
    // Limit: pairs of clocks | counted only
    /// Maximum number of pairs; calls between further pairs are only counted.
    pub const PAIRS_MAX: usize = 200_000;

    /// Adds one synchronous remote call: offsets `callee start − caller start` and
    /// `callee end − caller end`, as recorded.
    pub fn add(&mut self, caller: ReplicaId, callee: ReplicaId, start_offset_ns: i64, end_offset_ns: i64) {
        let call = ClockBounds { low_ns: end_offset_ns, high_ns: start_offset_ns, calls: 1 };
        self.add_bounds((caller, callee), call);
    }

    /// Adds known bounds of a pair `(caller, callee)`.
    pub fn add_bounds(&mut self, pair: (ReplicaId, ReplicaId), bounds: ClockBounds) {
        if self.pairs.len() >= Self::PAIRS_MAX && !self.pairs.contains_key(&pair) {
            self.calls_beyond_limit += bounds.calls;
            return;
        }
        let entry =
            self.pairs.entry(pair).or_insert(ClockBounds { low_ns: i64::MIN, high_ns: i64::MAX, calls: 0 });
        entry.low_ns = entry.low_ns.max(bounds.low_ns);
        entry.high_ns = entry.high_ns.min(bounds.high_ns);
        entry.calls += bounds.calls;
    }

    /// Adds another's bounds.
    pub fn merge(&mut self, other: ClockAgreement) {
        for (pair, bounds) in other.pairs {
            self.add_bounds(pair, bounds);
        }
        self.calls_beyond_limit += other.calls_beyond_limit;
    }

    /// The same with other handles: `replica` maps each to its new one. Pairs that become equal are merged.
    pub fn renamed(&self, replica: impl Fn(ReplicaId) -> ReplicaId) -> ClockAgreement {
        let mut out =
            ClockAgreement { calls_beyond_limit: self.calls_beyond_limit, ..ClockAgreement::default() };
        // In the order of pairs: where the limit bites, it must not depend on the table's order.
        for ((caller, callee), bounds) in self.pairs() {
            out.add_bounds((replica(caller), replica(callee)), bounds);
        }
        out
    }

    /// Every pair `(caller, callee)` with its bounds, ordered by pair.
    pub fn pairs(&self) -> Vec<((ReplicaId, ReplicaId), ClockBounds)> {
        let mut pairs: Vec<_> = self.pairs.iter().map(|(&pair, &bounds)| (pair, bounds)).collect();
        pairs.sort_unstable_by_key(|&(pair, _)| pair);
        pairs
    }
}

/// Every remote call looks its pair up, and handles are small dense numbers that the input does not control: the
/// standard library's keyed hash would cost more than everything else done with them.
#[derive(Clone, Copy, Default)]
struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        // The table uses the lowest and the highest bits; multiplication leaves the lowest weak.
        let mixed = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u32(&mut self, handle: u32) {
        self.0 = self.0.rotate_left(32) ^ u64::from(handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_narrows_the_bounds() {
        let (a, b) = (ReplicaId::from_index(0), ReplicaId::from_index(1));
        let mut clocks = ClockAgreement::default();
        // Caller [0, 100], callee recorded as [130, 170]: the callee's clock is 70 to 130 ahead.
        clocks.add(a, b, 130, 70);
        let bounds = clocks.pairs()[0].1;
        assert_eq!((bounds.low_ns, bounds.high_ns), (70, 130));
        assert!(!bounds.agree());
        assert_eq!((bounds.proven_skew().ns(), bounds.possible_skew().ns()), (70, 130));
        clocks.add(a, b, 110, 60);
        assert_eq!(clocks.pairs()[0].1, ClockBounds { low_ns: 70, high_ns: 110, calls: 2 });
    }

    #[test]
    fn callees_that_end_late_prove_no_skew() {
        let (a, b) = (ReplicaId::from_index(0), ReplicaId::from_index(1));
        let mut clocks = ClockAgreement::default();
        // One ended 4 ms after its caller, whose clock is known to be within 0.3 ms from another.
        clocks.add(a, b, 1_000_000, 4_000_000);
        clocks.add(a, b, 300_000, -200_000);
        assert!(clocks.pairs()[0].1.agree());
        clocks.add(a, b, -100_000, -200_000);
        assert_eq!(clocks.pairs()[0].1.proven_skew().ns(), 100_000, "it cannot start before its caller");
    }

    #[test]
    fn a_contained_callee_is_consistent_with_equal_clocks() {
        let (a, b) = (ReplicaId::from_index(0), ReplicaId::from_index(1));
        let mut clocks = ClockAgreement::default();
        clocks.add(a, b, 10, -20);
        let bounds = clocks.pairs()[0].1;
        assert!(bounds.agree());
        assert_eq!((bounds.proven_skew().ns(), bounds.possible_skew().ns()), (0, 20));
    }
}
