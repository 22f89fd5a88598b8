//! Seeded generators of traces with known truth.

mod call_tree;
mod components;
mod error;
mod faults;
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

pub use error::Error;
pub use request::{Call, Request, SAMPLING};
pub use scenario::{Scenario, Scope, ServiceSet};
pub use settings::{Compression, OutputFormat, Settings};
pub use simulation::{Requests, requests};
