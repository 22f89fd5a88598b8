//! Executions as sequences of states, drawn from templates: kinds of executions with jitter, and faults at known steps.
//!
//! ```text
//! seed ─► templates, one a kind ─► an execution: insertions, deletions, substitutions, times ─► faults ─► truth
//! ```
//!
//! States are those of a thread's critical path ([`step_state`]). Neighboring steps always differ, so that merging equal
//! neighbors moves no step of the truth.

mod draw;
mod faults;
mod scenario;
mod template;

pub use draw::{InjectedStep, SimulatedExecution, SimulatedExecutions, draw_executions};
pub use faults::{StepFault, StepFaultKind};
pub use scenario::{ExecutionScenario, ExecutionSettings, Mix};

/// Number of states.
pub const ALPHABET_LEN: usize = 10;

/// The states.
pub mod step_state {
    /// Running in user mode.
    pub const USER: u8 = 0;
    /// Running in a system call.
    pub const SYSTEM: u8 = 1;
    /// Runnable, but something else runs.
    pub const PREEMPTED: u8 = 2;
    /// Waiting for a disk.
    pub const DISK: u8 = 3;
    /// Waiting for the network.
    pub const NETWORK: u8 = 4;
    /// Waiting for a lock.
    pub const FUTEX: u8 = 5;
    /// Sleeping until a timer fires.
    pub const TIMER: u8 = 6;
    /// Waiting for another task.
    pub const TASK: u8 = 7;
    /// Stopped by an interrupt.
    pub const INTERRUPT: u8 = 8;
    /// Not known.
    pub const UNKNOWN: u8 = 9;
}
