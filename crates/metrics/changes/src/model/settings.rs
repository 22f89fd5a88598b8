//! How a transaction model is fitted.

use super::Estimator;

/// Settings of [`fit_model`](super::fit_model). `ModelSettings::default()` is what the manual describes.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelSettings {
    /// Which estimator answers.
    pub choice: EstimatorChoice,
    /// What a server is expected to use beside its transactions, in percent of its CPU capacity, > 0: the scale
    /// of a half-normal prior, of which the mean is 0.8 times this. Only matters where the data cannot tell:
    /// when the load hardly moves. An idle operating system with its agents uses about one percent.
    pub constant_scale_percent: f64,
    /// Blocks of successive windows that are held out in turn, 2..=50.
    pub folds: usize,
    /// Level of the intervals, 0..1.
    pub coverage: f64,
}

/// Which estimator answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EstimatorChoice {
    /// The one that cross-validation favors.
    CrossValidated,
    /// This one, if the data allow it; else the choice is made as if nothing were asked for, with a caution.
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
