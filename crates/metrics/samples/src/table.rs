//! The table of windows.

use laggard_model::{Losses, Nanos, Timestamp};
use laggard_numeric::Matrix;

/// Everything known of a stretch of time, in `T` windows of equal length, gaps included. What is not known is
/// NaN, never 0.
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
    /// Transactions of the whole system: what clients asked for.
    pub system: TransactionWindows,
    /// Active clients per window, length `T`; NaN where unknown.
    pub clients: Vec<f64>,
    /// Every server of which something is known, sorted by tier and name.
    pub servers: Vec<ServerWindows>,
    /// What was lost, repaired or mistrusted on the way.
    pub losses: Losses,
    /// What was assumed where samples do not say, and what limits trust in the table; whole sentences.
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
    /// CPU capacity in cores (median of what was told), if told.
    pub cores: Option<f64>,
    /// CPU utilization, 0..1 of all cores, length `T`; NaN in a gap.
    pub utilization: Vec<f64>,
    /// Transactions the server itself completed, if its samples tell; else those of the system stand for them.
    pub own: Option<TransactionWindows>,
}
