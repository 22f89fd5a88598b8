//! Kernel traces of a simulated machine: threads, a scheduler with time slices and quotas, a disk, locks, timers, a
//! server behind loopback, interrupts. Every event follows from the simulation, so what a thread waited for, and
//! how long, is known exactly.
//!
//! ```text
//! KernelScenario ─► programs of threads ─► machine, event by event ─► log ─► KernelEvents in time order
//!                                               └──────────────────────────► truth of each execution
//! ```

mod log;
mod machine;
mod programs;
mod scenario;
mod sleepers;
mod steps;
mod text;

pub use machine::simulate_kernel;
pub use scenario::{ExecutionKind, KernelFault, KernelRun, KernelScenario, TimeSpent, TrueExecution};
pub use text::{KernelTextWriter, TEXT_HEADER};

#[cfg(test)]
mod tests;
