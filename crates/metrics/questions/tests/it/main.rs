//! Answers over a simulated shop, and samples from spans.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod capacity;
mod capacity_limits;
mod change_costs;
mod changes;
mod gate;
#[expect(dead_code, reason = "tests of changes use more of it")]
#[path = "../../../changes/tests/it/measured.rs"]
mod measured;
#[expect(dead_code, reason = "tests of changes use more of it")]
#[path = "../../../changes/tests/it/queue.rs"]
mod queue;
mod signature_sizes;
mod span_samples;
mod tpcw_table;
