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
//! noticed. A table is one file of the module `tables`: what a row is, and one entry for each column. With workers, what a query does with each
//! unit for itself runs there (module `workers`).
#![cfg(feature = "engine")]

mod bounds;
mod column;
mod error;
mod memory;
mod names;
mod output;
mod query;
mod rows;
mod stored;
mod table;
mod tables;
mod workers;

pub use error::SqlError;
pub use output::SqlOutput;
pub use query::{Answered, SqlLimits, run};
pub use stored::{IncidentRow, StoredTables};
pub use tables::{TableText, table_texts};
pub use workers::WorkerRows;
