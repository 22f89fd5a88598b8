//! Executions in kernel traces, as data. Each report has its own schema version.
//!
//! Instants end in `_ns` and are nanoseconds of the trace's own clock; lengths end in `_ns` too and say so by their
//! name (`elapsed_ns`, `total_ns`, `excess_ns`). Calendar time is text, and only there when the trace records it.

mod cause;
mod diagnosis;
mod input;
mod path;
mod projection;
mod stats;
mod steps;

pub use cause::{CpuUser, CpuUserKind, KernelState, OtherThread, WaitCallStacks, WaitCause};
pub use diagnosis::{
    DurationRow, EvaluatedExecution, ExecutionCluster, ExecutionSet, ExecutionVerdict, KernelDiagnosis,
    KernelVerdict, SetOfExecutions, StateAverage,
};
pub use input::{AlignedClock, KernelInput, KernelTrace};
pub use path::{
    CallTime, CausedTime, CpuLane, CpuRunRole, CpuRunSegment, ExecutionSummary, KernelPathReport, PathJump,
    PathLane, PathSegment, PathTimeline, StateTime, WaitGroup, WaitInstance, WorkerTime,
};
pub use projection::{ProjectedExecution, Projection};
pub use stats::{CpuTime, EventCount, KernelStatsReport, SwitchingThread, WakeupLatency, WakingPair};
pub use steps::{
    AbnormalWait, AlignedCell, AlignedCluster, AlignedColumn, AlignedRow, AlignedRowKind, StateName,
    StepDeviation, StepGroup, StepKind,
};

/// Version of the JSON schema of `laggard kernel path`. Fields may be added within a version; none is removed or
/// changes meaning.
pub const KERNEL_PATH_SCHEMA_VERSION: u32 = 2;

/// Version of the JSON schema of `laggard kernel diagnose`.
pub const KERNEL_DIAGNOSIS_SCHEMA_VERSION: u32 = 2;

/// Version of the JSON schema of `laggard kernel stats`.
pub const KERNEL_STATS_SCHEMA_VERSION: u32 = 1;
