//! The input of the pattern search.

use std::fmt;

/// Requests of one kind: one row per request, one column per operation.
///
/// Times and latencies share one unit, which the answer uses; a time is all that one request spent in one
/// operation. A time that is not above 0 or not finite means that the operation was not called or its time is
/// unknown: it is in no mode and meets no condition. A request without a latency above 0 is left out and counted.
#[derive(Clone, Copy, Debug)]
pub struct RequestTable<'a> {
    /// One slice per operation, each with one time per request.
    pub columns: &'a [&'a [f64]],
    /// Latency of each request.
    pub latencies: &'a [f64],
    /// Requests that each row represents (sampling); `None` for one each. Weights enter sums and means of the
    /// answer; patterns are decided by rows, because a row is one observation regardless of its weight.
    pub weights: Option<&'a [f64]>,
}

impl RequestTable<'_> {
    /// Checks the shape and the weights.
    pub(super) fn check(&self) -> Result<(), RequestTableError> {
        let rows = self.latencies.len();
        if u32::try_from(rows).is_err() {
            return Err(RequestTableError::TooManyRows { rows });
        }
        let lengths = self.columns.iter().map(|column| column.len());
        if let Some((column, length)) = lengths.enumerate().find(|&(_, length)| length != rows) {
            return Err(RequestTableError::ColumnLength { column, length, rows });
        }
        let Some(weights) = self.weights else { return Ok(()) };
        if weights.len() != rows {
            return Err(RequestTableError::WeightsLength { length: weights.len(), rows });
        }
        let is_weight = |weight: &f64| weight.is_finite() && *weight > 0.0;
        match weights.iter().position(|weight| !is_weight(weight)) {
            Some(row) => Err(RequestTableError::Weight { row, weight: weights[row] }),
            None => Ok(()),
        }
    }

    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }
}

/// Why a table is invalid.
#[derive(Clone, PartialEq, Debug)]
pub enum RequestTableError {
    /// More than 2^32 - 1 rows.
    TooManyRows {
        /// Number of rows.
        rows: usize,
    },
    /// A column has not as many times as there are latencies.
    ColumnLength {
        /// Index of the first such column.
        column: usize,
        /// Length of the column.
        length: usize,
        /// Number of latencies.
        rows: usize,
    },
    /// There are not as many weights as latencies.
    WeightsLength {
        /// Number of weights.
        length: usize,
        /// Number of latencies.
        rows: usize,
    },
    /// A weight is not finite and above 0.
    Weight {
        /// Index of the first such row.
        row: usize,
        /// Its weight.
        weight: f64,
    },
    /// A setting is out of its range.
    Settings(laggard_settings::SettingError),
}

impl fmt::Display for RequestTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestTableError::TooManyRows { rows } => {
                write!(f, "{rows} rows given; at most {} are possible: sample them", u32::MAX)
            }
            RequestTableError::ColumnLength { column, length, rows } => {
                write!(f, "column {column} has {length} times for {rows} latencies; it needs one a request")
            }
            RequestTableError::WeightsLength { length, rows } => {
                write!(
                    f,
                    "{length} weights given for {rows} latencies; one a request is needed, or none at all"
                )
            }
            RequestTableError::Weight { row, weight } => {
                write!(f, "row {row} has the weight {weight}; weights are finite and above 0")
            }
            RequestTableError::Settings(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RequestTableError {}
