//! Ordinary days of simulated systems, for the set of that name and for the [overview] of verdicts by kind of system.

mod oracle;
mod overview;
mod sampled;
mod totals;

pub use overview::{DaysOptions, overview};
pub(crate) use sampled::{JUDGED_FROM, MINUTE_S, SampledDay, with_fault};
