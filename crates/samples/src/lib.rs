//! From samples to windows: points of metrics, counters and request counts, of any servers and in any order,
//! become one table of windows of equal length.
//!
//! ```text
//! SampleRecord … ──► SampleTable (a Sink) ── finish(window length) ──► WindowTable
//!                                                                       counts, response times, utilization
//! ```

mod table;

pub use table::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
