//! SQL over the stored data of a server.
//!
//! ```text
//! query ──► DataFusion ──► Table: which segments or units, by times and trace ids of the condition
//!                            │ one part at a time per thread
//!                            ▼
//!                   store: RequestSlice, SpanTable, … ──► columns that the query needs ──► batches
//! ```
//!
//! Rows come from the store, not from its files: formats of all versions are read, late spans are merged with their traces, damaged segments are
//! noticed. A table is one file of [`tables`]: what a row is, and one entry for each column.
#![cfg(feature = "engine")]

mod bounds;
mod column;
mod memory;
mod names;
mod output;
mod query;
mod table;
mod tables;

pub use output::SqlOutput;
pub use query::{Answered, SqlError, SqlLimits, run};
pub use table::StoredTables;
pub use tables::{IncidentRow, TableText, table_texts};
