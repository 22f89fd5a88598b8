//! Queries whose units are read by workers.
//!
//! ```text
//! plan of the query          this process                workers
//!   ...
//!   aggregate, 2nd step  ◄── SentExec ── plan, scan ──►  WorkerRows, for each unit:
//!   ┌ aggregate, 1st step                                  aggregate, 1st step
//!   │ filter                                               filter
//!   └ UnitsExec              ◄────── rows of a unit ─────  scan of the unit
//! ```
//!
//! What is sent is the longest part of the plan that treats each unit on its own. Units are assigned, repeated, and counted as those of a
//! diagnosis are ([`UnitWorkers`](laggard_store::UnitWorkers)).

mod job;
mod scan;
mod sent;
mod worker;

pub(crate) use scan::{TableScan, UnitScans, UnitsExec};
pub(crate) use sent::send;
pub use worker::WorkerRows;
