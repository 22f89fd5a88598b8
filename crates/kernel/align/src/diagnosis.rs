//! The result of [`crate::diagnose`].

use crate::localize::{AlignedPosition, ClusterProfile, DeviationKind, LocalizedExecution};
use crate::{AlignMode, StateId};
use std::ops::Range;

/// The comparison of two sets of executions. Executions are 0-based indices into the set they came in; times are
/// microseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnosis {
    /// The rules that were applied.
    pub mode: AlignMode,
    /// The verdict.
    pub verdict: Verdict,
    /// Coarse comparison of the sets, one entry per state that occurs, ascending by state.
    pub states: Vec<StateComparison>,
    /// The same for the total time of an execution.
    pub total: TimeComparison,
    /// Kinds of executions in the normal set, largest first.
    pub normal_kinds: Vec<Kind>,
    /// Kinds of executions in the sample set, largest first; each with or without a normal counterpart.
    pub sample_kinds: Vec<Kind>,
    /// Each sample kind with its normal counterpart, in the order of `sample_kinds`.
    pub pairs: Vec<KindPair>,
    /// One entry per normal execution.
    pub normal: Vec<ExecutionSummary>,
    /// One entry per sample execution.
    pub sample: Vec<SampleExecution>,
    /// Abnormal behavior of sample executions: equal deviations of several executions are one finding. Ordered by
    /// excess time, largest first.
    pub findings: Vec<FindingGroup>,
    /// Anomalous executions aligned with the normal ones of their kind, one entry per normal kind that has any.
    pub alignments: Vec<KindAlignment>,
    /// Reservations about the result.
    pub cautions: Vec<Caution>,
}

/// The verdict.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// No execution and no state stands out.
    NothingFound,
    /// Some executions of the sample are anomalous or of a kind that does not occur in the normal set.
    ExecutionsStandOut,
    /// Some executions of the sample stand out, but so few that chance explains it: an occasional slow execution is normal.
    FewStandOut,
    /// The sample as a whole spends more time in some state than the normal set does, but no execution stands out.
    SlowerOverall,
    /// There is too little data; see [`Diagnosis::cautions`].
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
    /// Whether `sample_mean > normal_mean + t1 * normal_std`. Always computed; decisive in paper modes only.
    pub is_average_above: bool,
    /// Whether `p2 > t2 * p1` with `p1 > 0`. Always computed; decisive in paper modes only.
    pub is_probability_above: bool,
    /// Robust mode: p-value of the increase within kinds (one-sided Mann–Whitney, Benjamini–Hochberg adjusted over the
    /// states). `None` if not tested.
    pub p_value: Option<f64>,
    /// Mean time of a sample execution above what is usual for its kind; may be negative.
    pub excess_us: f64,
    /// Whether the sample spends more time here, by the mode's rule.
    pub is_raised: bool,
}

/// One state in the coarse comparison.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StateComparison {
    /// The state.
    pub state: StateId,
    /// Mean number of entries into it, normal set.
    pub normal_mean_count: f64,
    /// Mean number of entries into it, sample.
    pub sample_mean_count: f64,
    /// Its time.
    pub time: TimeComparison,
}

/// An execution's kind and position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ExecutionSummary {
    /// First two principal components of the vectors that were clustered; the axes are those of both sets together.
    pub projection: [f64; 2],
    /// Index of its kind in the kinds of its set; `None`: noise.
    pub kind: Option<usize>,
    /// Total time.
    pub total_us: f64,
}

/// A kind: executions with similar behavior.
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

/// The origin of a kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KindOrigin {
    /// A dense cluster.
    Dense,
    /// Similar executions, but fewer than a cluster needs.
    Rare,
    /// All executions of the set: too few to cluster, or none similar.
    Whole,
    /// Sample executions assigned to one normal kind.
    Paired,
}

/// A sample kind and the normal kind that it is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KindPair {
    /// Index into [`Diagnosis::sample_kinds`].
    pub sample_kind: usize,
    /// Index into [`Diagnosis::normal_kinds`]; `None` when nothing matched.
    pub normal_kind: Option<usize>,
    /// Silhouette score, -1 to 1; `None` where it is not defined (one normal kind).
    pub score: Option<f64>,
    /// Distance of the two kinds' medians over the norm of the normal one's.
    pub distance: f64,
    /// Whether the kinds are the same.
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

