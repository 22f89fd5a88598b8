//! A shop under changing load, by real queueing: the 30-hour TPC-W experiment of Cherkasova et al. (*Automated
//! anomaly detection and performance modeling of enterprise applications*, ACM TOCS 27(3), 2009), and
//! variations of it.
//!
//! ```text
//!          think        main page                outbound calls            embedded objects
//! client ────────► front (shared CPU) ──► database, once per call ──► front (shared CPU) ──► think
//!                  └────────── response time ──────────────────┘
//! ```
//!
//! Clients are a closed population: they think, issue a transaction of a type drawn from their session's mix,
//! and wait. What is measured in each window (counts, utilization, times) comes from the queues; nothing is
//! computed from the formulas that methods use.

mod catalog;
mod load;
mod measure;
mod plan;
mod run;
mod scenario;
mod settings;
mod shop;
mod truth;
mod variations;
mod write;

pub use catalog::TransactionType;
pub use measure::{OutboundSeries, ServerSeries, TransactionSeries};
pub use run::{TpcwRun, tpcw};
pub use scenario::TpcwScenario;
pub use settings::{Cache, ChangedPart, DemandChange, Foreign, Phase, TierSettings, TpcwSettings, Workload};
pub use truth::{
    ChangedTransaction, ExpectedChange, ExpectedKind, SegmentTruth, TPCW_TRUTH_SCHEMA_VERSION, TpcwTruth,
    TransactionTruth,
};
pub use write::{SAMPLES_FOLDER, SamplesSummary, write_tpcw};
