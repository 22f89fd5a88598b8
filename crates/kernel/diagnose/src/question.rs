//! The parameters of a critical path report.

use crate::execution_filter::TimeWindow;
use laggard_kernel_graph::Execution;
use laggard_report::Setting;

/// Selects executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathChoice {
    /// All executions.
    #[default]
    All,
    /// The execution with this number, from 1, in order of time.
    Number(u64),
}

/// The parameters of a critical path report.
#[derive(Clone, Debug)]
pub struct KernelPathQuestion {
    /// Only executions in this window.
    pub window: TimeWindow,
    /// All executions, or one.
    pub choice: PathChoice,
    /// Maximum number of executions; the first in time are used.
    pub executions_max: usize,
    /// Executions to use instead of those of the delimiter (for spans).
    pub executions: Option<Vec<Execution>>,
    /// The settings, for the report.
    pub settings: Vec<Setting>,
}

impl Default for KernelPathQuestion {
    fn default() -> KernelPathQuestion {
        KernelPathQuestion {
            window: TimeWindow::default(),
            choice: PathChoice::All,
            executions_max: 10_000,
            executions: None,
            settings: Vec::new(),
        }
    }
}
