//! What a trace holds: counts, CPUs, threads, and what could delimit executions.

mod cpus;
mod kinds;
mod statistics;
mod threads;

pub use cpus::CpuUse;
pub use kinds::KindCount;
pub use statistics::{TraceStatistics, TraceSummary};
pub use threads::ThreadUse;

#[cfg(test)]
mod tests;
