//! Statistics of a trace: counts, CPUs, threads, and possible delimiters of executions.

mod cpus;
mod delays;
mod kinds;
mod statistics;
mod threads;

pub use cpus::CpuUsage;
pub use delays::WakeupDelays;
pub use kinds::KindCount;
pub use statistics::{TraceStatistics, TraceSummary};
pub use threads::ThreadUsage;

#[cfg(test)]
mod tests;
