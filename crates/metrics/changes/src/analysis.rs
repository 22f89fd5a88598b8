//! The answer: segments of time, the models that hold in them, and what changed between them.

use std::ops::Range;

/// CPU cost of transactions: `utilization · window · cores = constant + Σ count · demand`
/// (Cherkasova et al. 2009, equation 2).
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionModel {
    /// What the server uses beside the transactions, in percent of its CPU capacity (`C₀`), ≥ 0.
    pub constant_percent: f64,
    /// CPU seconds a transaction of each type takes, length `n`, ≥ 0.
    pub demand_s: Vec<f64>,
    /// Standard error of each demand in seconds, length `n`; NaN where it cannot be told.
    pub standard_error_s: Vec<f64>,
    /// Condition number of the scaled normal equations: how well single demands can be told apart; infinite
    /// when they cannot.
    pub condition: f64,
    /// Relative absolute error `Σ|e| / Σu` over the windows of the fit, 0..
    pub error: f64,
}

/// What a segment is.
#[derive(Clone, PartialEq, Debug)]
pub enum SegmentKind {
    /// The model of this group (index into [`Analysis::groups`]) holds.
    Normal {
        /// The group.
        group: usize,
    },
    /// Transactions do not explain the CPU; a part of an anomalous region. The reason is a phrase.
    Anomalous {
        /// Why: too short, a large constant, unexplained CPU.
        reason: &'static str,
    },
    /// At the end of the data and too short to judge yet.
    Pending,
}

/// A stretch of time that one fit describes.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// Its rows.
    pub rows: Range<usize>,
    /// The fit to these rows alone.
    pub model: TransactionModel,
    /// What it is.
    pub kind: SegmentKind,
}

/// Normal segments that one model describes: the same application.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Indices into [`Analysis::segments`], increasing.
    pub segments: Vec<usize>,
    /// The fit to all of their rows.
    pub model: TransactionModel,
}

/// What happened at a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Transactions stop explaining the CPU: something foreign runs.
    AnomalyStart,
    /// They explain it again.
    AnomalyEnd,
    /// The transaction mix moved; the model still holds. For information.
    WorkloadChange,
    /// Transactions cost something else than before: an alarm.
    ApplicationChange,
    /// CPU moved against the transactions, but neither their own times nor their counts account for it: a background
    /// load, another machine, an instance more. For information.
    Unexplained,
    /// An application change back to an earlier group (index into [`Analysis::groups`]).
    Rollback {
        /// The group whose model holds again.
        to: usize,
    },
}

/// When a change happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Onset {
    /// The first row after it, most likely.
    pub row: usize,
    /// The earliest first row that the data allow, at 95 %.
    pub earliest: usize,
    /// The latest.
    pub latest: usize,
}

/// One transaction type whose cost changed.
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionChange {
    /// Its column.
    pub transaction: usize,
    /// Its time at the server without queueing, in seconds, before (the signature, or the demand).
    pub before_s: f64,
    /// … and after.
    pub after_s: f64,
    /// Standard error of the difference in seconds.
    pub standard_error_s: f64,
}

/// What happened, when, and which transactions it concerns.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// What.
    pub kind: ChangeKind,
    /// When.
    pub onset: Onset,
    /// Error of one model for both sides over that of two: `Σ|e_joint| / (Σ|e_before| + Σ|e_after|)`, ≥ 1 but for
    /// rounding; NaN where none was fitted.
    pub error_ratio: f64,
    /// Transactions that explain an application change, the largest difference in seconds first.
    pub transactions: Vec<TransactionChange>,
}

/// The answer for one server.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// Every row is in one segment; in order.
    pub segments: Vec<Segment>,
    /// In order of first appearance; the last normal segment's group is the model now in force.
    pub groups: Vec<Group>,
    /// In order of time.
    pub changes: Vec<Change>,
    /// What limits trust in the answer; whole sentences.
    pub cautions: Vec<String>,
}
