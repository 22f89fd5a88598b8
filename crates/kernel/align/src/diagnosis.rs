//! What [`crate::diagnose`] answers.

use crate::localize::{ClusterProfile, DeviationKind, LocalizedExecution, Place};
use crate::{AlignMode, State};
use std::ops::Range;

/// The whole answer about two sets of executions. Executions are 0-based indices into the set they came in; times are
/// microseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnosis {
    /// Which rules were followed.
    pub mode: AlignMode,
    /// The answer in one word.
    pub verdict: Verdict,
    /// Coarse comparison of the sets, one entry per state that occurs, ascending by state.
    pub states: Vec<StateComparison>,
    /// The same for the total time of an execution.
    pub total: TimeComparison,
    /// Kinds of executions in the normal set, largest first.
    pub normal_kinds: Vec<Kind>,
    /// Kinds of executions in the sample set, largest first; each paired with a normal one or not.
    pub sample_kinds: Vec<Kind>,
    /// Each sample kind with its normal counterpart, in the order of `sample_kinds`.
    pub pairs: Vec<Pair>,
    /// One entry per normal execution.
    pub normal: Vec<ExecutionPlace>,
    /// One entry per sample execution.
    pub sample: Vec<JudgedExecution>,
    /// What sample executions do abnormally: equal deviations of several executions are one finding. The most excess
    /// time first.
    pub findings: Vec<FindingGroup>,
    /// Anomalous executions laid beside the normal ones of their kind, one entry per normal kind that has any.
    pub alignments: Vec<KindAlignment>,
    /// What the reader should know before believing any of it.
    pub cautions: Vec<Caution>,
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// No execution and no state stands out.
    NothingFound,
    /// Some executions of the sample are anomalous or of a kind that the normal set has not.
    ExecutionsStandOut,
    /// The sample as a whole spends more time in some state than the normal set does, but no execution stands out.
    SlowerOverall,
    /// There is too little data to say; see [`Diagnosis::cautions`].
    TooFew,
}

/// Mean times of two sets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TimeComparison {
    /// Mean over the normal set.
    pub normal_mean_us: f64,
    /// Standard deviation of the normal set (divisor `n - 1`).
    pub normal_std_us: f64,
    /// Mean over the sample.
    pub sample_mean_us: f64,
    /// `p1`: share of normal executions above the normal mean.
    pub normal_share_above: f64,
    /// `p2`: share of sample executions above the normal mean, or above the sample's own mean in
    /// [`AlignMode::PaperPrinted`].
    pub sample_share_above: f64,
    /// Whether `sample_mean > normal_mean + t1 * normal_std`. Always told; decides in paper modes only.
    pub is_average_above: bool,
    /// Whether `p2 > t2 * p1` with `p1 > 0`. Always told; decides in paper modes only.
    pub is_probability_above: bool,
    /// Robust mode: probability of so large a rise within the kinds of executions if nothing had changed (one-sided
    /// Mann–Whitney, Benjamini–Hochberg adjusted over the states). `None` where it was not tested.
    pub p_value: Option<f64>,
    /// Mean time of a sample execution above what is usual for its kind; may be negative.
    pub excess_us: f64,
    /// Whether the rule of the mode says that the sample spends more time here.
    pub is_raised: bool,
}

/// One state in the coarse comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StateComparison {
    /// The state.
    pub state: State,
    /// Mean number of entries into it, normal set.
    pub normal_mean_count: f64,
    /// Mean number of entries into it, sample.
    pub sample_mean_count: f64,
    /// Its time.
    pub time: TimeComparison,
}

/// Where an execution lies among the kinds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExecutionPlace {
    /// First two principal components of the vectors that were clustered; the axes are those of both sets together.
    pub projection: [f64; 2],
    /// Index of its kind in the kinds of its set; `None`: noise, it belongs to none.
    pub kind: Option<usize>,
    /// Total time.
    pub total_us: f64,
}

/// Executions that do much the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Kind {
    /// Executions of the set, ascending.
    pub members: Vec<usize>,
    /// The member with the smallest sum of distances to the others (ties: the first).
    pub medoid: usize,
    /// Where the kind comes from.
    pub origin: KindOrigin,
    /// Median total time of its members.
    pub median_total_us: f64,
}

/// How a kind was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KindOrigin {
    /// A cluster by density.
    Dense,
    /// Executions like one another, but fewer than a cluster needs.
    Rare,
    /// All executions of the set: too few to cluster, or none like another.
    Whole,
    /// Executions of the sample that one normal kind fits.
    Paired,
}

/// A sample kind and the normal kind that it is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pair {
    /// Index into [`Diagnosis::sample_kinds`].
    pub sample_kind: usize,
    /// Index into [`Diagnosis::normal_kinds`]; `None` when nothing matched.
    pub normal_kind: Option<usize>,
    /// Silhouette score, -1 to 1; `None` where it is not defined (one normal kind).
    pub score: Option<f64>,
    /// Distance of the two kinds' medians over the norm of the normal one's.
    pub distance: f64,
    /// What the distance means.
    pub resemblance: Resemblance,
}

/// How much a sample kind resembles its normal counterpart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resemblance {
    /// The same kind of execution.
    Same,
    /// A new kind, or one that changed strongly.
    NewOrStronglyChanged,
}

