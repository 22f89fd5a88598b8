//! The data of one server, by window.

use laggard_numeric::Matrix;

/// Transaction counts and CPU utilization of one server over `T` windows, in order of time. Windows without
/// data (gaps) are left out; `windows` says which remain.
#[derive(Clone, Debug)]
pub struct Observations {
    /// Length of a window in seconds, > 0.
    pub window_s: f64,
    /// Number of each window, counted from the start of the table with gaps; strictly increasing, length `T`.
    pub windows: Vec<usize>,
    /// Completed transactions, `T x n`, finite and ≥ 0.
    pub counts: Matrix,
    /// CPU utilization, 0..1 of all cores, length `T`, finite and ≥ 0. May exceed 1 a little by rounding.
    pub utilization: Vec<f64>,
    /// Mean time in seconds that a transaction spent at this server, outbound calls taken out (equation 6),
    /// `T x n`; NaN where unknown. `0 x 0` when no response times are known at all.
    pub response_s: Matrix,
    /// CPU capacity in cores: 1 for the single processor of the paper; a CPU quota counts as what it allows.
    pub cores: f64,
}
