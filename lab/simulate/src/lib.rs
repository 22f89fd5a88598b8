//! Simulated kernel traces and executions with known truth, for research and for tests of the kernel crates.
//!
//! [`simulate_kernel`] runs a machine event by event; [`draw_executions`] draws sequences of states from templates.

mod executions;
mod kernel;

pub use executions::{
    ALPHABET_LEN, ExecutionScenario, ExecutionSettings, InjectedStep, Mix, SimulatedExecution,
    SimulatedExecutions, StepFault, StepFaultKind, draw_executions, step_state,
};
pub use kernel::{
    ExecutionKind, KernelFault, KernelRun, KernelScenario, KernelTextWriter, TEXT_HEADER, TimeSpent,
    TrueExecution, simulate_kernel,
};
