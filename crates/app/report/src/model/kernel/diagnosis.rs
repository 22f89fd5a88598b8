//! A sample of executions against normal ones.

use super::{
    AbnormalWait, AlignedCluster, KernelInput, KernelState, PathTimeline, Projection, StateName, StepGroup,
};
use crate::Setting;
use crate::instants::text_if_any;
use laggard_model::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// Whether the sample's executions are slower, which, at which step, and what they wait for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct KernelDiagnosis {
    /// [`super::KERNEL_DIAGNOSIS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Always `kernel-diagnosis`: which report this is.
    pub report: &'static str,
    /// The answer in one word.
    pub verdict: KernelVerdict,
    /// The answer in one to four sentences; names stand in backticks.
    pub headline: String,
    /// The input and its losses.
    pub input: KernelInput,
    /// The delimiter of executions in words.
    pub question: String,
    /// The normal executions.
    pub normal: SetOfExecutions,
    /// The executions in question.
    pub sample: SetOfExecutions,
    /// The symbols of sequences: states, and whose they are.
    pub alphabet: Vec<StateName>,
    /// A first comparison: each state on average.
    pub state_averages: Vec<StateAverage>,
    /// Kinds of executions, and which belong together.
    pub clusters: Vec<ExecutionCluster>,
    /// Sample executions that are slower than their kind, the largest excess first.
    pub anomalous: Vec<EvaluatedExecution>,
    /// The abnormal waits over all steps; the largest excess first.
    pub waits: Vec<AbnormalWait>,
    /// Where they wait: findings that are alike at one step, together, the largest excess first.
    pub steps: Vec<StepGroup>,
    /// Sequences under each other, one block for each kind with findings.
    pub alignments: Vec<AlignedCluster>,
    /// Time by state, of each set.
    pub durations: Vec<DurationRow>,
    /// The executions as points; `None` when there are too few.
    pub projection: Option<Projection>,
    /// Paths, segment by segment: of the slowest anomalous execution and of a normal one of its kind.
    pub timelines: Vec<PathTimeline>,
    /// Limitations of the answer; whole sentences.
    pub cautions: Vec<String>,
    /// With the verdict `insufficient-data`: what would have been needed; whole sentences.
    pub missing: Vec<String>,
    /// Findings without a problem; whole sentences.
    pub ruled_out: Vec<String>,
    /// The method in words.
    pub method: String,
    /// Every setting used.
    pub settings: Vec<Setting>,
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelVerdict {
    /// There was too little data to say.
    InsufficientData,
    /// No execution is slower than its kind.
    NothingFound,
    /// Some are, but so few that chance explains it.
    FewSlower,
    /// None is, but the sample as a whole spends more time in some state.
    SlowerOverall,
    /// Some are.
    Slower,
}

/// One of the two sets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionSet {
    /// Normal executions.
    Normal,
    /// The executions in question.
    Sample,
}

/// A set of executions in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SetOfExecutions {
    /// Where it comes from, in words: files, windows.
    pub source: String,
    /// Executions analyzed.
    pub executions: u64,
    /// Executions beyond the limit.
    pub left_out: u64,
    /// Median, in nanoseconds, of how long they take.
    pub elapsed_p50_ns: u64,
    /// The 95th percentile.
    pub elapsed_p95_ns: u64,
    /// The shortest.
    pub elapsed_min_ns: u64,
    /// The longest.
    pub elapsed_max_ns: u64,
    /// Sum over all.
    pub total_ns: u64,
    /// Share of that for which the trace does not show the reason, 0..1.
    pub unresolved_share: f64,
}

/// One state, on average over a set.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StateAverage {
    /// The symbol's position in [`KernelDiagnosis::alphabet`]; `None` for the whole execution.
    pub symbol: Option<u32>,
    /// The compared quantity: `time` or `count`.
    pub measure: &'static str,
    /// Mean of the normal executions (nanoseconds, or entries).
    pub normal_mean: f64,
    /// Their standard deviation.
    pub normal_deviation: f64,
    /// Mean of the sample.
    pub sample_mean: f64,
    /// Share of normal executions above the normal mean; `None` when not computed.
    pub normal_share_above: Option<f64>,
    /// Share of sample executions above the normal mean; `None` when not computed.
    pub sample_share_above: Option<f64>,
    /// The test's adjusted p-value, when a test was made.
    pub p_value: Option<f64>,
    /// Whether a rule says that the sample has more of it.
    pub fired: bool,
}

/// A kind of executions.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ExecutionCluster {
    /// Which set it was found in.
    pub set: ExecutionSet,
    /// Its number in that set.
    pub cluster: u32,
    /// Its executions.
    pub executions: u64,
    /// Labels of its executions, the most frequent first.
    pub labels: Vec<String>,
    /// Median of how long they take, in nanoseconds.
    pub elapsed_p50_ns: u64,
    /// Of a sample cluster: the normal cluster it is compared with; `None` when there is none.
    pub paired_with: Option<u32>,
    /// Of a sample cluster: how well they fit, -1..1 (silhouette); `None` with one normal cluster.
    pub silhouette: Option<f64>,
    /// Of a sample cluster: its executions that are slower than the normal ones.
    pub anomalous: u64,
    /// A remark: `new or strongly changed kind`; else empty.
    pub remark: String,
}

/// How one execution compares of the sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionVerdict {
    /// It takes longer than its kind.
    Slower,
    /// It is of a kind that the normal set does not have.
    NewKind,
}

/// One execution that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EvaluatedExecution {
    /// Its number in the sample, from 1, in order of time.
    pub number: u64,
    /// Its label by the delimiter.
    pub label: String,
    /// How it compares.
    pub verdict: ExecutionVerdict,
    /// The trace, by its location in [`KernelInput::traces`].
    pub trace: u32,
    /// The thread's name.
    pub thread: String,
    /// Its number.
    pub tid: u32,
    /// Its host; empty with one host.
    pub host: String,
    /// Where it begins on its trace's clock.
    pub since_ns: u64,
    /// Calendar time of it, when the trace records it.
    #[serde(serialize_with = "text_if_any")]
    #[schema(value_type = Option<String>)]
    pub since: Option<Timestamp>,
    /// How long it takes.
    pub elapsed_ns: u64,
    /// How long its kind takes: the median of the normal ones.
    pub expected_ns: u64,
    /// The normal kind it is compared with; `None` for the whole normal set.
    pub cluster: Option<u32>,
    /// Symbols that take longer than in its kind: their positions in [`KernelDiagnosis::alphabet`].
    pub slow_symbols: Vec<u32>,
    /// Its largest deviation in words; empty when no step stands out.
    pub description: String,
    /// Excess of all its findings, in nanoseconds.
    pub excess_ns: u64,
}

/// Time in one state, by set. Values are those of each execution, sorted, thinned evenly when they are many.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DurationRow {
    /// The symbol's position in [`KernelDiagnosis::alphabet`]; `None` for the whole execution.
    pub symbol: Option<u32>,
    /// Nanoseconds, ascending.
    pub normal_ns: Vec<u64>,
    /// Nanoseconds, ascending.
    pub sample_ns: Vec<u64>,
}

impl KernelDiagnosis {
    /// The state behind a symbol; unknown when there is no such symbol.
    pub fn state(&self, symbol: u32) -> KernelState {
        self.alphabet.get(symbol as usize).map_or(KernelState::Unknown, |symbol| symbol.state)
    }
}
