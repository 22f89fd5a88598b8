//! Critical paths, diagnoses of executions, and statistics from kernel traces.
//!
//! ```text
//! KernelEvents ─► graph, executions, statistics ─► KernelRun ─┬─► paths ─► ledger ─► KernelPathReport
//!                                                             ├─► paths ─► sequences ─► align ─► KernelDiagnosis
//!                                                             ├─► paths, threads, CPUs ─► a trace for Perfetto
//!                                                             └─► KernelStatsReport
//! ```
//!
//! This crate does not read files: events are pushed into a [`TraceReading`].

mod aligned;
mod call_times;
mod cpu_lanes;
mod cpu_users;
mod deviations;
mod diagnosis;
mod execution_filter;
mod foreign_load;
mod intervals;
mod ledger;
mod names;
mod path;
mod perfetto;
mod presentation;
mod question;
mod read;
mod remarks;
mod sequences;
mod stats;
#[cfg(test)]
mod test_scene;
mod timeline;
mod waits;
mod wakings;

pub use diagnosis::{
    AlphabetChoice, KernelDiagnoseSettings, KernelDiagnosisQuestion, KernelSet, SequenceSettings,
    diagnose_kernel,
};
pub use execution_filter::{Instant, TimeWindow};
pub use path::kernel_path;
pub use perfetto::{PerfettoError, PerfettoSummary, write_perfetto};
pub use question::{KernelPathQuestion, PathChoice};
pub use read::{EndedTrace, KernelRun, ReadingSettings, TraceReading, TraceSource};
pub use stats::kernel_stats;
