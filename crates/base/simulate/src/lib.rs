//! Seeded generators of traces with known truth: a mail and file service of twelve components on a hundred
//! nodes, and fourteen things that go wrong in it, or do not.
//!
//! ```text
//! Settings ─► Simulation (system + fault plan, from the seed)
//!                 │
//!                 ├─ arrivals ─► Request::draw, on any thread ─► Requests (in memory)
//!                 │                    │
//!                 │                    ├─► Tally ─► truth.json, injections.csv
//!                 │                    └─► delivery ─► write ─► traces/
//! ```
//!
//! Every request is generated from its own seed, derived from the settings and its number. So requests can
//! be generated in any order and on any number of threads, and the bytes stay the same; nothing depends on the
//! platform's mathematics either.
//!
//! In these traces queues do not form by themselves: times are drawn, not simulated from contention, so the
//! truth of each delay is exact. [`tpcw`] simulates queues: clients, stations
//! and contention, event by event, for questions about load and capacity.

mod call_tree;
mod choices;
mod components;
mod days;
mod delivery;
mod error;
mod faults;
mod generate;
mod hosts;
mod inject;
mod layout;
mod operations;
mod queueing;
mod random;
mod request;
mod scenario;
mod settings;
mod simulation;
mod system;
mod tally;
mod tpcw;
mod truth;
mod write;

pub use days::{
    Day, DayFault, DayFaultKind, DayFaultTruth, DayOutput, DayRequest, DaySettings, DaySpan, DaySummary,
    DayTruth, LossOnset, PROFILES, Profile, WrittenDayTruth, generate_day,
};
pub use error::Error;
pub use generate::{Summary, TRACES_FOLDER, TRUTH_FILE, generate};
pub use queueing::{Discipline, WorkShape};
pub use random::{Random, Stream};
pub use request::{Call, Request, SAMPLING};
pub use scenario::{FaultScope, Scenario, ServiceSet};
pub use settings::{Compression, OutputFormat, Settings};
pub use simulation::{Requests, requests};
pub use tpcw::{
    Cache, ChangedPart, ChangedTransaction, DemandChange, ExpectedChange, ExpectedKind, Foreign,
    OutboundSeries, Phase, SAMPLES_FOLDER, SamplesSummary, SegmentTruth, ServerSeries,
    TPCW_TRUTH_SCHEMA_VERSION, TierSettings, TpcwRun, TpcwScenario, TpcwSettings, TpcwTruth,
    TransactionSeries, TransactionTruth, TransactionType, Workload, tpcw, write_tpcw,
};
pub use truth::{
    CategoryTruth, Expected, ExpectedVerdict, OperationName, PositionTruth, RecordCounts,
    TRUTH_SCHEMA_VERSION, Truth,
};
