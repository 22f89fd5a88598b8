//! From samples to windows: points of metrics, counters and request counts, of any servers and in any order,
//! become one table of windows of equal length.
//!
//! ```text
//! SampleRecord … ──► SampleTable (a Sink) ── finish(window length) ──► WindowTable
//!                                                                       counts, response times, utilization
//! ```

mod counters;
mod coverage;
mod extent;
mod finish;
mod grid;
mod groups;
mod points;
mod resources;
mod sample_intervals;
mod sample_table;
mod servers;
mod settings;
mod storage_table;
mod system;
mod table;
mod transactions;
mod types;
mod window_sums;

pub use grid::Grid;
pub use sample_table::{CountedServers, SampleLimits, SampleTable};
pub use settings::{
    CoresOf, LENGTH_MAX, LENGTH_MIN, UtilizationUnit, WindowError, WindowSettings, shorter_windows,
};
pub use storage_table::{StorageKey, StorageTable, StorageUse};
pub use table::{OutboundWindows, ServerWindows, TransactionWindows, WindowTable};
