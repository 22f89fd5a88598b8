//! Replicas that lose spans which their peers record.
//!
//! ```text
//! find on a   read, check | read        | read, check     3 calls: 3 of read, 2 of check
//! find on b   read        | check       | read            3 calls: 2 of read, 1 of check
//! ```
//!
//! A lost call shortens the list of its caller's callees. Calls of one operation have the same callees on each replica, up to
//! chance, so that a replica whose calls have fewer lost some. Where calls do not always have a callee, no single one shows
//! whether it did.

use super::Side;
use super::callees::{CalleeCount, Callees, NthCallee, OperationCallees, called};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::spread_evenly;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most requests that are counted.
const REQUESTS_MAX: usize = 5_000;
/// A replica that loses spans has at least this share fewer callees than its peers would have …
const FEWER_SHARE_MIN: f64 = 0.02;
/// … and so many standard errors fewer.
const ERRORS_MIN: f64 = 4.0;
/// Where a replica should have so many other callees, these have to be fewer as well without the one that lacks most: it may
/// not have been called.
const OTHER_CALLEES_MIN: f64 = 50.0;

/// Callees of a replica's calls.
#[derive(Clone, Copy, Default)]
struct Deficit {
    expected: f64,
    fewer: f64,
    variance: f64,
}

impl Deficit {
    fn add(&mut self, other: Deficit) {
        self.expected += other.expected;
        self.fewer += other.fewer;
        self.variance += other.variance;
    }

    fn without(self, other: Deficit) -> Deficit {
        Deficit {
            expected: self.expected - other.expected,
            fewer: self.fewer - other.fewer,
            variance: self.variance - other.variance,
        }
    }

    fn shows_loss(self) -> bool {
        self.fewer >= FEWER_SHARE_MIN * self.expected
            && self.fewer >= ERRORS_MIN * self.variance.max(1.0).sqrt()
    }
}

/// The replicas, in unified handles, whose calls have fewer callees than the same calls of their peers. `all` has the callees of
/// every operation.
pub(super) fn lossy_replicas(side: &Side<'_>, all: &Callees) -> BTreeSet<ReplicaId> {
    let counts = count(side, all);
    let mut by_replica: BTreeMap<ReplicaId, Vec<Deficit>> = BTreeMap::new();
    let counts: Vec<_> = counts.into_iter().collect();
    for replicas in counts.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        let mut total = OperationCallees::default();
        replicas.iter().for_each(|(_, counts)| total.add_all(counts));
        for ((_, replica), own) in replicas {
            by_replica.entry(*replica).or_default().extend(deficits(own, &total));
        }
    }
    let lossy = by_replica.into_iter().filter(|(_, deficits)| show_loss(deficits));
    lossy.map(|(replica, _)| replica).collect()
}

/// Callees by operation and replica of the caller. Operations that never have a callee are left out.
fn count(side: &Side<'_>, all: &Callees) -> BTreeMap<(OperationId, ReplicaId), OperationCallees> {
    let (selected, range) = (side.selected, &side.range);
    let operations = selected.operations();
    let mut by_structure: HashMap<usize, Vec<(u32, NthCallee)>> = HashMap::new();
    let mut counts: BTreeMap<(OperationId, ReplicaId), OperationCallees> = BTreeMap::new();
    for index in spread_evenly(range.len(), REQUESTS_MAX) {
        let request = range.requests().request(range.first() + index);
        let called =
            by_structure.entry(request.structure()).or_insert_with(|| called(request.tree(), operations));
        let mut called = called.iter().peekable();
        for node in 0..request.calls() {
            let operation = selected.operation(&request, node);
            if !all.has_callees(operation) {
                continue;
            }
            let counted = counts.entry((operation, selected.replica(&request, node))).or_default();
            counted.calls += 1;
            while let Some(&(_, callee)) = called.next_if(|(caller, _)| *caller as usize == node) {
                counted.add(CalleeCount { callee, calling: 1 });
            }
        }
    }
    counts
}

/// What a replica's calls of one operation lack, by callee.
fn deficits(own: &OperationCallees, total: &OperationCallees) -> Vec<Deficit> {
    let (calls, others) = (own.calls as f64, (total.calls - own.calls) as f64);
    if others == 0.0 {
        return Vec::new();
    }
    let mut by_callee: BTreeMap<OperationId, Deficit> = BTreeMap::new();
    for count in total.counts() {
        let recorded = own.calling(count.callee) as f64;
        let theirs = count.calling as f64 - recorded;
        // Of few calls, none or all may have a callee by chance.
        let rate = (theirs + 1.0) / (others + 2.0);
        let expected = calls * theirs / others;
        by_callee.entry(count.callee.operation).or_default().add(Deficit {
            expected,
            fewer: expected - recorded,
            variance: calls * rate * (1.0 - rate) * (1.0 + calls / others),
        });
    }
    by_callee.into_values().collect()
}

fn show_loss(deficits: &[Deficit]) -> bool {
    let mut all = Deficit::default();
    deficits.iter().for_each(|deficit| all.add(*deficit));
    let most = deficits.iter().max_by(|a, b| a.fewer.total_cmp(&b.fewer));
    let others = all.without(most.copied().unwrap_or_default());
    all.shows_loss()
        && (others.expected < OTHER_CALLEES_MIN || others.fewer >= FEWER_SHARE_MIN * others.expected)
}
