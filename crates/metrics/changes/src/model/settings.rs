//! How a transaction model is fitted.

use super::Estimator;

/// Settings of [`fit_model`](super::fit_model). `ModelSettings::default()` is what the manual describes.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// The selection of the estimator.
    pub choice: EstimatorChoice,
    /// Scale of the prior of the constant CPU use, in percent of the CPU capacity, > 0. Only matters if the load hardly
    /// varies. An idle operating system with its agents uses about one percent.
    pub constant_scale_percent: f64,
    /// Number of blocks of successive windows that are held out in turn, 2..=50.
    pub folds: usize,
    /// Level of the intervals, 0..1.
    pub coverage: f64,
}

/// How the estimator is selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EstimatorChoice {
    /// By cross-validation.
    CrossValidated,
    /// This estimator if it applies, otherwise by cross-validation, with a caution.
    Only(Estimator),
}

impl Default for ModelSettings {
    fn default() -> Self {
        ModelSettings {
            choice: EstimatorChoice::CrossValidated,
            constant_scale_percent: 1.0,
            folds: 10,
            coverage: 0.95,
        }
    }
}
