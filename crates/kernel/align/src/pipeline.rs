//! Entry of the crate: checks and prepares the two sets of executions, then runs the robust mode or a paper mode.

use crate::sets::{ExecutionSets, SetDiagnosis};
use crate::vectors::{state_vectors, states_of};
use crate::{
    AlignMode, AlignSettings, Caution, Diagnosis, ExecutionSummary, ExecutionVerdict, Kind, SampleExecution,
    StateSequence, TimeComparison, Verdict, paper, robust,
};

/// Compares the executions of a sample with normal ones (Janecek et al. 2022). States are below `alphabet_len`; executions
/// without steps are left out and counted.
///
/// `O(n^2)` in the normal executions and `O(n m)` with those of the sample, besides the alignments: one per kind that has
/// anomalous executions.
pub fn diagnose(
    normal: &[StateSequence],
    sample: &[StateSequence],
    alphabet_len: usize,
    settings: &AlignSettings,
) -> Diagnosis {
    let (nonempty_normal, nonempty_sample) = (nonempty(normal), nonempty(sample));
    let sets = sets(normal, sample, [&nonempty_normal, &nonempty_sample], alphabet_len);
    let mut diagnosis = if sets.normal.is_empty() || sets.sample.is_empty() {
        empty_diagnosis(&sets)
    } else {
        match settings.mode {
            AlignMode::Robust => robust::diagnosis(&sets, settings),
            AlignMode::Paper | AlignMode::PaperPrinted => paper::diagnosis(&sets, settings),
        }
    };
    let (empty_normal, empty_sample) =
        (normal.len() - nonempty_normal.len(), sample.len() - nonempty_sample.len());
    if empty_normal + empty_sample > 0 {
        diagnosis.cautions.push(Caution::EmptyExecutions { normal: empty_normal, sample: empty_sample });
    }
    diagnosis.assign_sample_kinds();
    diagnosis.renumbered(&nonempty_normal, &nonempty_sample, [normal.len(), sample.len()], settings)
}

fn nonempty(set: &[StateSequence]) -> Vec<usize> {
    (0..set.len()).filter(|&index| !set[index].is_empty()).collect()
}

fn sets<'a>(
    normal: &'a [StateSequence],
    sample: &'a [StateSequence],
    nonempty: [&[usize]; 2],
    alphabet_len: usize,
) -> ExecutionSets<'a> {
    let normal: Vec<&StateSequence> = nonempty[0].iter().map(|&index| &normal[index]).collect();
    let sample: Vec<&StateSequence> = nonempty[1].iter().map(|&index| &sample[index]).collect();
    let states = states_of(&normal, &sample, alphabet_len);
    let total = |set: &[&StateSequence]| set.iter().map(|execution| execution.total_us()).collect();
    ExecutionSets {
        normal_vectors: state_vectors(&normal, &states),
        sample_vectors: state_vectors(&sample, &states),
        normal_us: total(&normal),
        sample_us: total(&sample),
        normal,
        sample,
        states,
        alphabet_len,
    }
}

/// The diagnosis if one side has no execution.
fn empty_diagnosis(sets: &ExecutionSets<'_>) -> SetDiagnosis {
    let summary = |total_us: &f64| ExecutionSummary { projection: [0.0; 2], kind: None, total_us: *total_us };
    let mut cautions = Vec::new();
    if sets.normal.is_empty() {
        cautions.push(Caution::NoNormalExecution);
    }
    if sets.sample.is_empty() {
        cautions.push(Caution::NoSampleExecution);
    }
    SetDiagnosis {
        verdict: Verdict::TooFew,
        states: Vec::new(),
        total: TimeComparison::default(),
        normal_kinds: Vec::new(),
        sample_kinds: Vec::new(),
        pairs: Vec::new(),
        normal: sets.normal_us.iter().map(summary).collect(),
        sample: sets.sample_us.iter().map(|total_us| not_evaluated(summary(total_us))).collect(),
        findings: Vec::new(),
        alignments: Vec::new(),
        cautions,
    }
}

fn not_evaluated(summary: ExecutionSummary) -> SampleExecution {
    SampleExecution {
        summary,
        normal_kind: None,
        verdict: ExecutionVerdict::NotEvaluated,
        states: Vec::new(),
        excess_us: 0.0,
        is_slow: false,
    }
}

/// The summary of an execution without steps.
const EMPTY: ExecutionSummary = ExecutionSummary { projection: [0.0; 2], kind: None, total_us: 0.0 };

impl SetDiagnosis {
    /// Sets the kind of every sample execution.
    fn assign_sample_kinds(&mut self) {
        for (number, kind) in self.sample_kinds.iter().enumerate() {
            kind.members.iter().for_each(|&index| self.sample[index].summary.kind = Some(number));
        }
    }

    /// Converts indices to those of the input sets.
    fn renumbered(
        self,
        normal: &[usize],
        sample: &[usize],
        lengths: [usize; 2],
        settings: &AlignSettings,
    ) -> Diagnosis {
        let mut findings = self.findings;
        for occurrence in findings.iter_mut().flat_map(|finding| &mut finding.occurrences) {
            occurrence.execution = sample[occurrence.execution];
        }
        let mut alignments = self.alignments;
        for alignment in &mut alignments {
            alignment.normals.iter_mut().for_each(|index| *index = normal[*index]);
            alignment
                .executions
                .iter_mut()
                .for_each(|execution| execution.execution = sample[execution.execution]);
        }
        let renumber = |mut kinds: Vec<Kind>, nonempty: &[usize]| {
            for kind in &mut kinds {
                kind.members.iter_mut().for_each(|index| *index = nonempty[*index]);
                kind.medoid = nonempty[kind.medoid];
            }
            kinds
        };
        Diagnosis {
            mode: settings.mode,
            verdict: self.verdict,
            states: self.states,
            total: self.total,
            normal_kinds: renumber(self.normal_kinds, normal),
            sample_kinds: renumber(self.sample_kinds, sample),
            pairs: self.pairs,
            normal: restore_indices(self.normal, normal, lengths[0], &EMPTY),
            sample: restore_indices(self.sample, sample, lengths[1], &not_evaluated(EMPTY)),
            findings,
            alignments,
            cautions: self.cautions,
        }
    }
}

/// Restores values to their original indices.
fn restore_indices<T: Clone>(values: Vec<T>, nonempty: &[usize], length: usize, missing: &T) -> Vec<T> {
    let mut all = vec![missing.clone(); length];
    for (value, &index) in values.into_iter().zip(nonempty) {
        all[index] = value;
    }
    all
}
