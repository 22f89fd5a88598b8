//! From flagged positions and slow peers to suspect operations (CloudDiag §4.3, algorithms §3.5 and 3.6).

use super::peers::{SlowPeer, slow_peers};
use super::pool::{CountedCall, PooledOperation};
use super::replicas::{ReplicaTest, Spread, test_replicas};
use super::settings::CloudDiagSettings;
use super::{Excess, ReplicaCell, Study, SuspectOperation};
use crate::category::{Call, CategoryCalls};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::{Weights, benjamini_hochberg, binomial_upper_tail, weighted_mean, weighted_median};
use laggard_parallel::parallel_map;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

/// The input of judging operations.
pub(crate) struct OperationEvidence<'a> {
    pub(crate) categories: &'a [Cow<'a, CategoryCalls>],
    pub(crate) studies: &'a [Study],
    pub(crate) settings: &'a CloudDiagSettings,
    /// The smallest weight of a request; it counts as 1.
    pub(crate) unit: f64,
}

/// Category and position.
pub(super) type FlaggedPosition = (usize, u32);

impl OperationEvidence<'_> {
    /// Weight of a call's request, in units of the smallest weight.
    fn weight(&self, category: &CategoryCalls, call: &Call) -> f64 {
        f64::from(category.requests[call.request as usize].weight) / self.unit
    }

    /// The weight, extrapolated to requests that were left out: for sums.
    fn extrapolated_weight(&self, category: &CategoryCalls, call: &Call) -> f64 {
        self.weight(category, call) * category.one_in()
    }

    /// Flagged positions by operation.
    pub(crate) fn flagged_positions(&self) -> BTreeMap<OperationId, BTreeSet<FlaggedPosition>> {
        let mut flagged: BTreeMap<OperationId, BTreeSet<FlaggedPosition>> = BTreeMap::new();
        for (index, (category, study)) in self.categories.iter().zip(self.studies).enumerate() {
            let positions = study.decomposed.iter().flat_map(|done| &done.positions);
            for (position, _) in positions.enumerate().filter(|(_, finding)| finding.flagged) {
                let operation = category.positions[position].operation;
                flagged.entry(operation).or_default().insert((index, position as u32));
            }
        }
        flagged
    }

    /// Judges an operation that robust PCA flagged at some position.
    pub(crate) fn judge_flagged(
        &self,
        operation: OperationId,
        flagged: &BTreeSet<FlaggedPosition>,
    ) -> Option<SuspectOperation> {
        let pooled = self.pool(operation);
        let (spread, mut tests) =
            test_replicas(&pooled.observed, self.settings.replica_level, self.settings.replica_factor_min);
        let implicated: BTreeSet<usize> = flagged.iter().map(|&(category, _)| category).collect();
        let mut counted = pooled.counted.clone();
        // In an implicated category the operation's other positions need no evidence of their own.
        counted.retain(|call| implicated.contains(&call.category));
        let mut culprits = tests.iter().filter(|test| test.flagged).map(|test| test.replica).collect();
        let spread = weigh(spread, &mut culprits, &counted);
        if spread == Spread::Localized {
            self.add_rarely_called(operation, &mut tests, &mut culprits);
            counted.retain(|call| culprits.contains(&call.replica));
        }
        self.add_explained(operation, spread, &culprits, &mut counted);
        self.suspect(operation, spread, &culprits, &tests, &pooled, counted)
    }

    /// Adds calls of a suspect operation, in any category with enough requests, that explain a slow request by
    /// themselves: the request is in its category's tail, and at least half of its excess arises in the call. One such
    /// call alone does not make an operation a suspect.
    fn add_explained(
        &self,
        operation: OperationId,
        spread: Spread,
        culprits: &BTreeSet<ReplicaId>,
        counted: &mut Vec<CountedCall>,
    ) {
        let known: BTreeSet<(usize, u32, u32)> =
            counted.iter().map(|call| (call.category, call.request, call.position)).collect();
        for (index, (category, study)) in self.categories.iter().zip(self.studies).enumerate() {
            if !study.gate.judged {
                continue;
            }
            for call in calls_of(category, operation) {
                let blamed = spread != Spread::Localized || culprits.contains(&call.replica);
                if blamed
                    && explains(category, study, call)
                    && !known.contains(&(index, call.request, call.position))
                {
                    let scale = &study.scales[call.position as usize];
                    counted.push(CountedCall::new(
                        index,
                        call,
                        scale,
                        self.extrapolated_weight(category, call),
                    ));
                }
            }
        }
    }

    /// Adds culprits that were called too rarely for the test among peers. Where other replicas are to blame
    /// already, a single call that explains a slow request by itself is evidence, if such calls are rare enough
    /// elsewhere: a binomial test against their rate over all other operations.
    fn add_rarely_called(
        &self,
        operation: OperationId,
        tests: &mut [ReplicaTest],
        culprits: &mut BTreeSet<ReplicaId>,
    ) {
        let mut elsewhere = DeviationCounts::default();
        let mut here: BTreeMap<ReplicaId, DeviationCounts> = BTreeMap::new();
        for (category, study) in
            self.categories.iter().zip(self.studies).filter(|(_, study)| study.gate.judged)
        {
            for call in &category.calls {
                let tally = if category.positions[call.position as usize].operation == operation {
                    here.entry(call.replica).or_default()
                } else {
                    &mut elsewhere
                };
                tally.calls += 1;
                tally.explaining += u64::from(explains(category, study, call));
            }
        }
        let rate = (elsewhere.explaining + 1) as f64 / (elsewhere.calls + 2) as f64;
        let p_values: Vec<f64> = tests
            .iter()
            .map(|test| here.get(&test.replica).copied().unwrap_or_default())
            .map(|tally| binomial_upper_tail(tally.calls, rate, tally.explaining))
            .collect();
        for (test, p_adjusted) in tests.iter_mut().zip(benjamini_hochberg(&p_values)) {
            if !test.flagged && p_adjusted <= self.settings.peer_level {
                test.flagged = true;
                test.p_adjusted = p_adjusted;
                culprits.insert(test.replica);
            }
        }
    }

    /// All calls of an operation in the decomposed categories.
    pub(super) fn pool(&self, operation: OperationId) -> PooledOperation {
        let mut pooled = PooledOperation::default();
        for (index, (category, study)) in self.categories.iter().zip(self.studies).enumerate() {
            if study.decomposed.is_none() {
                continue;
            }
            for call in calls_of(category, operation) {
                pooled.add(
                    index,
                    call,
                    &study.scales[call.position as usize],
                    self.weight(category, call),
                    self.counts(category, study, call).then(|| self.extrapolated_weight(category, call)),
                );
            }
        }
        pooled
    }

    /// Whether the sparse part of a call's cell and the call itself both exceed their limits.
    fn counts(&self, category: &CategoryCalls, study: &Study, call: &Call) -> bool {
        let Some(done) = &study.decomposed else { return false };
        let cell = done.sparse[call.request as usize * category.positions.len() + call.position as usize];
        cell > done.positions[call.position as usize].limit_ns
            && study.scales[call.position as usize].is_exceeded_by(call)
    }

    /// Adds operations with replicas that are slow all the time, if their cost is large enough.
    pub(crate) fn add_slow_peers(&self, suspects: &mut Vec<SuspectOperation>, threads: NonZeroUsize) {
        let mut peers = slow_peers(self.categories, self.studies, self.settings, threads);
        peers.retain(|peer| !suspects.iter().any(|known| known.operation == peer.operation));
        let costs = self.costs(&self.judge_all(&peers, threads));
        peers.retain(|peer| costs.matters(peer, self.settings.share_min));
        suspects.extend(self.judge_all(&peers, threads));
    }

    fn judge_all(&self, peers: &[SlowPeer], threads: NonZeroUsize) -> Vec<SuspectOperation> {
        let mut by_operation: BTreeMap<OperationId, Vec<SlowPeer>> = BTreeMap::new();
        for &peer in peers {
            by_operation.entry(peer.operation).or_default().push(peer);
        }
        let candidates: Vec<(OperationId, Vec<SlowPeer>)> = by_operation.into_iter().collect();
        let judged =
            parallel_map(&candidates, threads, |(operation, peers)| self.judge_peers(*operation, peers));
        judged.into_iter().flatten().collect()
    }

    fn judge_peers(&self, operation: OperationId, peers: &[SlowPeer]) -> Option<SuspectOperation> {
        let culprits: BTreeSet<ReplicaId> = peers.iter().map(|peer| peer.replica).collect();
        let mut pooled = PooledOperation::default();
        for (index, (category, study)) in self.categories.iter().zip(self.studies).enumerate() {
            if !study.gate.judged {
                continue;
            }
            for call in calls_of(category, operation) {
                let scale = &study.scales[call.position as usize];
                let slow = culprits.contains(&call.replica) && call.time_ns as f64 > scale.median_ns;
                let counted = slow.then(|| self.extrapolated_weight(category, call));
                pooled.add(index, call, scale, self.weight(category, call), counted);
            }
        }
        let (_, mut tests) =
            test_replicas(&pooled.observed, self.settings.replica_level, self.settings.replica_factor_min);
        for test in &mut tests {
            let peer = peers.iter().find(|peer| peer.replica == test.replica);
            test.flagged = peer.is_some();
            test.p_adjusted = peer.map_or(1.0, |peer| peer.p_adjusted);
        }
        let counted = pooled.counted.clone();
        self.suspect(operation, Spread::Localized, &culprits, &tests, &pooled, counted)
    }

    /// Cost of slow peers, and the latency of the requests that pass through them.
    fn costs(&self, suspects: &[SuspectOperation]) -> Costs {
        let mut costs = Costs::default();
        for suspect in suspects {
            for cell in suspect.cells.iter().filter(|cell| cell.culprit) {
                let replica = cell.test.replica;
                costs.by_call.insert((suspect.operation, replica), cell.excess_total_ns);
                *costs.by_replica.entry(replica).or_default() += cell.excess_total_ns;
            }
        }
        let operations: BTreeSet<OperationId> = suspects.iter().map(|suspect| suspect.operation).collect();
        for category in self.categories {
            for request in category.calls.chunk_by(|a, b| a.request == b.request) {
                let weight = self.extrapolated_weight(category, &request[0]);
                let latency_ns = weight * category.requests[request[0].request as usize].latency_ns as f64;
                let passed: BTreeSet<ReplicaId> = request
                    .iter()
                    .filter(|call| operations.contains(&category.positions[call.position as usize].operation))
                    .map(|call| call.replica)
                    .filter(|replica| costs.by_replica.contains_key(replica))
                    .collect();
                for replica in passed {
                    *costs.latency_ns.entry(replica).or_default() += latency_ns;
                }
            }
        }
        costs
    }

    pub(super) fn suspect(
        &self,
        operation: OperationId,
        spread: Spread,
        culprits: &BTreeSet<ReplicaId>,
        tests: &[ReplicaTest],
        pooled: &PooledOperation,
        counted: Vec<CountedCall>,
    ) -> Option<SuspectOperation> {
        if counted.is_empty() {
            return None;
        }
        let positions: BTreeSet<FlaggedPosition> =
            counted.iter().map(|call| (call.category, call.position)).collect();
        let categories: BTreeSet<usize> = positions.iter().map(|&(category, _)| category).collect();
        let hit: BTreeSet<(usize, u32)> = counted.iter().map(|call| (call.category, call.request)).collect();
        let cells = replica_cells(tests, culprits, pooled, &counted);
        let mut replicas: Vec<&ReplicaCell> = cells.iter().filter(|cell| cell.culprit).collect();
        replicas.sort_by(|a, b| {
            b.excess_total_ns.total_cmp(&a.excess_total_ns).then(a.test.replica.cmp(&b.test.replica))
        });
        let replicas = match spread {
            Spread::Localized => replicas.iter().map(|cell| cell.test.replica).collect(),
            Spread::Everywhere | Spread::Undecided => Vec::new(),
        };
        Some(SuspectOperation {
            operation,
            spread,
            replicas,
            positions: positions.into_iter().collect(),
            categories: categories.into_iter().collect(),
            excess: excess(&counted),
            hit: hit.into_iter().collect(),
            cells,
        })
    }
}

