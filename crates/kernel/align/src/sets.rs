//! The data between the steps of the pipeline: two sets of executions and their diagnosis.

use crate::vectors::StateVectors;
use crate::{
    Caution, ExecutionSummary, FindingGroup, Kind, KindAlignment, KindPair, SampleExecution, StateComparison,
    StateId, StateSequence, TimeComparison, Verdict,
};

/// Executions with at least one step, and their vectors. Indices refer to these executions.
pub(crate) struct ExecutionSets<'a> {
    pub(crate) normal: Vec<&'a StateSequence>,
    pub(crate) sample: Vec<&'a StateSequence>,
    pub(crate) states: Vec<StateId>,
    pub(crate) alphabet_len: usize,
    pub(crate) normal_vectors: StateVectors,
    pub(crate) sample_vectors: StateVectors,
    /// Total times.
    pub(crate) normal_us: Vec<f64>,
    pub(crate) sample_us: Vec<f64>,
}

impl ExecutionSets<'_> {
    pub(crate) fn sequences(&self) -> [&[&StateSequence]; 2] {
        [&self.normal, &self.sample]
    }
}

/// A diagnosis whose executions are those of [`ExecutionSets`].
pub(crate) struct SetDiagnosis {
    pub(crate) verdict: Verdict,
    pub(crate) states: Vec<StateComparison>,
    pub(crate) total: TimeComparison,
    pub(crate) normal_kinds: Vec<Kind>,
    pub(crate) sample_kinds: Vec<Kind>,
    pub(crate) pairs: Vec<KindPair>,
    pub(crate) normal: Vec<ExecutionSummary>,
    pub(crate) sample: Vec<SampleExecution>,
    pub(crate) findings: Vec<FindingGroup>,
    pub(crate) alignments: Vec<KindAlignment>,
    pub(crate) cautions: Vec<Caution>,
}
