//! The question of critical paths.

use crate::execution_filter::TimeWindow;
use laggard_kernel_graph::Execution;
use laggard_report::Setting;

/// Which of the executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathChoice {
    /// All.
    #[default]
    All,
    /// The one of this number, from 1, in order of time.
    Number(u64),
}

/// What is selected of runs.
#[derive(Clone, Debug)]
pub struct KernelPathQuestion {
    /// Only what lies in this window.
    pub window: TimeWindow,
    /// Which executions.
    pub choice: PathChoice,
    /// Executions at most; the first in time.
    pub executions_max: usize,
    /// Executions in place of those the delimiter finds (those of spans).
    pub given: Option<Vec<Execution>>,
    /// Settings in force, for the report.
    pub settings: Vec<Setting>,
}

impl Default for KernelPathQuestion {
    fn default() -> KernelPathQuestion {
        KernelPathQuestion {
            window: TimeWindow::default(),
            choice: PathChoice::All,
            executions_max: 10_000,
            given: None,
            settings: Vec::new(),
        }
    }
}
