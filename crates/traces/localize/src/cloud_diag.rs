//! CloudDiag from categories to suspects.

use crate::category::{CategoryCalls, RequestRow};
use crate::decompose::{Decomposed, PositionFinding, decompose};
use crate::evidence::OperationEvidence;
use crate::gate::{DispersionGate, gate_weighted};
use crate::pool::{CallScale, call_scales};
use crate::replicas::{ReplicaTest, Spread};
use crate::settings::{CloudDiagSettings, Mode};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::Weights;
use std::num::NonZeroUsize;

/// The answer of CloudDiag over all categories.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CloudDiag {
    /// One a category, in the order given.
    pub categories: Vec<CategoryFinding>,
    /// Suspect operations, the most suspicious first.
    pub suspects: Vec<SuspectOperation>,
    /// Sum over judged categories of every request's latency beyond the category's median, nanoseconds;
    /// requests weigh what they stand for, in units of the smallest weight.
    pub excess_ns: f64,
}

/// What was found in one category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CategoryFinding {
    /// The gate.
    pub gate: DispersionGate,
    /// One a position, when the category was decomposed.
    pub positions: Option<Vec<PositionFinding>>,
    /// Whether the decomposition converged; true when there was none.
    pub converged: bool,
    /// Columns left out of the decomposition for want of room.
    pub columns_left_out: usize,
}

/// A suspect operation.
#[derive(Clone, PartialEq, Debug)]
pub struct SuspectOperation {
    /// The operation.
    pub operation: OperationId,
    /// Whether particular replicas are to blame.
    pub spread: Spread,
    /// Those replicas, the worst first; empty unless the spread is localized.
    pub replicas: Vec<ReplicaId>,
    /// The tests of all its replicas.
    pub cells: Vec<ReplicaCell>,
    /// Call-tree positions it is flagged at: `(category, position)`, growing.
    pub positions: Vec<(usize, u32)>,
    /// Categories among those, growing.
    pub categories: Vec<usize>,
    /// Counted calls, at all flagged positions (of culprit replicas only, when localized).
    pub excess: Excess,
    /// Requests with a counted call: `(category, request)`, growing.
    pub hit: Vec<(usize, u32)>,
}

/// How much slower the counted calls are.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Excess {
    /// Counted calls.
    pub calls: u64,
    /// Weighted sum of their time beyond the usual, nanoseconds, in units of the smallest weight.
    pub total_ns: f64,
    /// Weighted median of the same.
    pub median_ns: f64,
    /// Weighted median of their time over the usual one.
    pub median_factor: f64,
}

/// An operation on one replica.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReplicaCell {
    /// The test.
    pub test: ReplicaTest,
    /// Whether the replica is a culprit.
    pub culprit: bool,
    /// Categories in which it holds a counted call.
    pub categories: u64,
    /// Weighted sum of its counted calls' time beyond the usual, nanoseconds.
    pub excess_total_ns: f64,
    /// Weighted median of the same.
    pub excess_median_ns: f64,
    /// Weighted mean of its calls' time over the usual one.
    pub factor_mean: f64,
}

/// Runs CloudDiag. Categories below `requests_min` requests are only summarized.
///
/// Work is split over `threads` by category; the answer does not depend on their number.
pub fn cloud_diag(
    categories: &[CategoryCalls],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> CloudDiag {
    let studies = study_all(categories, settings, threads);
    let evidence =
        OperationEvidence { categories, studies: &studies, settings, unit: smallest_weight(categories) };
    let mut suspects: Vec<SuspectOperation> = evidence
        .flagged_positions()
        .into_iter()
        .filter_map(|(operation, flagged)| evidence.judge_flagged(operation, &flagged))
        .collect();
    if settings.mode == Mode::Robust {
        evidence.add_slow_peers(&mut suspects, threads);
    }
    suspects.sort_by(|a, b| {
        (b.categories.len().cmp(&a.categories.len()))
            .then(b.excess.total_ns.total_cmp(&a.excess.total_ns))
            .then(b.excess.calls.cmp(&a.excess.calls))
            .then(a.operation.cmp(&b.operation))
    });
    let excess_ns = total_excess(&evidence);
    CloudDiag { categories: studies.into_iter().map(Study::finding).collect(), suspects, excess_ns }
}

/// A category under study.
pub(crate) struct Study {
    pub(crate) gate: DispersionGate,
    pub(crate) scales: Vec<CallScale>,
    pub(crate) decomposed: Option<Decomposed>,
}

impl Study {
    fn finding(self) -> CategoryFinding {
        let left_out = self.decomposed.as_ref().map_or(0, |done| done.positions.len() - done.columns);
        CategoryFinding {
            gate: self.gate,
            converged: self.decomposed.as_ref().is_none_or(|done| done.converged),
            columns_left_out: left_out,
            positions: self.decomposed.map(|done| done.positions),
        }
    }
}

fn study_all(
    categories: &[CategoryCalls],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> Vec<Study> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::Mutex::new(Vec::with_capacity(categories.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(category) = categories.get(at) else { return };
                    let study = study(category, settings);
                    done.lock().expect("no thread panics while it holds the lock").push((at, study));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics while it holds the lock");
    done.sort_unstable_by_key(|&(at, _)| at);
    done.into_iter().map(|(_, study)| study).collect()
}

fn study(category: &CategoryCalls, settings: &CloudDiagSettings) -> Study {
    let gate = gate_weighted(&category.latencies(), Weights::from_slice(&category.weights()), settings);
    let decomposed = gate.anomalous.then(|| decompose(category, &gate, settings, NonZeroUsize::MIN));
    Study { gate, scales: call_scales(category, settings), decomposed }
}

/// The weight that counts as one, so that equal weights change no bit of the answer.
fn smallest_weight(categories: &[CategoryCalls]) -> f64 {
    let weights = categories.iter().flat_map(|category| &category.requests).map(|row| row.weight);
    f64::from(weights.reduce(f32::min).unwrap_or(1.0))
}

fn total_excess(evidence: &OperationEvidence<'_>) -> f64 {
    let of = |(category, study): (&CategoryCalls, &Study)| -> f64 {
        if !study.gate.judged {
            return 0.0;
        }
        let excess = |row: &RequestRow| (row.latency_ns as f64 - study.gate.median_ns).max(0.0);
        let one_in = category.one_in();
        category.requests.iter().map(|row| f64::from(row.weight) / evidence.unit * one_in * excess(row)).sum()
    };
    evidence.categories.iter().zip(evidence.studies).map(of).sum()
}
