//! The pages as the binary holds them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests may fail, and say what they skip")]

mod browser;
mod units;
