//! Answers over a simulated shop, and samples from spans.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod capacity;
mod capacity_limits;
mod change_costs;
mod changes;
mod span_samples;
mod tpcw_table;
