//! Where executions deviate: findings by step, and sequences under each other.

use super::{CpuUser, ExecutionSet, KernelState, OtherThread, WaitCallStacks, WaitCause};
use serde::Serialize;
use utoipa::ToSchema;

/// A symbol of sequences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StateName {
    /// Its name: `preempted`, `running: postgres`.
    pub name: String,
    /// Its state.
    pub state: KernelState,
    /// Whether it is the execution's own thread, where symbols distinguish that.
    pub own: bool,
}

/// How a step deviates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A state that normal executions do not have there.
    Unexpected,
    /// The usual state, for longer.
    Slow,
    /// A state that normal executions have there is not there.
    Missing,
}

/// Deviations for one cause at whatever step, over all anomalous executions.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AbnormalWait {
    /// In words: `was preempted 14 times for 9.80 ms while its CPU stood idle: a CPU quota`.
    pub description: String,
    /// Its cause.
    pub cause: WaitCause,
    /// Who waits there: the execution's own thread.
    pub thread: String,
    /// The other thread whose work or wait it is that the thread waits for; the cause is that thread's.
    pub other: Option<OtherThread>,
    /// The system call in which it waits, if it is known.
    pub call: Option<String>,
    /// Who it waits for, who ended the wait, or who used its CPU for at least half of the time.
    pub waker: Option<String>,
    /// The interrupt, device or CPU.
    pub resource: Option<String>,
    /// Anomalous executions with it.
    pub executions: u64,
    /// How often, over all of them.
    pub count: u64,
    /// Time of it, over all of them, in nanoseconds.
    pub total_ns: u64,
    /// More than usual, over all of them, in nanoseconds.
    pub excess_ns: u64,
    /// Share of all excess of the anomalous executions, 0..1.
    pub share: f64,
    /// Of waits for a busy CPU: who used it, the longest first.
    pub cpu_users: Vec<CpuUser>,
    /// Where the thread waits and is woken from, the most time first; empty if the trace has no call stacks.
    pub stacks: Vec<WaitCallStacks>,
    /// Positions in [`super::KernelDiagnosis::steps`], the largest excess first.
    pub steps: Vec<u32>,
}

/// Deviations that are alike, over all anomalous executions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StepGroup {
    /// In words: `preempted 14 times for 9.80 ms while its CPU stood idle: a CPU quota`.
    pub description: String,
    /// The kind of executions, by the normal cluster's number.
    pub cluster: Option<u32>,
    /// How.
    pub kind: StepKind,
    /// The symbol's position in the alphabet.
    pub symbol: u32,
    /// Its cause.
    pub cause: WaitCause,
    /// The step of the normal executions it stands at, from 1; the first when it stands at several.
    pub step: u32,
    /// The last one.
    pub step_last: u32,
    /// Steps of the normal executions.
    pub steps: u32,
    /// Where it begins, from the beginning of the execution: the median of all, in nanoseconds; `None` without an occurrence.
    pub offset_ns: Option<u64>,
    /// The state before it, in words: `running`; empty at the beginning.
    pub after: String,
    /// Who waits there: the execution's own thread.
    pub thread: String,
    /// The system call in which it waits, if it is known.
    pub call: Option<String>,
    /// Who it waits for or who ended the wait.
    pub waker: Option<String>,
    /// The interrupt, device or CPU.
    pub resource: Option<String>,
    /// Anomalous executions with it.
    pub executions: u64,
    /// Anomalous executions of that kind.
    pub anomalous_in_cluster: u64,
    /// How often, over all of them.
    pub count: u64,
    /// Time of it, over all of them, in nanoseconds.
    pub total_ns: u64,
    /// More than usual, over all of them, in nanoseconds.
    pub excess_ns: u64,
    /// Share of all excess of the anomalous executions, 0..1.
    pub share: f64,
    /// Examples, the largest first.
    pub examples: Vec<StepDeviation>,
}

/// One deviation.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct StepDeviation {
    /// The execution's number in the sample.
    pub execution: u64,
    /// The thread that waits.
    pub thread: String,
    /// Its number; `None` for the interrupt side.
    pub tid: Option<u32>,
    /// Where it begins on the trace's clock.
    pub since_ns: u64,
    /// Where it begins, from the execution's beginning.
    pub offset_ns: u64,
    /// How long it takes.
    pub elapsed_ns: u64,
    /// How long it usually takes; 0 for unexpected ones.
    pub expected_ns: u64,
}

/// Sequences of one kind of executions under each other.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AlignedCluster {
    /// The normal cluster; `None` for the whole normal set.
    pub cluster: Option<u32>,
    /// Columns.
    pub columns: Vec<AlignedColumn>,
    /// Rows: the normal executions, then the anomalous ones.
    pub rows: Vec<AlignedRow>,
    /// Normal executions that are not shown.
    pub normal_left_out: u64,
    /// Anomalous executions that are not shown.
    pub anomalous_left_out: u64,
    /// Columns that are not shown.
    pub columns_left_out: u64,
}

/// A column of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct AlignedColumn {
    /// Its number among the steps of normal executions, from 1; `None` for what anomalous ones have between two.
    pub step: Option<u32>,
    /// The state most normal executions have there; `None` where most have nothing.
    pub symbol: Option<u32>,
    /// Share of normal executions with it, 0..1.
    pub share: f64,
    /// Their mean time in it, in nanoseconds.
    pub mean_ns: f64,
}

/// The kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlignedRowKind {
    /// A normal execution.
    Normal,
    /// An execution of the sample that stands out.
    Anomalous,
}

impl AlignedRowKind {
    /// The set its number counts in.
    pub const fn set(self) -> ExecutionSet {
        match self {
            AlignedRowKind::Normal => ExecutionSet::Normal,
            AlignedRowKind::Anomalous => ExecutionSet::Sample,
        }
    }
}

/// A row of an alignment.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AlignedRow {
    /// Its kind.
    pub kind: AlignedRowKind,
    /// The execution's number in its set.
    pub execution: u64,
    /// Its label by the delimiter.
    pub label: String,
    /// How long it takes.
    pub elapsed_ns: u64,
    /// One cell a column; `None` is a gap.
    pub cells: Vec<Option<AlignedCell>>,
}

/// A state of an aligned execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct AlignedCell {
    /// The symbol, by its position in the alphabet.
    pub symbol: u32,
    /// Time in it, in nanoseconds.
    pub ns: u64,
    /// How it deviates, if it does.
    pub finding: Option<StepKind>,
}
