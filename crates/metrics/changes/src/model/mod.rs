//! The transaction model: CPU seconds a transaction of each type takes, how certain that is, and by which estimator.
//!
//! [`nnls_model`] is the paper's plain fit and cheap; [`stepwise_model`] the paper's reported model;
//! [`fit_model`] chooses among estimators and says how far each demand can be trusted.

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

pub use fit::fit_model;
pub use fitted::{
    Candidate, Constant, Estimator, FittedModel, IndistinguishableGroup, Interval, ModelReport, TooFewWindows,
};
pub use least_squares::nnls_model;
pub use settings::{EstimatorChoice, ModelSettings};
pub use stepwise::{ENTRY_LEVEL, StepwiseStep, stepwise, stepwise_model};
