//! What was it really waiting on? Kernel traces to critical paths, diagnoses of executions and statistics.
//!
//! ```text
//! KernelEvents ─► graph, executions, statistics ─► KernelRun ─┬─► paths ─► ledger ─► KernelPathReport
//!                                                             ├─► paths ─► sequences ─► align ─► KernelDiagnosis
//!                                                             └─► KernelStatsReport
//! ```
//!
//! Who reads files is another's business: events are pushed into a [`TraceReading`].

mod aligned;
mod chosen;
mod deviations;
mod diagnosis;
mod judged;
mod ledger;
mod names;
mod path;
mod pieces;
mod read;
mod remarks;
mod sequences;
mod stats;
mod timeline;
mod wakings;

pub use chosen::{Instant, TimeWindow};
pub use diagnosis::{
    AlphabetChoice, KernelDiagnoseSettings, KernelDiagnosisQuestion, KernelSet, SequenceSettings,
    diagnose_kernel,
};
pub use path::{KernelPathQuestion, PathChoice, kernel_path};
pub use read::{EndedTrace, KernelRun, ReadingSettings, TraceReading, TraceSource};
pub use stats::kernel_stats;
