//! Which slow operation with an alert uses up a budget: the one that explains the most bad requests.
//!
//! An operation explains a slow request if its calls take at least half of the time by which the request is slower than the
//! good ones, beyond what they take in those. It explains a failed one if such a call failed, too.

use super::block::{Block, RequestOutcome};
use super::count::{Definition, Entries};
use crate::alerts::{Alert, AlertState, Finding, ObjectiveCause};
use laggard_engine::{RequestSlice, SlicedRequest};
use laggard_model::{OperationId, ReplicaId, Status};
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Part of the additional time of a slow request that its cause takes at least.
const EXPLAINED_MIN: f64 = 0.5;

/// Alerts about operations, pending or firing.
pub(super) fn suspects(active: &[Alert]) -> Vec<&Alert> {
    let is_active = |alert: &&Alert| alert.state != AlertState::Resolved;
    active.iter().filter(is_active).filter(|alert| alert.finding.operation().is_some()).collect()
}

/// The cause of the bad requests that start in some blocks; `None` where no suspect explains any.
pub(super) fn cause(
    definition: &Definition,
    suspects: &[&Alert],
    slices: &[Arc<RequestSlice>],
    blocks: &RangeInclusive<Block>,
) -> Option<ObjectiveCause> {
    let slices: Vec<SuspectSlice<'_>> =
        slices.iter().map(|slice| SuspectSlice::new(definition, suspects, slice, blocks)).collect();
    let mut usual = Usual { requests: 0, latency_ns: 0.0, suspects_ns: vec![0.0; suspects.len()] };
    slices.iter().for_each(|slice| slice.add_usual(&mut usual));
    let (mut explained, mut bad) = (vec![0_u64; suspects.len()], 0);
    for slice in &slices {
        bad += slice.count_explained(&usual, &mut explained);
    }
    let (&most, Reverse(index)) = explained.iter().zip((0..suspects.len()).map(Reverse)).max()?;
    let finding = suspects[index].finding.operation().filter(|_| most > 0)?;
    Some(ObjectiveCause {
        alert: suspects[index].id.clone(),
        service: finding.service.clone(),
        operation: finding.operation.clone(),
        explained: most,
        bad,
        page: suspects[index].page(),
    })
}

/// Sums over good requests.
struct Usual {
    requests: u64,
    latency_ns: f64,
    /// Time in the calls of each suspect.
    suspects_ns: Vec<f64>,
}

impl Usual {
    fn mean(&self, sum: f64) -> f64 {
        if self.requests == 0 { 0.0 } else { sum / self.requests as f64 }
    }
}

/// A slice with the calls of suspects in it.
struct SuspectSlice<'a> {
    entries: Entries<'a>,
    slice: &'a RequestSlice,
    blocks: &'a RangeInclusive<Block>,
    suspects: Vec<SuspectCalls>,
}

/// Where a suspect is called.
struct SuspectCalls {
    /// By operation, whether it is one of the suspect's.
    is_suspect: Vec<bool>,
    /// By replica, whether it is to blame; empty where all are.
    is_culprit: Vec<bool>,
    /// The time is spent between caller and operation: the caller's part counts as well.
    with_caller: bool,
}

impl SuspectCalls {
    fn new(finding: &Finding, slice: &RequestSlice) -> SuspectCalls {
        let is_suspect = |index| {
            let key = slice.names.operation_key(OperationId::from_index(index));
            key.service == finding.service && finding.operations().any(|name| name == key.operation)
        };
        let is_culprit = |index| {
            let name = slice.names.replica_name(ReplicaId::from_index(index));
            finding.replicas.iter().any(|culprit| culprit == name)
        };
        let replicas = if finding.replicas.is_empty() { 0 } else { slice.names.replicas() };
        SuspectCalls {
            is_suspect: (0..slice.names.operations()).map(is_suspect).collect(),
            is_culprit: (0..replicas).map(is_culprit).collect(),
            with_caller: finding.caller.is_some(),
        }
    }
}

