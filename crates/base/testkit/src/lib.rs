//! Shared by tests: traces in a line of text, reference results, measured data, programs beside Rust, and the record
//! of tests that were skipped.

mod reference;
mod skip;
mod span_notation;
mod tools;
mod worker_recording;

pub use reference::{data_folder, golden, measured_data};
pub use skip::{Missing, skip};
pub use span_notation::{ParsedSpans, parse_spans};
pub use tools::{browser_lacks, is_installed, npm_install, python_with};
pub use worker_recording::{RecordedInstant, WORKER, WorkerWait, worker_recording};