/// Cost of slow peers, nanoseconds.
#[derive(Default)]
struct Costs {
    by_call: BTreeMap<(OperationId, ReplicaId), f64>,
    by_replica: BTreeMap<ReplicaId, f64>,
    /// Latency of the requests that pass through a replica.
    latency_ns: BTreeMap<ReplicaId, f64>,
}

/// A suspect operation must hold at least this share of its replica's excess.
const OPERATION_SHARE: f64 = 0.02;

impl Costs {
    /// Whether a replica costs its requests at least `share_min` of their latency, and the operation a share
    /// of that worth naming.
    fn matters(&self, peer: &SlowPeer, share_min: f64) -> bool {
        let of_replica = |costs: &BTreeMap<ReplicaId, f64>| costs.get(&peer.replica).copied().unwrap_or(0.0);
        let replica_cost = of_replica(&self.by_replica);
        let operation_cost = self.by_call.get(&(peer.operation, peer.replica)).copied().unwrap_or(0.0);
        replica_cost >= share_min * of_replica(&self.latency_ns)
            && operation_cost >= OPERATION_SHARE * replica_cost
    }
}

/// A call explains a slow request when at least this share of the request's excess arises in it.
const EXPLAINING_SHARE: f64 = 0.5;

/// Number of calls, and of those that explain a slow request.
#[derive(Clone, Copy, Default)]
struct DeviationCounts {
    calls: u64,
    explaining: u64,
}

