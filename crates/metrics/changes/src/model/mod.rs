//! The transaction model: CPU seconds per transaction of each type, with their uncertainty.
//!
//! [`nnls_model`] is the paper's plain fit, and cheap; [`stepwise_model`] is the paper's reported model; [`fit_model`] selects
//! among estimators by cross-validation and reports an interval for each demand.
//!
//! [`fit_model`] works on a `design` (the windows, in CPU seconds):
//!
//! 1. `least_squares`: the plain fit, with standard errors (`covariance`) and the types it cannot separate (`collinearity`).
//! 2. `candidates`: estimates from slopes (`regression`), response times (`response`), and both (`combined`), each scored by
//!    `cross_validation`.
//! 3. `choice`: selects the estimator and gives the reason.
//! 4. `constant`: the constant CPU use, and the intervals of the demands.
//! 5. `fit`: puts the [`FittedModel`] together.
//!
//! [`fit_model_of_calls`] (`calls`) is the same for a server that transactions reach by calls, with the cost of a call.

mod calls;
mod candidates;
mod choice;
mod collinearity;
mod combined;
mod constant;
mod covariance;
mod cross_validation;
mod design;
mod fit;
mod fitted;
mod least_squares;
mod regression;
mod response;
mod settings;
mod stepwise;

pub use calls::{CallCost, fit_model_of_calls};
pub(crate) use fit::estimate_demands;
pub use fit::fit_model;
pub use fitted::{
    Candidate, Constant, Estimator, FittedModel, IndistinguishableGroup, Interval, ModelReport,
};
pub use least_squares::nnls_model;
pub(crate) use response::{jackknife, jackknife_of_blocks};
pub use settings::{EstimatorChoice, ModelSettings};
pub use stepwise::{ENTRY_LEVEL, StepwiseStep, stepwise, stepwise_model};
