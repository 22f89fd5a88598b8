//! The result of localization.

use super::measure::DeviationMeasure;
use crate::StateId;
use std::ops::Range;

/// A normal execution in the alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalRow {
    /// Its index in the input of [`super::align_cluster`].
    pub normal: usize,
    /// The column of each of its steps, ascending.
    pub columns: Vec<u32>,
}

/// The states of normal executions in a column. Shares refer to all aligned normal executions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnSummary {
    /// States seen here, the most frequent first (ties: smaller state).
    pub states: Vec<StateShare>,
    /// Share of normal executions without a step here, 0..=1.
    pub gap_share: f64,
}

/// A state in a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateShare {
    /// The state.
    pub state: StateId,
    /// Share of normal executions in it here, 0..=1.
    pub share: f64,
    /// Number of executions in it here.
    pub count: usize,
    /// Mean time in microseconds.
    pub mean_us: f64,
    /// Standard deviation (divisor n - 1; 0 for one value).
    pub std_us: f64,
    /// Median time.
    pub median_us: f64,
    /// Median of `ln(1 + time)`.
    pub log_median: f64,
    /// `1.4826 * median |ln(1 + time) - log_median|`.
    pub log_mad: f64,
}

impl ColumnSummary {
    /// The summary of a state here.
    pub fn state(&self, state: StateId) -> Option<&StateShare> {
        self.states.iter().find(|share| share.state == state)
    }
}

/// Position of a step relative to the reference columns. In display order: steps inserted before a column precede it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AlignedPosition {
    /// Inserted before this column (the number of columns: after the last).
    Before(u32),
    /// In this column.
    Column(u32),
}

impl AlignedPosition {
    /// The position as an integer: `2 c` before column `c`, `2 c + 1` in it.
    pub(crate) fn position(self) -> u32 {
        match self {
            AlignedPosition::Before(column) => 2 * column,
            AlignedPosition::Column(column) => 2 * column + 1,
        }
    }
}

/// One cell of the anomalous execution's row, in display order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignedCell {
    /// Its position, which several inserted steps may share.
    pub position: AlignedPosition,
    /// The step; `None` is a gap (only in columns).
    pub step: Option<u32>,
    /// Share of normal executions with this state (or this gap) here; 0 for inserted steps.
    pub share: f64,
    /// Index of its deviation in [`LocalizedExecution::deviations`].
    pub deviation: Option<u32>,
}

/// The kind of a deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviationKind {
    /// A state that normal executions do not have at this position.
    Unexpected,
    /// A state that normal executions have at this position, and this one lacks.
    Missing,
    /// The usual state for a longer time than usual.
    Slow,
}

/// One cell that deviates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The kind of deviation.
    pub kind: DeviationKind,
    /// The state (if missing: the expected one).
    pub state: StateId,
    /// Its position.
    pub position: AlignedPosition,
    /// The step; of a missing one the next step (may be the number of steps).
    pub step: u32,
    /// Time of the step in microseconds; 0 for missing.
    pub time_us: f64,
    /// The usual time: median (robust) or mean (paper) of the column, or the time of missing steps it replaces.
    pub usual_us: f64,
    /// Time above the usual, >= 0; 0 for missing.
    pub excess_us: f64,
}

/// Neighboring deviations of one kind, merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The kind of deviation.
    pub kind: DeviationKind,
    /// The state with the most excess (ties: the first).
    pub state: StateId,
    /// First position.
    pub first: AlignedPosition,
    /// Last position, inclusive.
    pub last: AlignedPosition,
    /// Steps of the execution; empty for missing.
    pub steps: Range<usize>,
    /// Its deviations, as a range of [`LocalizedExecution::deviations`].
    pub deviations: Range<usize>,
    /// Sum of their times.
    pub time_us: f64,
    /// Sum of their excesses.
    pub excess_us: f64,
}

/// Sum of all deviations of one kind and state: "preempted 14 times for 9.8 ms".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviationSum {
    /// The kind of deviation.
    pub kind: DeviationKind,
    /// The state.
    pub state: StateId,
    /// Number of deviations.
    pub count: usize,
    /// Sum of their times in microseconds.
    pub time_us: f64,
    /// Sum of their excesses.
    pub excess_us: f64,
}

/// An execution aligned with the normal ones of its kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalizedExecution {
    /// Its row: every column and every inserted step, in order.
    pub cells: Vec<AlignedCell>,
    /// Deviations, ordered by position.
    pub deviations: Vec<Deviation>,
    /// Merged deviations, ordered by excess, the largest first, then by position.
    pub findings: Vec<Finding>,
    /// Sums by kind and state, the largest excess first.
    pub sums: Vec<DeviationSum>,
    /// Totals of all deviations, reported or not. Robust rules only.
    pub measure: DeviationMeasure,
    /// Total time less the median total of the normal executions; negative when it was faster.
    pub excess_us: f64,
}
