//! One request category with its calls: the input of localization.

use laggard_model::{Fingerprint, OperationId, ReplicaId, Timestamp, TraceId};
use laggard_numeric::{Matrix, median, spread_evenly};

/// A category: requests with the same call tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CategoryCalls {
    /// Stable id of the call tree.
    pub id: Fingerprint,
    /// The tree's positions in depth-first pre-order; position 0 is the entry.
    pub positions: Vec<CategoryPosition>,
    /// Requests by start, then trace.
    pub requests: Vec<RequestRow>,
    /// Calls grouped by request, in the order of `requests`; inside a request by position. A position that
    /// represents a loop has several calls.
    pub calls: Vec<Call>,
    /// Requests of the category that are not in `requests`, which is then an even sample.
    pub left_out: u64,
}

/// One position of a category's call tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CategoryPosition {
    /// The called operation.
    pub operation: OperationId,
    /// Position of the caller; `None` for position 0.
    pub parent: Option<u32>,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RequestRow {
    /// Start, on the entry's clock.
    pub start: Timestamp,
    /// Id of the request's trace.
    pub trace: TraceId,
    /// Inclusive time of the entry, nanoseconds.
    pub latency_ns: u64,
    /// Requests that this one represents: its adjusted count, 1 when that is not known. At least 1.
    pub weight: f32,
}

/// One call of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Index into `requests`.
    pub request: u32,
    /// Index into `positions`.
    pub position: u32,
    /// Replica that served the call.
    pub replica: ReplicaId,
    /// The time that is analyzed (self or inclusive), nanoseconds.
    pub time_ns: u64,
}

impl CategoryCalls {
    /// Latencies of all requests, nanoseconds.
    pub fn latencies(&self) -> Vec<f64> {
        self.requests.iter().map(|request| request.latency_ns as f64).collect()
    }

    /// Weights of all requests.
    pub fn weights(&self) -> Vec<f64> {
        self.requests.iter().map(|request| f64::from(request.weight)).collect()
    }

    /// The request matrix: one row per request, one column per position; nanoseconds, summed over the calls of a loop. Where a
    /// request makes no call, it is the median of those that do.
    pub fn matrix(&self) -> Matrix {
        let columns = self.positions.len();
        let mut matrix = Matrix::zeros(self.requests.len(), columns);
        let mut is_genuine = vec![false; self.requests.len() * columns];
        for call in &self.calls {
            let (row, column) = (call.request as usize, call.position as usize);
            matrix.row_mut(row)[column] += call.time_ns as f64;
            is_genuine[row * columns + column] = true;
        }
        fill_gaps(&mut matrix, |row, column| is_genuine[row * columns + column]);
        matrix
    }

    /// Retains at most `rows_max` requests, evenly spread; returns how many were removed. 0 retains all.
    pub fn thin(&mut self, rows_max: usize) -> usize {
        let before = self.requests.len();
        let mut row = vec![None; before];
        let mut retained = Vec::with_capacity(before.min(rows_max));
        for at in spread_evenly(before, rows_max) {
            row[at] = Some(retained.len() as u32);
            retained.push(self.requests[at]);
        }
        self.calls.retain_mut(|call| {
            let row = row[call.request as usize];
            call.request = row.unwrap_or_default();
            row.is_some()
        });
        self.requests = retained;
        let left_out = before - self.requests.len();
        self.left_out += left_out as u64;
        left_out
    }

    /// Requests of the category per request in `requests`, at least 1: the factor that extrapolates sums over `requests`
    /// to the whole category. Tests count only the requests in `requests`.
    pub fn one_in(&self) -> f64 {
        let here = self.requests.len().max(1) as f64;
        (here + self.left_out as f64) / here
    }
}

/// Sets values that are not measured to the median of their column's measured ones.
pub(crate) fn fill_gaps(matrix: &mut Matrix, is_measured: impl Fn(usize, usize) -> bool) {
    for column in 0..matrix.cols() {
        let (measured, gaps): (Vec<usize>, Vec<usize>) =
            (0..matrix.rows()).partition(|&row| is_measured(row, column));
        if gaps.is_empty() {
            continue;
        }
        let mut values: Vec<f64> = measured.into_iter().map(|row| matrix.get(row, column)).collect();
        let usual = median(&mut values);
        gaps.into_iter().for_each(|row| matrix.set(row, column, usual));
    }
}
