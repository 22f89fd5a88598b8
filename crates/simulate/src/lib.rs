//! Seeded generators of traces with known truth.

mod call_tree;
mod components;
mod delivery;
mod error;
mod faults;
mod generate;
mod hosts;
mod inject;
mod layout;
mod operations;
mod random;
mod request;
mod scenario;
mod settings;
mod simulation;
mod system;
mod tally;
mod truth;
mod write;

pub use error::Error;
pub use generate::{Summary, TRACES_FOLDER, TRUTH_FILE, generate};
pub use request::{Call, Request, SAMPLING};
pub use scenario::{Scenario, Scope, ServiceSet};
pub use settings::{Compression, OutputFormat, Settings};
pub use simulation::{Requests, requests};
pub use truth::{
    CategoryTruth, Expected, OperationName, PositionTruth, RecordCounts, TRUTH_SCHEMA_VERSION, Truth, Verdict,
};
