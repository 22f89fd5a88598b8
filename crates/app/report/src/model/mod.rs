//! Reports as data: their field names are a published schema (`docs/manual/json/diagnose.md`).

mod capacity;
mod changes;
mod compare;
mod diagnose;
mod kernel;
mod samples;
mod signature;

pub(crate) use diagnose::losses;

pub use capacity::*;
pub use changes::*;
pub use compare::*;
pub use diagnose::*;
pub use kernel::*;
pub(crate) use samples::server_name;
pub use samples::{SampleSummary, SampledServer};
pub use signature::*;