/// A sample execution and what is thought of it.
#[derive(Clone, PartialEq, Debug)]
pub struct JudgedExecution {
    /// Where it lies; its kind is one of [`Diagnosis::sample_kinds`].
    pub place: ExecutionPlace,
    /// The normal kind that it was compared with; `None`: with the whole normal set.
    pub normal_kind: Option<usize>,
    /// What is thought of it.
    pub verdict: ExecutionVerdict,
    /// States whose time is abnormally high, the most excess first.
    pub states: Vec<StateExcess>,
    /// Total time above the median of its reference; negative when it was faster.
    pub excess_us: f64,
    /// Whether the time as a whole is abnormally high.
    pub is_slow: bool,
}

/// What is thought of a sample execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExecutionVerdict {
    /// Nothing unusual.
    Normal,
    /// It spends abnormally much time in [`JudgedExecution::states`], or enters them abnormally often.
    Anomalous,
    /// It does something else than any normal execution. If it takes longer than the kind that it fits least badly, it is
    /// told where (robust mode).
    NewKind,
    /// There was nothing to compare with.
    NotJudged,
}

/// Time of an execution in a state above what is usual.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StateExcess {
    /// The state.
    pub state: State,
    /// Its time in the execution.
    pub time_us: f64,
    /// Usual time: the reference's median (robust) or mean (paper).
    pub usual_us: f64,
    /// Entries into it in the execution.
    pub count: f64,
    /// Usual entries.
    pub usual_count: f64,
    /// Robust mode: deviation in scale units (above the median, of log time). Paper modes: in standard deviations.
    /// Infinite where the reference does not vary.
    pub deviation: f64,
}

/// The same deviation in one execution or in several of a kind.
#[derive(Clone, PartialEq, Debug)]
pub struct FindingGroup {
    /// Index of the normal kind in [`Diagnosis::normal_kinds`].
    pub normal_kind: usize,
    /// In what way.
    pub kind: DeviationKind,
    /// The state: the one that was there, or (missing) should have been.
    pub state: State,
    /// First place in the kind's profile ([`KindAlignment::profile`]).
    pub first: Place,
    /// Last place, included.
    pub last: Place,
    /// Where each execution has it, ascending by execution, then step.
    pub occurrences: Vec<Occurrence>,
    /// How many sample executions have it.
    pub executions: usize,
    /// Sum of the occurrences' times.
    pub time_us: f64,
    /// Sum of the occurrences' excess times; 0 for missing states.
    pub excess_us: f64,
}

/// A finding in one execution.
#[derive(Clone, PartialEq, Debug)]
pub struct Occurrence {
    /// Sample execution.
    pub execution: usize,
    /// Which of its findings, an index into [`LocalizedExecution::findings`].
    pub finding: usize,
    /// Its steps; empty for a missing state (at the step before which it should have been).
    pub steps: Range<usize>,
    /// Time of these steps.
    pub time_us: f64,
    /// Time above what is usual.
    pub excess_us: f64,
}

/// Anomalous executions laid over the normal ones of their kind.
#[derive(Clone, PartialEq, Debug)]
pub struct KindAlignment {
    /// Index into [`Diagnosis::normal_kinds`].
    pub normal_kind: usize,
    /// The normal executions that the profile was made of: its rows point into this.
    pub normals: Vec<usize>,
    /// The normal executions, aligned.
    pub profile: ClusterProfile,
    /// Anomalous executions, ascending.
    pub executions: Vec<AlignedExecution>,
}

/// An anomalous execution beside the normal ones.
#[derive(Clone, PartialEq, Debug)]
pub struct AlignedExecution {
    /// Sample execution.
    pub execution: usize,
    /// Its row and its deviations, all of them. [`Diagnosis::findings`] holds those worth telling.
    pub localized: LocalizedExecution,
}

/// What weakens an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Caution {
    /// No normal execution has any step: nothing to compare with.
    NoNormalExecution,
    /// No sample execution has any step.
    NoSampleExecution,
    /// Executions without a step were left out.
    EmptyExecutions {
        /// Of the normal set.
        normal: usize,
        /// Of the sample.
        sample: usize,
    },
    /// So few normal executions that rare deviations cannot be told from chance.
    FewNormalExecutions {
        /// How many there are.
        given: usize,
        /// How many make a firm answer.
        wanted: usize,
    },
    /// So few sample executions that the sets are not compared as wholes.
    FewSampleExecutions {
        /// How many there are.
        given: usize,
        /// How many make a firm answer.
        wanted: usize,
    },
    /// Too few normal executions to find kinds: all count as one.
    NormalNotClustered {
        /// How many there are.
        given: usize,
    },
    /// Sample executions were compared with a kind of fewer members than a cluster needs: weak.
    ComparedWithRareKind {
        /// How many.
        executions: usize,
    },
    /// Executions of some kind are so long that they were judged by the sums of their states alone.
    StepsNotCompared,
    /// The shares of the kinds differ between the sets; times are compared within kinds.
    MixChanged,
    /// Normal executions are so different from one another that no kind was found: all count as one.
    NoKindFound,
}
