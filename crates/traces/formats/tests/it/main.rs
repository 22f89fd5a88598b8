//! Integration tests of the readers and of the pipeline from paths to records.
#![expect(clippy::unwrap_used, reason = "a test that finds nothing fails")]

mod attributes;
mod contract;
mod input;
mod parallel;
mod real_data;
mod real_samples;
mod request_table;
mod samples;
mod sampling;
mod tables;
