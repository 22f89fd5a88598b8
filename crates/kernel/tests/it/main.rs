//! Tests of executions against real recordings.

mod own_formats;
