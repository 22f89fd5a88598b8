//! Tests of executions against real recordings.

#![expect(clippy::unwrap_used, reason = "tests")]

mod own_formats;
