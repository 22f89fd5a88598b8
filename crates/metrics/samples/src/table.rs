//! The window table, the result of this crate: counts, response times, and utilization by window, as the questions use them.

use laggard_model::{Losses, Nanos, Timestamp};
use laggard_numeric::Matrix;

/// The data of `T` windows of equal length, including gaps. Unknown values are NaN, never 0.
#[derive(Clone, Debug, Default)]
pub struct WindowTable {
    /// Start of the first window.
    pub since: Timestamp,
    /// Length of every window.
    pub length: Nanos,
    /// Number of windows `T`.
    pub windows: usize,
    /// Names of the transaction types, `n` of them, sorted by name.
    pub transactions: Vec<String>,
    /// Transactions of the whole system, as requested by clients.
    pub system: TransactionWindows,
    /// Active clients per window, length `T`; NaN where unknown.
    pub clients: Vec<f64>,
    /// Every server of which something is known, sorted by tier and name.
    pub servers: Vec<ServerWindows>,
    /// Losses and repairs during reading.
    pub losses: Losses,
    /// Assumptions and limitations of the table, as sentences.
    pub cautions: Vec<String>,
}

/// Transactions of the system or of one server, by window and type.
#[derive(Clone, Debug, Default)]
pub struct TransactionWindows {
    /// Completed transactions, `T x n`. NaN in every column of a window without data; 0 in a window with data
    /// in which the type did not occur.
    pub counts: Matrix,
    /// Mean response time in seconds, `T x n`; NaN where unknown or where none completed.
    pub response_s: Matrix,
    /// Outbound calls, one entry a callee, sorted by name.
    pub outbound: Vec<OutboundWindows>,
}

/// Calls of transactions to one type of callee, by window and transaction type.
#[derive(Clone, Debug)]
pub struct OutboundWindows {
    /// The type of call: `db`, `payment`.
    pub callee: String,
    /// Completed calls, `T x n`; NaN where unknown.
    pub counts: Matrix,
    /// Mean time of a call in seconds, `T x n`; NaN where unknown or where none completed.
    pub time_s: Matrix,
}

/// One server by window.
#[derive(Clone, Debug)]
pub struct ServerWindows {
    /// Its name; empty when the samples name none.
    pub server: String,
    /// Its tier; empty when the samples name none.
    pub tier: String,
    /// The machine that it runs on, by the name of the server that is its CPU as a whole, if known.
    pub machine: Option<String>,
    /// CPU capacity in cores (median of the samples), if known.
    pub cores: Option<f64>,
    /// CPU utilization, 0..1 of all cores, length `T`; NaN in a gap.
    pub utilization: Vec<f64>,
    /// Share of its memory in use, 0..1, length `T`; NaN in a gap, empty when it was never measured.
    pub memory: Vec<f64>,
    /// Share of its network link in use, 0..1, length `T`; NaN in a gap, empty when it was never measured.
    pub network: Vec<f64>,
    /// Transactions completed by the server itself, if known; otherwise those of the system are used.
    pub own: Option<TransactionWindows>,
}
