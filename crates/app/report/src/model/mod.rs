//! Reports as data: their field names are a published schema (`docs/manual/report-json.md`).

mod diagnose;
mod samples;

pub(crate) use diagnose::losses;

pub use diagnose::*;
pub(crate) use samples::server_name;
pub use samples::{SampleSummary, SampledServer};
