//! Executions in states: which kinds there are, which of a sample are anomalous, and at which step.

mod laggard;
mod score;
mod simple;

pub use score::{ExecutionScore, score_executions};

use crate::arm::Arms;
use laggard_align::StateSequence;
use std::ops::Range;

/// Two sets of executions with the truth about them.
#[derive(Clone, PartialEq, Debug)]
pub struct ExecutionCase {
    /// Name, unique within its group.
    pub name: String,
    /// Executions with nothing wrong.
    pub normal: Vec<StateSequence>,
    /// Executions to examine.
    pub sample: Vec<StateSequence>,
    /// States are below this.
    pub alphabet_len: usize,
    /// The right answer.
    pub truth: ExecutionTruth,
}

/// Ground truth of a case.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExecutionTruth {
    /// Kind of each normal execution.
    pub normal_kinds: Vec<usize>,
    /// Kind of each sample execution; `None`: none that the normal set has.
    pub sample_kinds: Vec<Option<usize>>,
    /// Steps of each sample execution that a fault touched.
    pub injected: Vec<Vec<usize>>,
}

/// The answer of a method.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ExecutionAnswer {
    /// Whether an anomaly is reported.
    pub is_alarm: bool,
    /// Label of each normal execution; `None`: it belongs to nothing. Empty from methods that find no kinds.
    pub normal_labels: Vec<Option<usize>>,
    /// Label of the normal kind that each sample execution is compared with.
    pub sample_labels: Vec<Option<usize>>,
    /// Sample executions reported as anomalous, ascending.
    pub flagged: Vec<usize>,
    /// Steps reported as abnormal; `None` from methods that name no steps.
    pub steps: Option<Vec<ReportedSteps>>,
}

/// Steps of one execution reported as abnormal.
#[derive(Clone, PartialEq, Debug)]
pub struct ReportedSteps {
    /// Sample execution.
    pub execution: usize,
    /// Its steps.
    pub steps: Range<usize>,
    /// Reported excess time.
    pub excess_us: f64,
}

/// Every method, Laggard's first, its default before all.
pub fn execution_finders() -> Arms<ExecutionCase, ExecutionAnswer> {
    let mut all = laggard::finders();
    all.push(Box::new(simple::TotalTime));
    all.push(Box::new(simple::TimeByState));
    all
}
