//! What kernel traces say of executions, as data. Field names and meanings are schema version 1 of each report.
//!
//! Instants end in `_ns` and are nanoseconds of the trace's own clock; lengths end in `_ns` too and say so by their
//! name (`elapsed_ns`, `total_ns`, `excess_ns`). Calendar time is text, and only there when the trace tells it.

mod cause;
mod diagnosis;
mod headline;
mod input;
mod lanes;
mod markdown;
mod output;
mod path;
mod projection;
mod stats;
mod steps;
mod words;

pub use cause::{KernelState, WaitCause};
pub use diagnosis::{
    CoarseRow, DurationRow, ExecutionCluster, ExecutionSet, ExecutionVerdict, JudgedExecution,
    KernelDiagnosis, KernelVerdict, SetOfExecutions,
};
pub use headline::{kernel_diagnosis_headline, kernel_path_headline, kernel_stats_headline};
pub use input::{AlignedClock, KernelInput, KernelTrace};
pub(crate) use lanes::{DrawnLanes, drawn_lanes, name_of};
pub use output::{render_kernel_diagnosis, render_kernel_path, render_kernel_stats};
pub use path::{
    CausedTime, ExecutionSummary, KernelPathReport, PathJump, PathLane, PathSegment, PathTimeline, StateTime,
    WaitGroup, WaitInstance, WorkerTime,
};
pub use projection::{ProjectedExecution, Projection};
pub use stats::{CpuTime, EventCount, KernelStatsReport, SwitchingThread, WakingPair};
pub use steps::{
    AbnormalWait, AlignedCell, AlignedCluster, AlignedColumn, AlignedRow, AlignedRowKind, Letter,
    StepDeviation, StepGroup, StepKind,
};
pub(crate) use words::*;
pub use words::{WaitFacts, wait_words};

/// Version of the JSON schema of `laggard kernel path`. Fields may be added within a version; none is removed or
/// changes meaning.
pub const KERNEL_PATH_SCHEMA_VERSION: u32 = 1;

/// Version of the JSON schema of `laggard kernel diagnose`.
pub const KERNEL_DIAGNOSIS_SCHEMA_VERSION: u32 = 1;

/// Version of the JSON schema of `laggard kernel stats`.
pub const KERNEL_STATS_SCHEMA_VERSION: u32 = 1;