/// Whether a request is in its category's tail, and at least half of its excess arises in this call.
fn explains(category: &CategoryCalls, study: &Study, call: &Call) -> bool {
    let latency = category.requests[call.request as usize].latency_ns as f64;
    if latency <= study.gate.tail_limit_ns {
        return false;
    }
    let excess_ns = call.time_ns as f64 - study.scales[call.position as usize].median_ns;
    excess_ns >= EXPLAINING_SHARE * (latency - study.gate.median_ns)
}

/// Particular replicas are culprits only if at least this share of the excess arises on them.
const CULPRIT_SHARE: f64 = 0.5;

/// A fault on every replica remains one when a few replicas exceed the others a little.
fn weigh(spread: Spread, culprits: &mut BTreeSet<ReplicaId>, counted: &[CountedCall]) -> Spread {
    let excess = |call: &CountedCall| call.weight * call.excess_ns;
    let total: f64 = counted.iter().map(excess).sum();
    let theirs = counted.iter().filter(|call| culprits.contains(&call.replica)).map(excess);
    if spread != Spread::Localized || theirs.sum::<f64>() >= CULPRIT_SHARE * total {
        return spread;
    }
    culprits.clear();
    Spread::Everywhere
}

/// The calls of an operation. Most categories have none, and their calls are not read.
fn calls_of(category: &CategoryCalls, operation: OperationId) -> impl Iterator<Item = &Call> {
    let is_here = category.positions.iter().any(|position| position.operation == operation);
    let calls = if is_here { category.calls.as_slice() } else { &[] };
    calls.iter().filter(move |call| category.positions[call.position as usize].operation == operation)
}