/// A sample execution and its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct SampleExecution {
    /// Its kind and position; the kind is one of [`Diagnosis::sample_kinds`].
    pub summary: ExecutionSummary,
    /// The normal kind that it was compared with; `None`: with the whole normal set.
    pub normal_kind: Option<usize>,
    /// The verdict on it.
    pub verdict: ExecutionVerdict,
    /// States whose time is abnormally high, the most excess first.
    pub states: Vec<StateExcess>,
    /// Total time above the median of its reference; negative when it was faster.
    pub excess_us: f64,
    /// Whether the time as a whole is abnormally high.
    pub is_slow: bool,
}

impl SampleExecution {
    /// Whether it is anomalous or of a new kind.
    pub fn stands_out(&self) -> bool {
        matches!(self.verdict, ExecutionVerdict::Anomalous | ExecutionVerdict::NewKind)
    }
}

/// The verdict on a sample execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ExecutionVerdict {
    /// No deviation.
    Normal,
    /// It spends abnormally much time in [`SampleExecution::states`], or enters them abnormally often.
    Anomalous,
    /// It behaves unlike any normal execution. If it takes longer than its nearest kind, its states are compared with
    /// that kind (robust mode).
    NewKind,
    /// Not evaluated: there are too few normal executions.
    NotEvaluated,
}

/// Excess time of an execution in a state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StateExcess {
    /// The state.
    pub state: StateId,
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
    /// The kind of deviation.
    pub kind: DeviationKind,
    /// The state: the one that occurred, or (missing) the one that was expected.
    pub state: StateId,
    /// First position in the kind's profile ([`KindAlignment::profile`]).
    pub first: AlignedPosition,
    /// Last position, inclusive.
    pub last: AlignedPosition,
    /// Its occurrences, ordered by execution, then step.
    pub occurrences: Vec<Occurrence>,
    /// Number of sample executions that have it.
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
    /// Index into [`LocalizedExecution::findings`].
    pub finding: usize,
    /// Its steps; empty for a missing state (positioned at the step before which it was expected).
    pub steps: Range<usize>,
    /// Time of these steps.
    pub time_us: f64,
    /// Excess over the usual time.
    pub excess_us: f64,
}

/// Anomalous executions aligned with the normal ones of their kind.
#[derive(Clone, PartialEq, Debug)]
pub struct KindAlignment {
    /// Index into [`Diagnosis::normal_kinds`].
    pub normal_kind: usize,
    /// The normal executions of the profile; its rows are indices into this.
    pub normals: Vec<usize>,
    /// The normal executions, aligned.
    pub profile: ClusterProfile,
    /// Anomalous executions, ascending.
    pub executions: Vec<AlignedExecution>,
}

/// An anomalous execution aligned with the normal ones.
#[derive(Clone, PartialEq, Debug)]
pub struct AlignedExecution {
    /// Sample execution.
    pub execution: usize,
    /// Its row and its deviations, all of them. [`Diagnosis::findings`] contains the reported ones.
    pub localized: LocalizedExecution,
}

/// A reservation about the result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Caution {
    /// No normal execution has a step.
    NoNormalExecution,
    /// No sample execution has a step.
    NoSampleExecution,
    /// Executions without steps were excluded.
    EmptyExecutions {
        /// Of the normal set.
        normal: usize,
        /// Of the sample.
        sample: usize,
    },
    /// So few normal executions that rare deviations cannot be distinguished from chance.
    FewNormalExecutions {
        /// Number of executions.
        available: usize,
        /// Number needed for a reliable result.
        needed: usize,
    },
    /// Too few sample executions to compare the sets as a whole.
    FewSampleExecutions {
        /// Number of executions.
        available: usize,
        /// Number needed for a reliable result.
        needed: usize,
    },
    /// Too few normal executions to find kinds: all count as one.
    NormalNotClustered {
        /// Number of executions.
        available: usize,
    },
    /// Sample executions were compared with a kind that has fewer members than a cluster needs.
    ComparedWithRareKind {
        /// Number of sample executions.
        executions: usize,
    },
    /// Executions of some kind are so long that only the sums of their states were compared.
    StepsNotCompared,
    /// The shares of the kinds differ between the sets; times are compared within kinds.
    MixChanged,
    /// The normal executions are too different to form kinds: all count as one.
    NoKindFound,
}
