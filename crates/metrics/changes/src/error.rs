//! The error when there is too little data for an analysis.

use std::fmt;

use crate::Observations;

/// The observations are too few or unusable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooLittleDataError {
    /// Fewer windows with data than one stable model needs.
    Windows {
        /// Windows with data.
        available: usize,
        /// Number of windows needed.
        needed: usize,
    },
    /// No transaction type, or none that ever occurred.
    NoTransactions {
        /// Number of transaction types.
        types: usize,
        /// Windows with data.
        windows: usize,
    },
    /// The utilization is 0 in every window.
    Idle {
        /// Windows with data.
        windows: usize,
    },
    /// A count or a utilization is negative, absurdly large, not a number, or missing.
    Unusable {
        /// The first such row.
        row: usize,
    },
}

impl TooLittleDataError {
    /// Checks that `observations` can be analyzed by a method that needs `needed` windows.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn check(observations: &Observations, needed: usize) -> Result<(), TooLittleDataError> {
        let (windows, types) = (observations.utilization.len(), observations.counts.cols());
        if let Some(row) = first_unusable(observations) {
            return Err(TooLittleDataError::Unusable { row });
        }
        if windows < needed {
            return Err(TooLittleDataError::Windows { available: windows, needed });
        }
        if observations.counts.data().iter().all(|&count| count <= 0.0) {
            return Err(TooLittleDataError::NoTransactions { types, windows });
        }
        if observations.utilization.iter().all(|&utilization| utilization <= 0.0) {
            return Err(TooLittleDataError::Idle { windows });
        }
        Ok(())
    }
}

/// Maximum count: 2⁵³, the largest exact integer in double precision.
const COUNT_LARGEST: f64 = 9_007_199_254_740_992.0;
/// Maximum utilization in any unit.
const UTILIZATION_LARGEST: f64 = 1e6;

/// Whether the numbers of a window are valid.
pub(crate) fn is_usable(counts: &[f64], utilization: f64) -> bool {
    let within = |value: f64, largest: f64| (0.0..=largest).contains(&value);
    within(utilization, UTILIZATION_LARGEST) && counts.iter().all(|&count| within(count, COUNT_LARGEST))
}

fn first_unusable(observations: &Observations) -> Option<usize> {
    let (counts, utilization) = (&observations.counts, &observations.utilization);
    let positive = |value: f64| value > 0.0 && value.is_finite();
    let scale = positive(observations.window_s) && positive(observations.cores);
    let rows = counts.rows().min(utilization.len());
    (0..rows)
        .find(|&i| !scale || !is_usable(counts.row(i), utilization[i]))
        .or((counts.rows() != utilization.len()).then_some(rows))
}

impl fmt::Display for TooLittleDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TooLittleDataError::Windows { available, needed } => write!(
                f,
                "{available} windows have transaction counts and CPU utilization; at least {needed} are needed: use a \
                 longer period or shorter windows"
            ),
            TooLittleDataError::NoTransactions { types, windows } => {
                write!(f, "no transaction of {types} types completed in any of {windows} windows")
            }
            TooLittleDataError::Idle { windows } => {
                write!(f, "the CPU utilization is 0 in all of {windows} windows: there is nothing to explain")
            }
            TooLittleDataError::Unusable { row } => {
                write!(
                    f,
                    "window {row} (from 0, with data) has a count or CPU utilization that cannot be one"
                )
            }
        }
    }
}

impl std::error::Error for TooLittleDataError {}
