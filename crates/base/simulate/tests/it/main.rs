//! Generated traces, read back by small independent readers and compared with the ground truth.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue should panic at that line")]

mod call_log;
mod days;
mod determinism;
mod distributions;
mod faults;
mod formats;
mod losses;
mod readers;
mod structure;
mod support;
mod tpcw;
mod truth;
