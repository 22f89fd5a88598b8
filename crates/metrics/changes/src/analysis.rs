//! The result of an analysis: segments, their models, and the changes between them.

use std::ops::Range;

/// CPU cost of transactions: `utilization · window · cores = constant + Σ count · demand`
/// (Cherkasova et al. 2009, equation 2).
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionModel {
    /// CPU use independent of the transactions, in percent of the capacity (`C₀`), ≥ 0.
    pub constant_percent: f64,
    /// CPU seconds a transaction of each type takes, length `n`, ≥ 0.
    pub demand_s: Vec<f64>,
    /// Standard error of each demand in seconds, length `n`; NaN if unknown.
    pub standard_error_s: Vec<f64>,
    /// Condition number of the scaled normal equations: how well the demands are identifiable; infinite if they are
    /// not.
    pub condition: f64,
    /// Relative absolute error `Σ|e| / Σu` over the windows of the fit, 0..
    pub error: f64,
}

/// The kind of a segment.
#[derive(Clone, PartialEq, Debug)]
pub enum SegmentKind {
    /// The model of this group (index into [`Analysis::groups`]) holds.
    Normal {
        /// The group.
        group: usize,
    },
    /// Part of an anomalous region: transactions do not explain the CPU use.
    Anomalous {
        /// Why no model holds, as a phrase: too short, a large constant, unexplained CPU.
        reason: &'static str,
    },
    /// At the end of the data and too short to be evaluated.
    Pending,
}

/// A range of windows described by one fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Segment {
    /// Rows of the observations.
    pub rows: Range<usize>,
    /// The fit to these rows alone.
    pub model: TransactionModel,
    /// Normal, anomalous, or pending.
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

/// The kind of a change at a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeKind {
    /// Transactions no longer explain the CPU use: another process is running.
    AnomalyStart,
    /// Transactions explain the CPU use again.
    AnomalyEnd,
    /// The transaction mix changed; the model still holds. For information.
    WorkloadChange,
    /// The CPU cost of transactions changed: an alarm.
    ApplicationChange,
    /// Transactions take another time at the server, but not another amount of CPU: they wait. An alarm.
    WaitChange,
    /// All transactions take another amount of CPU, by one factor: a slower or faster host, another clock frequency, a
    /// neighbor on the same processor, another runtime. An alarm.
    HostChange,
    /// The CPU use changed relative to the transactions, but neither their service times nor their counts explain it: a
    /// background load, another machine, or an additional instance. For information.
    Unexplained,
    /// An application change back to an earlier group (index into [`Analysis::groups`]).
    Rollback {
        /// Index of the group whose model holds again.
        to: usize,
    },
}

/// The time of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Onset {
    /// The first row after it, most likely.
    pub row: usize,
    /// The earliest first row, at 95 % confidence.
    pub earliest: usize,
    /// The latest first row, at 95 % confidence.
    pub latest: usize,
}

/// The quantity of a transaction that changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangedQuantity {
    /// CPU seconds; its time at the server did not change, or is unknown.
    Cpu,
    /// Its time at the server; the CPU did not change, or the data do not show whether it did.
    Time,
    /// Both.
    CpuAndTime,
}

/// The change of the mean CPU use at a cut, in percent of the capacity, divided by cause: the three causes add up to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CpuSplit {
    /// Mean use before.
    pub before_percent: f64,
    /// Mean use after.
    pub after_percent: f64,
    /// More or fewer transactions.
    pub load_percent: f64,
    /// Another mix of them.
    pub mix_percent: f64,
    /// Another cost of them, or something else that uses CPU.
    pub cost_percent: f64,
    /// Logarithm of the CPU that the transactions took after the cut over what they would have taken before.
    pub log_ratio: f64,
    /// Standard error of the logarithm.
    pub standard_error: f64,
}

/// One transaction type whose cost changed.
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionChange {
    /// The column of the type.
    pub transaction: usize,
    /// Time at the server without queueing before the change, in seconds (the signature, or the demand).
    pub before_s: f64,
    /// The same after the change.
    pub after_s: f64,
    /// Standard error of the difference in seconds.
    pub standard_error_s: f64,
    /// The quantity that the seconds measure.
    pub quantity: ChangedQuantity,
}

/// A change: its kind, time, and transactions.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The kind.
    pub kind: ChangeKind,
    /// The time.
    pub onset: Onset,
    /// Error of one model for both sides over that of two: `Σ|e_joint| / (Σ|e_before| + Σ|e_after|)`, ≥ 1 but for
    /// rounding; NaN where none was fitted.
    pub error_ratio: f64,
    /// Transactions that explain an application change, the largest difference in seconds first.
    pub transactions: Vec<TransactionChange>,
    /// Why the CPU use differs; `None` where the sides were not compared.
    pub cpu: Option<CpuSplit>,
}

/// The analysis of one server.
#[derive(Clone, PartialEq, Debug)]
pub struct Analysis {
    /// Every row is in one segment; in order.
    pub segments: Vec<Segment>,
    /// In order of first appearance; the last normal segment's group has the current model.
    pub groups: Vec<Group>,
    /// In order of time.
    pub changes: Vec<Change>,
    /// Limitations of the result, as sentences.
    pub cautions: Vec<String>,
}
