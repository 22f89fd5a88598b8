//! From two sets of executions to a diagnosis.

use crate::vectors::{StateVectors, state_vectors, states_of};
use crate::{
    AlignSettings, Caution, Diagnosis, ExecutionPlace, ExecutionVerdict, FindingGroup, JudgedExecution, Kind,
    KindAlignment, Pair, State, StateComparison, StateSequence, TimeComparison, Verdict, paper, robust,
};

/// Executions with at least one step, and their vectors. Indices are those of the executions that are left.
pub(crate) struct Sets<'a> {
    pub(crate) normal: Vec<&'a StateSequence>,
    pub(crate) sample: Vec<&'a StateSequence>,
    pub(crate) states: Vec<State>,
    pub(crate) alphabet_len: usize,
    pub(crate) normal_vectors: StateVectors,
    pub(crate) sample_vectors: StateVectors,
    /// Total times.
    pub(crate) normal_us: Vec<f64>,
    pub(crate) sample_us: Vec<f64>,
}

impl Sets<'_> {
    pub(crate) fn both(&self) -> [&[&StateSequence]; 2] {
        [&self.normal, &self.sample]
    }
}

/// A diagnosis whose executions are those of [`Sets`].
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) states: Vec<StateComparison>,
    pub(crate) total: TimeComparison,
    pub(crate) normal_kinds: Vec<Kind>,
    pub(crate) sample_kinds: Vec<Kind>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) normal: Vec<ExecutionPlace>,
    pub(crate) sample: Vec<JudgedExecution>,
    pub(crate) findings: Vec<FindingGroup>,
    pub(crate) alignments: Vec<KindAlignment>,
    pub(crate) cautions: Vec<Caution>,
}

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
    let (kept_normal, kept_sample) = (with_steps(normal), with_steps(sample));
    let sets = sets(normal, sample, [&kept_normal, &kept_sample], alphabet_len);
    let mut answer = if sets.normal.is_empty() || sets.sample.is_empty() {
        nothing(&sets)
    } else if settings.mode.is_paper() {
        paper::answer(&sets, settings)
    } else {
        robust::answer(&sets, settings)
    };
    let (empty_normal, empty_sample) = (normal.len() - kept_normal.len(), sample.len() - kept_sample.len());
    if empty_normal + empty_sample > 0 {
        answer.cautions.push(Caution::EmptyExecutions { normal: empty_normal, sample: empty_sample });
    }
    answer.label_sample();
    answer.renumbered(&kept_normal, &kept_sample, [normal.len(), sample.len()], settings)
}

fn with_steps(set: &[StateSequence]) -> Vec<usize> {
    (0..set.len()).filter(|&at| !set[at].is_empty()).collect()
}

fn sets<'a>(
    normal: &'a [StateSequence],
    sample: &'a [StateSequence],
    kept: [&[usize]; 2],
    alphabet_len: usize,
) -> Sets<'a> {
    let normal: Vec<&StateSequence> = kept[0].iter().map(|&at| &normal[at]).collect();
    let sample: Vec<&StateSequence> = kept[1].iter().map(|&at| &sample[at]).collect();
    let states = states_of(&normal, &sample, alphabet_len);
    let total = |set: &[&StateSequence]| set.iter().map(|one| one.total_us()).collect();
    Sets {
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

/// The answer when one side has no execution.
fn nothing(sets: &Sets<'_>) -> Answer {
    let place = |total_us: &f64| ExecutionPlace { projection: [0.0; 2], kind: None, total_us: *total_us };
    let mut cautions = Vec::new();
    if sets.normal.is_empty() {
        cautions.push(Caution::NoNormalExecution);
    }
    if sets.sample.is_empty() {
        cautions.push(Caution::NoSampleExecution);
    }
    Answer {
        verdict: Verdict::TooFew,
        states: Vec::new(),
        total: TimeComparison::default(),
        normal_kinds: Vec::new(),
        sample_kinds: Vec::new(),
        pairs: Vec::new(),
        normal: sets.normal_us.iter().map(place).collect(),
        sample: sets.sample_us.iter().map(|total_us| not_judged(place(total_us))).collect(),
        findings: Vec::new(),
        alignments: Vec::new(),
        cautions,
    }
}

fn not_judged(place: ExecutionPlace) -> JudgedExecution {
    JudgedExecution {
        place,
        normal_kind: None,
        verdict: ExecutionVerdict::NotJudged,
        states: Vec::new(),
        excess_us: 0.0,
        is_slow: false,
    }
}

/// What stands for an execution without steps.
const EMPTY: ExecutionPlace = ExecutionPlace { projection: [0.0; 2], kind: None, total_us: 0.0 };

impl Answer {
    /// Tells every sample execution its kind.
    fn label_sample(&mut self) {
        for (number, kind) in self.sample_kinds.iter().enumerate() {
            kind.members.iter().for_each(|&at| self.sample[at].place.kind = Some(number));
        }
    }

    /// In the indices of the sets as they came in.
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
            alignment.normals.iter_mut().for_each(|at| *at = normal[*at]);
            alignment.executions.iter_mut().for_each(|one| one.execution = sample[one.execution]);
        }
        let renumber = |mut kinds: Vec<Kind>, kept: &[usize]| {
            for kind in &mut kinds {
                kind.members.iter_mut().for_each(|at| *at = kept[*at]);
                kind.medoid = kept[kind.medoid];
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
            normal: spread(self.normal, normal, lengths[0], &EMPTY),
            sample: spread(self.sample, sample, lengths[1], &not_judged(EMPTY)),
            findings,
            alignments,
            cautions: self.cautions,
        }
    }
}

/// Puts values back to where they came from.
fn spread<T: Clone>(values: Vec<T>, kept: &[usize], length: usize, missing: &T) -> Vec<T> {
    let mut all = vec![missing.clone(); length];
    for (value, &at) in values.into_iter().zip(kept) {
        all[at] = value;
    }
    all
}