impl<'a> SuspectSlice<'a> {
    fn new(
        definition: &'a Definition,
        suspects: &[&Alert],
        slice: &'a RequestSlice,
        blocks: &'a RangeInclusive<Block>,
    ) -> SuspectSlice<'a> {
        let findings = suspects.iter().filter_map(|alert| alert.finding.operation());
        let suspects = findings.map(|finding| SuspectCalls::new(finding, slice)).collect();
        SuspectSlice { entries: Entries::new(definition, slice), slice, blocks, suspects }
    }

    fn requests(&self, outcome: RequestOutcome) -> impl Iterator<Item = &'a SlicedRequest> {
        let requests = self.entries.requests();
        let requests = requests.filter(|request| self.blocks.contains(&Block::at(request.start)));
        requests.filter(move |request| self.entries.outcome(request) == outcome)
    }

    /// Positions of a suspect's calls in the columns of calls.
    fn calls(&self, request: &SlicedRequest, suspect: &SuspectCalls) -> impl Iterator<Item = usize> {
        let structure = &self.slice.structures[request.structure as usize];
        let first = request.first_call as usize;
        let is_call = move |node: &usize| {
            let replica = self.slice.calls.replica[first + node];
            suspect.is_suspect[structure.operation[*node].index()]
                && suspect.is_culprit.get(replica.index()).copied().unwrap_or(true)
        };
        let with_caller = suspect.with_caller;
        (0..structure.len())
            .filter(is_call)
            .flat_map(move |node| {
                let caller = structure.parent[node].filter(|_| with_caller).map(|parent| parent as usize);
                caller.into_iter().chain([node])
            })
            .map(move |node| first + node)
    }

    /// Time on the critical path of a request in the calls of a suspect.
    fn time_ns(&self, request: &SlicedRequest, suspect: &SuspectCalls) -> f64 {
        let calls = self.calls(request, suspect);
        calls.map(|call| self.slice.calls.path_time.get(call).ns() as f64).sum()
    }

    fn add_usual(&self, usual: &mut Usual) {
        for request in self.requests(RequestOutcome::Good) {
            usual.requests += 1;
            usual.latency_ns += self.entries.latency_ns(request) as f64;
            for (sum, suspect) in usual.suspects_ns.iter_mut().zip(&self.suspects) {
                *sum += self.time_ns(request, suspect);
            }
        }
    }

    /// BlockCounts the bad requests that each suspect explains; returns how many bad ones there are.
    fn count_explained(&self, usual: &Usual, explained: &mut [u64]) -> u64 {
        let mut bad = 0;
        for request in self.requests(RequestOutcome::Bad) {
            bad += 1;
            let index = match self.entries.is_slow(request) {
                true => self.slowest(request, usual),
                false => self.failed(request),
            };
            if let Some(index) = index {
                explained[index] += 1;
            }
        }
        bad
    }

    /// The suspect whose calls take the most additional time of a slow request.
    fn slowest(&self, request: &SlicedRequest, usual: &Usual) -> Option<usize> {
        let slower_ns = self.entries.latency_ns(request) as f64 - usual.mean(usual.latency_ns);
        let more = self.suspects.iter().zip(&usual.suspects_ns).enumerate().map(|(index, (suspect, sum))| {
            (self.time_ns(request, suspect) - usual.mean(*sum), Reverse(index))
        });
        let (more_ns, Reverse(index)) = more.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        (more_ns > 0.0 && more_ns >= EXPLAINED_MIN * slower_ns).then_some(index)
    }

    /// The first suspect of which a call failed.
    fn failed(&self, request: &SlicedRequest) -> Option<usize> {
        let is_failed = |call| self.slice.calls.status[call] == Status::Error;
        self.suspects.iter().position(|suspect| self.calls(request, suspect).any(is_failed))
    }
}
