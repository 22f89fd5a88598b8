//! CloudDiag (Mi et al., IEEE TPDS 24(6), 2013), from categories to suspects. The default method runs it in robust
//! mode; [`paper`] holds the steps of the paper's own variant.

pub(crate) mod decompose;
mod evidence;
pub(crate) mod gate;
mod mode;
mod paper;
mod peers;
mod pool;
pub(crate) mod replicas;
pub(crate) mod settings;

use crate::category::{CategoryCalls, RequestRow};
use decompose::{Decomposed, MatrixRanks, PositionFinding, decompose};
use evidence::OperationEvidence;
use gate::{DispersionGate, gate_weighted};
use laggard_model::{OperationId, ReplicaId};
use laggard_numeric::Weights;
use laggard_parallel::parallel_map;
use pool::{CallScale, call_scales};
use replicas::{ReplicaTest, Spread};
use settings::CloudDiagSettings;
use std::borrow::Cow;
use std::num::NonZeroUsize;

/// The answer of CloudDiag over all categories.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CloudDiag {
    /// One per category, in input order.
    pub categories: Vec<CategoryFinding>,
    /// Suspect operations, the most suspicious first.
    pub suspects: Vec<SuspectOperation>,
    /// Sum of every request's latency above its category's median, over categories with enough requests, nanoseconds;
    /// weighted, in units of the smallest weight.
    pub excess_ns: f64,
}

/// The result for one category.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CategoryFinding {
    /// The gate.
    pub gate: DispersionGate,
    /// One per position; `None` when the category was not decomposed.
    pub positions: Option<Vec<PositionFinding>>,
    /// Whether the decomposition converged; true when there was none.
    pub converged: bool,
    /// Columns left out of the decomposition because the matrix was full.
    pub columns_left_out: usize,
    /// Ranks of the decomposed matrix, if wanted.
    pub ranks: Option<MatrixRanks>,
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
    /// Test results of all replicas of the operation.
    pub cells: Vec<ReplicaCell>,
    /// Call-tree positions it is flagged at: `(category, position)`, growing.
    pub positions: Vec<(usize, u32)>,
    /// Categories among those, growing.
    pub categories: Vec<usize>,
    /// Excess of the counted calls at all flagged positions (on culprit replicas only, when localized).
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
    analyze(&borrowed(categories), settings, threads, |_, _| None)
}

/// [`cloud_diag`] with the ranks of every decomposed matrix, which cost as much as two iterations each.
pub fn cloud_diag_with_ranks(
    categories: &[CategoryCalls],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
) -> CloudDiag {
    analyze(&borrowed(categories), settings, threads, |decomposed, category| Some(decomposed.ranks(category)))
}

fn borrowed(categories: &[CategoryCalls]) -> Vec<Cow<'_, CategoryCalls>> {
    categories.iter().map(Cow::Borrowed).collect()
}

pub(crate) fn analyze(
    categories: &[Cow<'_, CategoryCalls>],
    settings: &CloudDiagSettings,
    threads: NonZeroUsize,
    ranks: impl Fn(&Decomposed, &CategoryCalls) -> Option<MatrixRanks> + Sync,
) -> CloudDiag {
    let steps = settings.mode.steps();
    let studies = parallel_map(categories, threads, |category| {
        let mut study = study(category, settings);
        study.ranks = study.decomposed.as_ref().and_then(|decomposed| ranks(decomposed, category));
        study
    });
    let evidence =
        OperationEvidence { categories, studies: &studies, settings, unit: smallest_weight(categories) };
    let flagged: Vec<_> = evidence.flagged_positions().into_iter().collect();
    let judged = parallel_map(&flagged, threads, |(operation, flagged)| {
        (steps.judge_flagged)(&evidence, *operation, flagged)
    });
    let mut suspects: Vec<SuspectOperation> = judged.into_iter().flatten().collect();
    if steps.compares_peers {
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

/// A category with its intermediate results.
pub(crate) struct Study {
    pub(crate) gate: DispersionGate,
    pub(crate) scales: Vec<CallScale>,
    pub(crate) decomposed: Option<Decomposed>,
    pub(crate) ranks: Option<MatrixRanks>,
}

impl Study {
    fn finding(self) -> CategoryFinding {
        let left_out = self.decomposed.as_ref().map_or(0, |done| done.positions.len() - done.columns);
        CategoryFinding {
            gate: self.gate,
            converged: self.decomposed.as_ref().is_none_or(|done| done.converged),
            columns_left_out: left_out,
            ranks: self.ranks,
            positions: self.decomposed.map(|done| done.positions),
        }
    }
}

fn study(category: &CategoryCalls, settings: &CloudDiagSettings) -> Study {
    let gate = gate_weighted(&category.latencies(), Weights::from_slice(&category.weights()), settings);
    let decomposed = gate.anomalous.then(|| decompose(category, &gate, settings, NonZeroUsize::MIN));
    Study { gate, scales: call_scales(category, settings), decomposed, ranks: None }
}

/// The smallest weight becomes 1, so that equal weights change no bit of the result.
fn smallest_weight(categories: &[Cow<'_, CategoryCalls>]) -> f64 {
    let weights = categories.iter().flat_map(|category| &category.requests).map(|row| row.weight);
    f64::from(weights.reduce(f32::min).unwrap_or(1.0))
}

fn total_excess(evidence: &OperationEvidence<'_>) -> f64 {
    let category_excess = |(category, study): (&Cow<'_, CategoryCalls>, &Study)| -> f64 {
        if !study.gate.judged {
            return 0.0;
        }
        let excess = |row: &RequestRow| (row.latency_ns as f64 - study.gate.median_ns).max(0.0);
        let one_in = category.one_in();
        category.requests.iter().map(|row| f64::from(row.weight) / evidence.unit * one_in * excess(row)).sum()
    };
    evidence.categories.iter().zip(evidence.studies).map(category_excess).sum()
}
