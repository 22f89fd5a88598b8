//! The result of fitting a transaction model: the model and its quality.

use crate::TransactionModel;

/// A transaction model and its quality.
#[derive(Clone, PartialEq, Debug)]
pub struct FittedModel {
    /// The model of the selected estimator.
    pub model: TransactionModel,
    /// How it was selected, and its accuracy.
    pub report: ModelReport,
}

/// How a model was estimated, and its accuracy.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelReport {
    /// Windows of the fit.
    pub windows: usize,
    /// The estimator of the model.
    pub estimator: Estimator,
    /// The reason for this estimator, as a sentence.
    pub reason: String,
    /// Every estimator, in the order of [`Estimator::ALL`].
    pub candidates: Vec<Candidate>,
    /// CPU use independent of the transactions (`D₀`).
    pub constant: Constant,
    /// Interval of each demand at the coverage of the settings (95 % by default), length `n`.
    pub demand: Vec<Interval>,
    /// The plain fit: non-negative least squares with a constant, as in the paper.
    pub least_squares: TransactionModel,
    /// Variance inflation factor of each transaction type's count, ≥ 1: how much more uncertain its demand is than if
    /// its count moved independently of the others'. Infinite when the others determine it; NaN when it never
    /// moves. Length `n`.
    pub variance_inflation: Vec<f64>,
    /// Transaction types whose counts vary together, so that their demands are not identifiable from the utilization. Groups
    /// are disjoint, in the order of their first transaction.
    pub indistinguishable: Vec<IndistinguishableGroup>,
    /// Limitations of the model, as sentences.
    pub cautions: Vec<String>,
}

/// The CPU use of a server that does not depend on its transactions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Constant {
    /// CPU seconds per window (`D₀`), ≥ 0.
    pub seconds_per_window: f64,
    /// The same in percent of the CPU capacity (`C₀`), ≥ 0.
    pub percent: f64,
    /// Its interval, in percent.
    pub interval_percent: Interval,
}

/// An interval with the coverage of the settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Lower end, ≥ 0.
    pub low: f64,
    /// Upper end; infinite if unbounded.
    pub high: f64,
}

/// Transaction types whose demands are not identifiable from utilization, with their identifiable mean.
#[derive(Clone, PartialEq, Debug)]
pub struct IndistinguishableGroup {
    /// Columns, increasing, at least two.
    pub transactions: Vec<usize>,
    /// CPU seconds a transaction of the group takes on average, in the mix of these windows.
    pub mean_demand_s: f64,
    /// Its standard error in seconds; NaN if unknown.
    pub standard_error_s: f64,
    /// The types' shares of the group's transactions in these windows; they add up to 1. The identifiable sum is
    /// `Σ share · demand`.
    pub share: Vec<f64>,
}

/// A way to estimate demands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Estimator {
    /// Non-negative least squares with a constant (Cherkasova et al. 2009, §4.1).
    LeastSquares,
    /// The slopes of least squares, scaled so that they add up to the utilization, which corrects the regression dilution at
    /// high load.
    ScaledLeastSquares,
    /// Demands in proportion to response times, as under processor sharing.
    ProcessorSharing,
    /// Demands are response times minus a waiting time common to all types, as under first come, first served.
    FirstComeFirstServed,
    /// Scaled least squares and response times, weighted by their errors.
    Combined,
    /// Calls times the CPU time of a call, at a server that transactions reach by calls.
    CallCost,
}

impl Estimator {
    /// Those that every server has, in the order of reports.
    pub const ALL: [Estimator; 5] = [
        Estimator::LeastSquares,
        Estimator::ScaledLeastSquares,
        Estimator::ProcessorSharing,
        Estimator::FirstComeFirstServed,
        Estimator::Combined,
    ];

    /// Its name in reports and settings: `least-squares`, `processor-sharing`, …
    pub fn name(self) -> &'static str {
        match self {
            Estimator::LeastSquares => "least-squares",
            Estimator::ScaledLeastSquares => "scaled-least-squares",
            Estimator::ProcessorSharing => "processor-sharing",
            Estimator::FirstComeFirstServed => "first-come-first-served",
            Estimator::Combined => "combined",
            Estimator::CallCost => "call-cost",
        }
    }
}

/// An estimator and its errors.
#[derive(Clone, PartialEq, Debug)]
pub struct Candidate {
    /// The estimator.
    pub estimator: Estimator,
    /// Its demands in seconds, length `n`; empty when it does not apply.
    pub demand_s: Vec<f64>,
    /// Root mean squared error of the utilization of held-out windows, in percent of the CPU capacity; NaN when not
    /// computed.
    pub utilization_error_percent: f64,
    /// Error of the response times of held-out windows relative to what one common factor per window leaves,
    /// 0..; NaN when not computed.
    pub response_error: f64,
    /// Whether it was selected, or why not, as a phrase: `chosen`, `no response times`, …
    pub outcome: String,
}