fn excess(counted: &[CountedCall]) -> Excess {
    let excesses: Vec<f64> = counted.iter().map(|call| call.excess_ns).collect();
    let factors: Vec<f64> = counted.iter().map(|call| call.factor).collect();
    let each: Vec<f64> = counted.iter().map(|call| call.weight).collect();
    let weights = Weights::from_slice(&each);
    Excess {
        calls: counted.len() as u64,
        total_ns: excesses.iter().zip(&each).map(|(excess, weight)| excess * weight).sum(),
        median_ns: weighted_median(&excesses, weights),
        median_factor: weighted_median(&factors, weights),
    }
}

fn replica_cells(
    tests: &[ReplicaTest],
    culprits: &BTreeSet<ReplicaId>,
    pooled: &PooledOperation,
    counted: &[CountedCall],
) -> Vec<ReplicaCell> {
    let mut ratios: BTreeMap<ReplicaId, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    let observed = &pooled.observed;
    for ((&replica, &ratio), &weight) in observed.replicas.iter().zip(&observed.ratios).zip(&observed.weights)
    {
        let of_replica = ratios.entry(replica).or_default();
        of_replica.0.push(ratio);
        of_replica.1.push(weight);
    }
    let mut by_replica: BTreeMap<ReplicaId, Vec<&CountedCall>> = BTreeMap::new();
    for call in counted {
        by_replica.entry(call.replica).or_default().push(call);
    }
    tests
        .iter()
        .map(|&test| {
            let calls = by_replica.get(&test.replica).map_or(&[][..], Vec::as_slice);
            let calls: Vec<CountedCall> = calls.iter().map(|&&call| call).collect();
            let excess = excess(&calls);
            let categories: BTreeSet<usize> = calls.iter().map(|call| call.category).collect();
            ReplicaCell {
                test,
                culprit: culprits.contains(&test.replica),
                categories: categories.len() as u64,
                excess_total_ns: excess.total_ns,
                excess_median_ns: excess.median_ns,
                factor_mean: ratios
                    .get(&test.replica)
                    .map_or(1.0, |(ratios, weights)| weighted_mean(ratios, Weights::from_slice(weights))),
            }
        })
        .collect()
}
